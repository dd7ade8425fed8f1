// MemoryOrganization: what every organization offers the cache; the types its operations exchange.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory_resource>
#include <span>

#include "hybridmem/core/ids.hpp"
#include "hybridmem/organization/capacity.hpp"
#include "hybridmem/pool/pool_options.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// An attention block of one organization.
using BlockId = StrongId<struct BlockIdTag>;
/// A recurrent checkpoint (or a running state) of one organization.
using CheckpointId = StrongId<struct CheckpointIdTag>;

/// The orders of a study; the defaults are the recommended ones.
struct OrganizationOptions {
  FreeOrder free_order = FreeOrder::unpublished_first;
  SlabOrder slab_order = SlabOrder::last_release;
  SlotPlacement slot_placement = SlotPlacement::fullest;
};

/// One object that loses its storage. The callable that an allocation is given receives it before
/// any of the object's units can change owner (rule P3), and must make it unfindable.
struct Eviction {
  StateKind kind = StateKind::attention;
  std::int32_t index = -1;         ///< of a BlockId or a CheckpointId
  bool cross_invalidated = false;  ///< lost because its slab was reassigned
};

/// Whole objects that an allocation asks for.
struct StateDemand {
  std::uint32_t blocks = 0;
  std::uint32_t checkpoints = 0;
};

namespace detail {

/// Stands for any eviction callable in the concept.
struct AnyEviction {
  void operator()(const Eviction&) const noexcept {}
};

}  // namespace detail

/// The requirements. With `o` an organization, `c` a constant one, ids `b` and `p`:
///
/// | expression | result | does |
/// |---|---|---|
/// | `c.layout()` | `const OrganizationLayout&` | |
/// | `c.block_capacity()`, `c.checkpoint_capacity()` | `uint32` | ids are below these |
/// | `o.allocate_block(evict)` | `BlockId` | referenced once, or absent and nothing changed (P5) |
/// | `o.allocate_checkpoint(evict)` | `CheckpointId` | the same, slots before members (P9) |
/// | `o.reference(id)` | | protects all its units (P2); an unreferenced one leaves reclaim |
/// | `o.release(id, discoverable)` | `Released` | the last one caches it or frees its units |
/// | `o.invalidate(id)` | | frees the units of a cached object at once (P3) |
/// | `c.references(id)`, `c.cached(id)` | `uint32`, `bool` | |
/// | `c.pages(id)` | `span<const int32>` | its units, stack by stack; members in order |
/// | `c.lines(p)` | `span<const int32>` | its convolution lines, stack by stack; empty without any
/// | | `c.needed(demand, blocks, p)` | `PoolUnits` | available units that adopting and allocating
/// take | | `c.counts(pool)` | `PoolCounts` | | | `o.reset()` | | as constructed |
///
/// Costs follow the units touched. Nothing allocates after construction.
template <class O>
concept MemoryOrganization =
    requires(O& o, const O& c, BlockId b, CheckpointId p, bool flag, StateDemand demand,
             std::span<const BlockId> blocks, std::uint8_t pool) {
      { O::kind } -> std::convertible_to<OrganizationKind>;
      { c.layout() } noexcept -> std::same_as<const OrganizationLayout&>;
      { c.block_capacity() } noexcept -> std::same_as<std::uint32_t>;
      { c.checkpoint_capacity() } noexcept -> std::same_as<std::uint32_t>;
      { o.allocate_block(detail::AnyEviction{}) } -> std::same_as<BlockId>;
      { o.allocate_checkpoint(detail::AnyEviction{}) } -> std::same_as<CheckpointId>;
      o.reference(b);
      o.reference(p);
      { o.release(b, flag) } -> std::same_as<Released>;
      { o.release(p, flag) } -> std::same_as<Released>;
      o.invalidate(b);
      o.invalidate(p);
      { c.references(b) } -> std::same_as<std::uint32_t>;
      { c.references(p) } -> std::same_as<std::uint32_t>;
      { c.cached(b) } -> std::same_as<bool>;
      { c.cached(p) } -> std::same_as<bool>;
      { c.pages(b) } -> std::same_as<std::span<const std::int32_t>>;
      { c.pages(p) } -> std::same_as<std::span<const std::int32_t>>;
      { c.lines(p) } -> std::same_as<std::span<const std::int32_t>>;
      { c.needed(demand, blocks, p) } -> std::same_as<PoolUnits>;
      { c.counts(pool) } -> std::same_as<PoolCounts>;
      o.reset();
    } &&
    std::constructible_from<O, const OrganizationLayout&, const PoolUnits&,
                            const OrganizationOptions&, std::pmr::memory_resource*>;

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
