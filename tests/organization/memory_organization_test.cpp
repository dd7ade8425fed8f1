// The concept: an archetype that just meets it, and what it must not do without.
#include "hybridmem/organization/memory_organization.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory_resource>
#include <span>

using namespace hybridmem;

namespace {

struct Archetype {
  static constexpr OrganizationKind kind = OrganizationKind::coarse_pages;

  Archetype(const OrganizationLayout&, const PoolUnits&, const OrganizationOptions&,
            std::pmr::memory_resource*) {}
  const OrganizationLayout& layout() const noexcept { return layout_; }
  std::uint32_t block_capacity() const noexcept { return 0; }
  std::uint32_t checkpoint_capacity() const noexcept { return 0; }
  template <class Evict>
  BlockId allocate_block(Evict&&) {
    return {};
  }
  template <class Evict>
  CheckpointId allocate_checkpoint(Evict&&) {
    return {};
  }
  void reference(BlockId) {}
  void reference(CheckpointId) {}
  Released release(BlockId, bool) { return {}; }
  Released release(CheckpointId, bool) { return {}; }
  void invalidate(BlockId) {}
  void invalidate(CheckpointId) {}
  std::uint32_t references(BlockId) const { return 0; }
  std::uint32_t references(CheckpointId) const { return 0; }
  bool cached(BlockId) const { return false; }
  bool cached(CheckpointId) const { return false; }
  std::span<const std::int32_t> pages(BlockId) const { return {}; }
  std::span<const std::int32_t> pages(CheckpointId) const { return {}; }
  std::span<const std::int32_t> lines(CheckpointId) const { return {}; }
  PoolUnits needed(const StateDemand&, std::span<const BlockId>, CheckpointId) const { return {}; }
  PoolCounts counts(std::uint8_t) const { return {}; }
  void reset() {}

 private:
  OrganizationLayout layout_;
};

// Each lacks, or gets wrong, one thing. A name declared in a derived struct hides the base's.
struct WithoutKind : Archetype {
  using Archetype::Archetype;
  void kind() {}
};
struct WithoutMemory : Archetype {
  WithoutMemory(const OrganizationLayout& layout, const PoolUnits& units,
                const OrganizationOptions& options)
      : Archetype(layout, units, options, nullptr) {}
};
struct LayoutThatThrows : Archetype {
  using Archetype::Archetype;
  const OrganizationLayout& layout() const { return Archetype::layout(); }
};
struct LayoutByValue : Archetype {
  using Archetype::Archetype;
  OrganizationLayout layout() const noexcept { return Archetype::layout(); }
};
struct NarrowCapacity : Archetype {
  using Archetype::Archetype;
  std::uint16_t block_capacity() const noexcept { return 0; }
};
struct AllocatesWithoutEviction : Archetype {
  using Archetype::Archetype;
  BlockId allocate_block() { return {}; }
};
struct IdsMixedUp : Archetype {
  using Archetype::Archetype;
  template <class Evict>
  BlockId allocate_checkpoint(Evict&&) {
    return {};
  }
};
struct OnlyBlocksReferenced : Archetype {
  using Archetype::Archetype;
  void reference(BlockId) {}
};
struct SilentRelease : Archetype {
  using Archetype::Archetype;
  void release(BlockId, bool) {}
  void release(CheckpointId, bool) {}
};
struct MutableLines : Archetype {
  using Archetype::Archetype;
  std::span<std::int32_t> lines(CheckpointId) const { return {}; }
};
struct QuestionThatChanges : Archetype {
  using Archetype::Archetype;
  PoolUnits needed(const StateDemand&, std::span<const BlockId>, CheckpointId) { return {}; }
};
struct WithoutReset : Archetype {
  using Archetype::Archetype;
  void reset() = delete;
};

static_assert(MemoryOrganization<Archetype>);
static_assert(!MemoryOrganization<WithoutKind>);
static_assert(!MemoryOrganization<WithoutMemory>);
static_assert(!MemoryOrganization<LayoutThatThrows>);
static_assert(!MemoryOrganization<LayoutByValue>);
static_assert(!MemoryOrganization<NarrowCapacity>);
static_assert(!MemoryOrganization<AllocatesWithoutEviction>);
static_assert(!MemoryOrganization<IdsMixedUp>);
static_assert(!MemoryOrganization<OnlyBlocksReferenced>);
static_assert(!MemoryOrganization<SilentRelease>);
static_assert(!MemoryOrganization<MutableLines>);
static_assert(!MemoryOrganization<QuestionThatChanges>);
static_assert(!MemoryOrganization<WithoutReset>);
static_assert(!MemoryOrganization<int>);

}  // namespace

TEST_CASE("the defaults are the recommended orders") {
  const OrganizationOptions options;
  CHECK(options.free_order == FreeOrder::unpublished_first);
  CHECK(options.slab_order == SlabOrder::last_release);
  CHECK(options.slot_placement == SlotPlacement::fullest);
}

TEST_CASE("an eviction and a demand say nothing until filled in") {
  const Eviction eviction;
  CHECK(eviction.index == -1);
  CHECK_FALSE(eviction.cross_invalidated);
  const StateDemand demand;
  CHECK(demand.blocks == 0);
  CHECK(demand.checkpoints == 0);
}
