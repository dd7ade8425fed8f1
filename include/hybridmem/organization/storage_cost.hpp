// Storage cost in closed form: what a set of states costs in each organization (paper, eqs. 1 to
// 4).
#pragma once

#include <algorithm>
#include <cstdint>

#include "hybridmem/organization/organization_layout.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// A set of cached or running states: the paper's (xA, xR, m). Counts are over whole objects, all
/// layers.
struct StateSet {
  std::uint64_t attention_blocks = 0;  ///< xA, in blocks of the organization at hand
  std::uint64_t checkpoints = 0;       ///< xR
  std::uint64_t slabs = 0;             ///< m; only SlabPacked allocates any
};

/// What a set costs. Units are of the pool of each kind; bytes are over all layers.
struct StorageCost {
  std::uint64_t attention_units = 0;
  std::uint64_t checkpoint_units = 0;  ///< members and pages for convolution alone
  std::uint64_t slab_units = 0;
  std::uint64_t attention_bytes = 0;
  std::uint64_t recurrent_bytes = 0;  ///< checkpoints and slabs
  std::uint64_t useful_bytes = 0;     ///< payload of full blocks and complete checkpoints

  constexpr std::uint64_t recurrent_units() const noexcept { return checkpoint_units + slab_units; }
  constexpr std::uint64_t units() const noexcept { return attention_units + recurrent_units(); }
  constexpr std::uint64_t bytes() const noexcept { return attention_bytes + recurrent_bytes; }
  constexpr std::uint64_t unused_bytes() const noexcept { return bytes() - useful_bytes; }
  constexpr double unused_fraction() const noexcept {
    return bytes() == 0 ? 0.0 : static_cast<double>(unused_bytes()) / static_cast<double>(bytes());
  }
};

/// `blocks` and `checkpoints` with the fewest slabs that can hold them.
constexpr StateSet ideal_set(const OrganizationLayout& layout, std::uint64_t blocks,
                             std::uint64_t checkpoints) noexcept {
  return {blocks, checkpoints, layout.least_slabs(checkpoints)};
}

/// The cost of `set`. In the paper's geometry and per layer, in KiB:
/// CoarsePages 1557 (xA + xR); PagedRecurrent 512 xA + 2048 xR; SlabPacked 512 xA + 1536 xR + 512
/// m; StaticDualPool 16 xA and 1557 xR in pools of their own. Constant time; counts whose bytes
/// leave 64 bits are the caller's to avoid.
constexpr StorageCost storage_cost(const OrganizationLayout& layout, const StateSet& set) noexcept {
  StorageCost cost;
  cost.attention_units = set.attention_blocks * layout.units_per_block;
  cost.checkpoint_units = set.checkpoints * layout.units_per_checkpoint();
  cost.slab_units = layout.has_slabs() ? set.slabs : 0;
  cost.attention_bytes = cost.attention_units * layout.stack_unit_bytes(StateKind::attention);
  cost.recurrent_bytes = cost.recurrent_units() * layout.stack_unit_bytes(StateKind::recurrent);
  cost.useful_bytes = set.attention_blocks * layout.block_payload_bytes +
                      set.checkpoints * layout.checkpoint_payload_bytes;
  return cost;
}

/// Bytes that `from` takes beyond `to` for the same set (paper, eqs. 2 and 4): positive when `to`
/// is the smaller. The set counts blocks of the same tokens in both, so neither is StaticDualPool.
constexpr std::int64_t storage_saving(const OrganizationLayout& from, const OrganizationLayout& to,
                                      const StateSet& set) noexcept {
  return static_cast<std::int64_t>(storage_cost(from, set).bytes()) -
         static_cast<std::int64_t>(storage_cost(to, set).bytes());
}

/// The fraction of bytes that stays unused in the long run for one checkpoint and the tokens of
/// `blocks` attention blocks of `page_block_tokens`: a shared slab counts by the slots taken. Exact
/// to the precision of a double.
constexpr double unused_fraction(const OrganizationLayout& layout, std::uint64_t blocks,
                                 Tokens page_block_tokens) noexcept {
  const std::uint64_t own_blocks =
      layout.block_tokens == 0
          ? 0
          : divide_up(blocks * page_block_tokens, std::uint64_t{layout.block_tokens});
  const StorageCost cost = storage_cost(layout, {own_blocks, 1, 0});
  auto allocated = static_cast<double>(cost.bytes());
  if (layout.has_slabs())
    allocated += static_cast<double>(layout.stack_unit_bytes(StateKind::recurrent)) *
                 layout.slots_per_checkpoint / layout.slots_per_slab;
  return allocated > 0 ? (allocated - static_cast<double>(cost.useful_bytes)) / allocated : 0.0;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
