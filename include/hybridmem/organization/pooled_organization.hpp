// PooledOrganization: what the four organizations share; they differ in layout, pools and slabs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <span>

#include "hybridmem/organization/memory_organization.hpp"
#include "hybridmem/organization/unit_table.hpp"
#include "hybridmem/pool/page_pool.hpp"
#include "hybridmem/pool/slab_pool.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// The organization `Kind` over one or two page pools. A block's units come from the attention
/// pool, a checkpoint's members from the recurrent pool; in a shared pool both are pool 0. Where
/// there are slabs, a checkpoint's convolution states take slots of them and its lines name those;
/// elsewhere its lines are units of its own. A checkpoint is complete from `allocate_checkpoint`
/// until it loses its first unit, when it loses all (rules P1 and P3).
template <OrganizationKind Kind>
class PooledOrganization {
 public:
  static constexpr OrganizationKind kind = Kind;
  static constexpr bool packs_slabs = Kind == OrganizationKind::slab_packed;

  /// Precondition: `layout.kind == Kind`, and every pool has fewer than 2^31 units and lines.
  /// `units` are those of each pool; without attention layers StaticDualPool's first may be 0.
  PooledOrganization(const OrganizationLayout& layout, const PoolUnits& units,
                     const OrganizationOptions& options, std::pmr::memory_resource* memory)
      : PooledOrganization(layout, units, options, sizes_of(layout, units), memory) {}

  const OrganizationLayout& layout() const noexcept { return layout_; }
  const OrganizationOptions& options() const noexcept { return options_; }
  std::uint32_t block_capacity() const noexcept { return blocks_.capacity(); }
  std::uint32_t checkpoint_capacity() const noexcept { return checkpoints_.capacity(); }

  /// An attention block, referenced once; absent, and nothing changed, when its pool is short.
  template <class Evict>
  BlockId allocate_block(Evict&& evict) {
    if (blocks_.stride() == 0 || blocks_.stride() > pool(StateKind::attention).available())
      return BlockId::absent();
    // Every block in the table that is in use holds units, so units available mean an id to be had:
    // free now, or freed by the evictions that make the units free.
    PagePool& from = pool(StateKind::attention);
    make_room(from, blocks_.stride(), evict);
    const BlockId id = blocks_.acquire();
    from.take(object(id), blocks_.units(id), NoVictim{});
    return id;
  }

  /// A checkpoint, referenced once, its slots taken before its members; absent, and nothing
  /// changed, when its pool is short. Slots go where `SlotPlacement` says if the pages suffice for
  /// that, and otherwise on referenced slabs and whole new ones; where these take too many pages
  /// too, cached checkpoints make way until their slots on referenced slabs suffice. `later` is
  /// what the caller allocates next without another choice: where all of it fits (`needed`), slots
  /// are placed so that none of it fails for pages that this one could have spared.
  template <class Evict>
  CheckpointId allocate_checkpoint(Evict&& evict, StateDemand later = {}) {
    PagePool& from = pool(StateKind::recurrent);
    const std::uint32_t members = checkpoints_.stride();
    [[maybe_unused]] SlabUse use = SlabUse::as_placed;
    if constexpr (packs_slabs) {
      const auto fits = [&](SlabUse as) {
        return std::uint64_t{1 + later.checkpoints} * members +
                   std::uint64_t{later.blocks} * blocks_.stride() +
                   slab_pages({}, (1 + later.checkpoints) * layout_.slots_per_checkpoint, as) <=
               from.available();
      };
      if (!fits(SlabUse::as_placed)) {
        if (!fits(last_resort())) later = {};
        if (!fits(last_resort())) return CheckpointId::absent();
        if (!fits(SlabUse::as_placed)) use = SlabUse::compact;
        while (use == SlabUse::compact && !fits(use)) evict_object(from, from.next_victim(), evict);
      }
    } else if (members > from.available()) {
      return CheckpointId::absent();
    }
    if constexpr (packs_slabs) {
      // The owner's id must exist before its slots; where every id is cached, the oldest makes way.
      while (checkpoints_.used() == checkpoints_.capacity()) {
        const ObjectId victim = from.next_victim();
        if (!victim.present()) return CheckpointId::absent();
        evict_object(from, victim, evict);
      }
      const CheckpointId id = checkpoints_.acquire();
      const std::span<std::int32_t> lines = lines_.units(id);
      for (std::size_t i = 0; i < lines.size(); ++i) {
        // Room that an eviction makes on idle slabs was not counted on: it may cost more pages.
        const LineId line = slabs_->take(from, id.value(), use, [&](ObjectId victim) {
          use = SlabUse::compact;
          evict_object(from, victim, evict);
        });
        HYBRIDMEM_CHECK(1, line.present(), "slots counted are slots had");
        lines[i] = line.value();
      }
      const bool taken = from.take(object(id), checkpoints_.units(id),
                                   [&](ObjectId victim) { evict_object(from, victim, evict); });
      HYBRIDMEM_CHECK(1, taken, "pages counted are pages had");
      static_cast<void>(taken);
      return id;
    } else {
      make_room(from, members, evict);
      const CheckpointId id = checkpoints_.acquire();
      from.take(object(id), checkpoints_.units(id), NoVictim{});
      return id;
    }
  }

  void reference(BlockId id) { pool(StateKind::attention).reference(object(id)); }

  void reference(CheckpointId id) {
    PagePool& from = pool(StateKind::recurrent);
    if constexpr (packs_slabs)
      if (from.cached(object(id)))
        for (const std::int32_t line : lines_.units(id)) slabs_->reference(from, LineId{line});
    from.reference(object(id));
  }

  Released release(BlockId id, bool discoverable) {
    const Released outcome = pool(StateKind::attention).release(object(id), discoverable);
    if (outcome == Released::dropped) invalidate(id);
    return outcome;
  }

  Released release(CheckpointId id, bool discoverable) {
    PagePool& from = pool(StateKind::recurrent);
    const Released outcome = from.release(object(id), discoverable);
    if (outcome == Released::still_referenced) return outcome;
    if constexpr (packs_slabs)
      for (const std::int32_t line : lines_.units(id)) slabs_->release(from, LineId{line});
    // A state without members stands in no reclaim order: unless it can be found it goes at once.
    if (outcome == Released::dropped || (!discoverable && checkpoints_.stride() == 0)) {
      invalidate(id);
      return Released::dropped;
    }
    return outcome;
  }

  /// Precondition: cached. Its units are free when this returns.
  void invalidate(BlockId id) {
    pool(StateKind::attention).give_back(object(id), blocks_.units(id));
    blocks_.release(id);
  }

  void invalidate(CheckpointId id) {
    PagePool& from = pool(StateKind::recurrent);
    from.give_back(object(id), checkpoints_.units(id));
    if constexpr (packs_slabs)
      for (const std::int32_t line : lines_.units(id)) slabs_->free(from, LineId{line});
    checkpoints_.release(id);
  }

  std::uint32_t references(BlockId id) const {
    return pool(StateKind::attention).references(object(id));
  }
  std::uint32_t references(CheckpointId id) const {
    return pool(StateKind::recurrent).references(object(id));
  }
  bool cached(BlockId id) const { return pool(StateKind::attention).cached(object(id)); }
  bool cached(CheckpointId id) const { return pool(StateKind::recurrent).cached(object(id)); }

  std::span<const std::int32_t> pages(BlockId id) const { return blocks_.units(id); }
  /// The member pages of each stack in turn; pages for convolution alone come after all members.
  std::span<const std::int32_t> pages(CheckpointId id) const { return checkpoints_.units(id); }

  std::span<const std::int32_t> lines(CheckpointId id) const {
    if constexpr (packs_slabs) {
      return lines_.units(id);
    } else {
      // One line a unit: the composite's own, or the page for convolution alone.
      const std::span<const std::int32_t> units = checkpoints_.units(id);
      return units.last(std::min<std::size_t>(units.size(), layout_.lines_per_checkpoint));
    }
  }

  /// The units of each pool that would leave the available ones if the cached among `adopted` and
  /// `state` (absent: none) were referenced and `demand` allocated: where these are available, all
  /// of it succeeds (several checkpoints if each allocation is told what comes later), and where
  /// not, not all of it does. In models without member pages it may ask for more than it takes, and
  /// several checkpoints may rarely fail. Linear in what is adopted.
  PoolUnits needed(const StateDemand& demand, std::span<const BlockId> adopted,
                   CheckpointId state) const {
    PoolUnits units{};
    for (const BlockId id : adopted)
      if (cached(id)) units[layout_.pool_of(StateKind::attention)] += blocks_.stride();
    return needed(demand, units, state);
  }

  /// The same where the units of adopted blocks are counted already.
  PoolUnits needed(const StateDemand& demand, PoolUnits units, CheckpointId state) const {
    std::uint64_t& attention = units[layout_.pool_of(StateKind::attention)];
    std::uint64_t& recurrent = units[layout_.pool_of(StateKind::recurrent)];
    if (state.present() && cached(state)) recurrent += checkpoints_.stride();
    attention += std::uint64_t{demand.blocks} * blocks_.stride();
    recurrent += std::uint64_t{demand.checkpoints} * checkpoints_.stride();
    if constexpr (packs_slabs) {
      const std::span<const std::int32_t> held =
          state.present() && cached(state) ? lines_.units(state) : std::span<const std::int32_t>{};
      const std::uint32_t slots = demand.checkpoints * layout_.slots_per_checkpoint;
      const std::uint32_t available = pool(StateKind::recurrent).available();
      std::uint64_t slabs = slab_pages(held, slots, SlabUse::as_placed);
      if (recurrent + slabs > available) slabs = slab_pages(held, slots, SlabUse::compact);
      if (recurrent + slabs > available) slabs = slab_pages(held, slots, last_resort());
      recurrent += slabs;
    }
    return units;
  }

  PoolCounts counts(std::uint8_t index) const { return pools_[index].counts(); }
  const PagePool& page_pool(std::uint8_t index) const { return pools_[index]; }
  /// The slabs, null in organizations without any.
  const SlabPool* slab_pool() const noexcept {
    if constexpr (packs_slabs)
      return slabs_ ? &*slabs_ : nullptr;
    else
      return nullptr;
  }
  std::uint64_t cross_invalidations() const noexcept { return cross_invalidations_; }

 private:
  struct Sizes {
    std::uint32_t blocks = 0;
    std::uint32_t checkpoints = 0;
    std::uint32_t slabs = 0;
  };

  /// For takes that find their pages free.
  struct NoVictim {
    void operator()(ObjectId) const noexcept {}
  };

  static Sizes sizes_of(const OrganizationLayout& layout, const PoolUnits& units) {
    const std::uint64_t attention = units[layout.pool_of(StateKind::attention)];
    const std::uint64_t recurrent = units[layout.pool_of(StateKind::recurrent)];
    HYBRIDMEM_CHECK(1, layout.kind == Kind, "the layout is of this organization");
    Sizes sizes;
    if (layout.units_per_block > 0)
      sizes.blocks = static_cast<std::uint32_t>(attention / layout.units_per_block);
    if (layout.units_per_checkpoint() > 0)
      sizes.checkpoints = static_cast<std::uint32_t>(recurrent / layout.units_per_checkpoint());
    else if (layout.slots_per_checkpoint > 0)
      sizes.checkpoints = static_cast<std::uint32_t>(recurrent * layout.slots_per_slab /
                                                     layout.slots_per_checkpoint);
    // Every slab holds a slot of a checkpoint, and every checkpoint but the one being allocated its
    // own units too; one slab more, so that a number is at hand before an eviction frees one.
    if (const std::uint64_t slots = layout.slots_per_checkpoint; slots > 0) {
      const std::uint64_t own = layout.units_per_checkpoint();
      sizes.slabs = static_cast<std::uint32_t>(std::min(
          {recurrent, sizes.checkpoints * slots, (recurrent + own) * slots / (own + slots) + 1}));
    }
    return sizes;
  }

  PooledOrganization(const OrganizationLayout& layout, const PoolUnits& units,
                     const OrganizationOptions& options, const Sizes& sizes,
                     std::pmr::memory_resource* memory)
      : layout_(layout),
        options_(options),
        pools_{PagePool(pool_options(layout, units, options, sizes, 0), memory),
               PagePool(pool_options(layout, units, options, sizes, 1), memory)},
        blocks_(sizes.blocks, layout.units_per_block, memory),
        checkpoints_(sizes.checkpoints, layout.units_per_checkpoint(), memory),
        lines_(packs_slabs ? sizes.checkpoints : 0, layout.slots_per_checkpoint, memory),
        memory_(memory),
        slab_options_{layout.slots_per_slab, sizes.slabs, sizes.blocks + sizes.checkpoints,
                      options.slot_placement, options.slab_order} {
    make_slabs();
  }

  static PagePoolOptions pool_options(const OrganizationLayout& layout, const PoolUnits& units,
                                      const OrganizationOptions& options, const Sizes& sizes,
                                      std::uint8_t index) {
    if (index >= layout.pools) return {};
    const auto pages = static_cast<std::uint32_t>(units[index]);
    // Ids run over blocks, checkpoints and slabs in every pool, whichever of them it serves.
    return {pages, sizes.blocks + sizes.checkpoints + sizes.slabs, sizes.slabs, options.free_order};
  }

  void make_slabs() {
    if constexpr (packs_slabs) {
      slabs_.reset();
      if (slab_options_.slots_per_slab > 0)
        slabs_.emplace(slab_options_, pools_[0].pages(), memory_);
    }
  }

  PagePool& pool(StateKind state) noexcept { return pools_[layout_.pool_of(state)]; }
  const PagePool& pool(StateKind state) const noexcept { return pools_[layout_.pool_of(state)]; }

  ObjectId object(BlockId id) const noexcept { return ObjectId{id.value()}; }
  ObjectId object(CheckpointId id) const noexcept {
    return ObjectId{id.value() + static_cast<std::int32_t>(blocks_.capacity())};
  }

  /// Pages that leave the available ones for slots.
  std::uint32_t slab_pages(std::span<const std::int32_t> adopted, std::uint32_t slots,
                           SlabUse use) const {
    return slabs_ ? slabs_->demand(pool(StateKind::recurrent), adopted, slots, use).total() : 0;
  }
  /// A state without members stands in no reclaim order: it stays as long as its slab does.
  SlabUse last_resort() const noexcept {
    return checkpoints_.stride() > 0 ? SlabUse::emptied : SlabUse::compact;
  }

  template <class Evict>
  void make_room(PagePool& from, std::uint32_t pages, Evict&& evict) {
    while (from.free_pages() < pages) evict_object(from, from.next_victim(), evict);
  }

  /// Tells `evict` of every object that loses its storage with `victim`, then frees it.
  template <class Evict>
  void evict_object(PagePool& from, ObjectId victim, Evict&& evict) {
    const auto index = static_cast<std::uint32_t>(victim.value());
    if (index < blocks_.capacity()) {
      evict(Eviction{StateKind::attention, victim.value(), false});
      invalidate(BlockId{victim.value()});
      return;
    }
    const auto first_checkpoint = static_cast<std::int32_t>(blocks_.capacity());
    if (index < blocks_.capacity() + checkpoints_.capacity()) {
      evict(Eviction{StateKind::recurrent, victim.value() - first_checkpoint, false});
      invalidate(CheckpointId{victim.value() - first_checkpoint});
      return;
    }
    if constexpr (packs_slabs) {
      while (!from.absent(victim)) {
        const std::int32_t owner = slabs_->first_owner(victim);
        ++cross_invalidations_;
        evict(Eviction{StateKind::recurrent, owner, true});
        invalidate(CheckpointId{owner});
      }
    }
  }

 public:
  /// Frees everything, as constructed. Linear in the capacity.
  void reset() {
    for (PagePool& one : pools_) one.reset();
    blocks_.reset();
    checkpoints_.reset();
    lines_.reset();
    if constexpr (packs_slabs)
      if (slabs_) slabs_->reset();
    cross_invalidations_ = 0;
  }

 private:
  OrganizationLayout layout_;
  OrganizationOptions options_;
  std::array<PagePool, 2> pools_;
  UnitTable<BlockId> blocks_;
  UnitTable<CheckpointId> checkpoints_;
  UnitTable<CheckpointId> lines_;  ///< slots of each checkpoint; ids as `checkpoints_`
  std::pmr::memory_resource* memory_;
  SlabPoolOptions slab_options_;
  std::optional<SlabPool> slabs_;
  std::uint64_t cross_invalidations_ = 0;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
