// What is particular to SlabPacked: lines in shared slabs, cross-invalidation, and what a slab in
// use keeps from being had.
#include "hybridmem/organization/slab_packed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "support/frozen_memory.hpp"
#include "support/organization_audit.hpp"
#include "support/organization_harness.hpp"

using namespace hybridmem;
using namespace hybridmem_test;

namespace {

using Evictions = std::vector<Evicted>;

/// Small numbers for corners that the paper's 16 slots would hide.
OrganizationLayout small(std::uint32_t members, std::uint32_t slots, std::uint32_t slots_per_slab) {
  OrganizationLayout layout;
  layout.kind = OrganizationKind::slab_packed;
  layout.unit_bytes = {256, 256};
  layout.units_per_block = 1;
  layout.member_units = members;
  layout.slots_per_checkpoint = slots;
  layout.lines_per_checkpoint = slots;
  layout.slots_per_slab = slots_per_slab;
  return layout;
}

std::vector<std::int32_t> list(std::span<const std::int32_t> ids) {
  return {ids.begin(), ids.end()};
}

}  // namespace

TEST_CASE("the line of slot s on page p is 16 p + s") {
  Harness<SlabPacked> h(2, 17);
  const BlockId block = h.block();  // page 0, so that the slab is on another
  REQUIRE(block.present());
  for (std::int32_t i = 0; i < 17; ++i) {
    const CheckpointId id = h.checkpoint();
    REQUIRE(h.o.pages(id).size() == 3);
    REQUIRE(h.o.lines(id).size() == 1);
    const std::int32_t line = h.o.lines(id)[0];
    CHECK(line % 16 == i % 16);
    // The slab is taken before the members: page 1, and after 16 checkpoints page 1 + 1 + 48.
    CHECK(line / 16 == (i < 16 ? 1 : 50));
    CHECK(h.o.pages(id)[0] == line / 16 + 1 + 3 * (i % 16));
  }
  CHECK(h.o.slab_pool()->slabs() == 2);
  CHECK(audit(h.o).empty());
}

TEST_CASE("P9 slots before members: the first checkpoint of an empty pool has line 0") {
  Harness<SlabPacked> h(0, 1);
  const CheckpointId id = h.checkpoint();
  CHECK(h.o.lines(id)[0] == 0);
  CHECK(list(h.o.pages(id)) == std::vector<std::int32_t>{1, 2, 3});
  CHECK(h.o.counts(0) == PoolCounts{4, 0, 0, 4});
}

TEST_CASE("sixteen checkpoints share one slab, the seventeenth begins another (eq. 4)") {
  Harness<SlabPacked> h(0, 17);
  CHECK(h.units[0] == 17 * 3 + 2);
  for (std::uint32_t i = 0; i < 17; ++i) {
    REQUIRE(h.checkpoint().present());
    CHECK(h.o.slab_pool()->slabs() == i / 16 + 1);
  }
  CHECK(h.o.counts(0).free == 0);
  CHECK_FALSE(h.checkpoint().present());
}

TEST_CASE("P2: a slab with one referenced slot keeps its page, whatever else is cached on it") {
  Harness<SlabPacked> h(0, 3);
  const CheckpointId running = h.checkpoint();
  const CheckpointId first = h.cached(h.checkpoint());
  const CheckpointId second = h.cached(h.checkpoint());
  const std::int32_t slab = h.o.lines(running)[0] / 16;
  CHECK(h.o.counts(0) == PoolCounts{10, 0, 6, 4});
  while (h.block().present()) {
  }
  CHECK(h.evicted == Evictions{evicted_checkpoint(first), evicted_checkpoint(second)});
  CHECK(h.o.slab_pool()->slabs() == 1);
  CHECK(h.o.lines(running)[0] / 16 == slab);
  CHECK(h.o.counts(0) == PoolCounts{10, 0, 0, 10});
  CHECK(h.o.cross_invalidations() == 0);
}

TEST_CASE("P3: the slab of the last lost checkpoint is free at once") {
  Harness<SlabPacked> h(0, 2);
  const CheckpointId first = h.cached(h.checkpoint());
  const CheckpointId second = h.cached(h.checkpoint());
  h.o.invalidate(first);
  CHECK(h.o.slab_pool()->slabs() == 1);
  CHECK(h.o.counts(0) == PoolCounts{7, 3, 4, 0});
  h.o.invalidate(second);
  CHECK(h.o.slab_pool()->slabs() == 0);
  CHECK(h.o.counts(0) == PoolCounts{7, 7, 0, 0});
}

TEST_CASE("P3 cross-invalidation: a reassigned slab takes all checkpoints on it, each told once") {
  // Under SlabOrder::creation the slab stands before the checkpoints released after it was made.
  Harness<SlabPacked> h(3, 3, {.slab_order = SlabOrder::creation});
  std::vector<CheckpointId> states;
  for (int i = 0; i < 3; ++i) states.push_back(h.checkpoint());
  const std::int32_t slab = h.o.lines(states[0])[0] / 16;
  for (int i = 0; i < 3; ++i) CHECK(h.block().present());
  for (const std::size_t i : {2U, 1U, 0U}) h.cached(states[i]);
  const BlockId block = h.block();
  REQUIRE(block.present());
  CHECK(h.evicted == Evictions{evicted_checkpoint(states[0], true),
                               evicted_checkpoint(states[1], true),
                               evicted_checkpoint(states[2], true)});
  CHECK(h.o.cross_invalidations() == 3);
  CHECK(h.o.slab_pool()->slabs() == 0);
  CHECK(h.o.pages(block)[0] == slab);
  CHECK(h.o.counts(0) == PoolCounts{13, 9, 0, 4});
  h.o.reset();
  CHECK(h.o.cross_invalidations() == 0);
}

TEST_CASE("P8 last_release: every checkpoint goes before its slab, so none is cross-invalidated") {
  Harness<SlabPacked> h(3, 3);
  std::vector<CheckpointId> states;
  for (int i = 0; i < 3; ++i) states.push_back(h.checkpoint());
  for (int i = 0; i < 3; ++i) CHECK(h.block().present());
  for (const std::size_t i : {2U, 1U, 0U}) h.cached(states[i]);
  for (int i = 0; i < 10; ++i) CHECK(h.block().present());
  CHECK(h.evicted == Evictions{evicted_checkpoint(states[2]), evicted_checkpoint(states[1]),
                               evicted_checkpoint(states[0])});
  CHECK(h.o.cross_invalidations() == 0);
  CHECK(h.o.counts(0).free == 0);
}

TEST_CASE("P8 creation: an idle slab that becomes so again returns to where it was made") {
  for (const SlabOrder order : {SlabOrder::last_release, SlabOrder::creation}) {
    CAPTURE(name_of(order));
    // One slot a slab: state i lies on a slab of its own.
    const OrganizationLayout layout = small(1, 1, 1);
    Harness<SlabPacked> h(layout, {5, 0}, {.slab_order = order});
    const CheckpointId early = h.checkpoint();
    const BlockId block = h.block();
    const CheckpointId late = h.checkpoint();
    h.cached(block);
    h.cached(late);
    h.cached(early);
    h.o.reference(early);
    h.o.release(early, true);
    CHECK(h.block().present());
    CHECK(h.evicted == (order == SlabOrder::creation ? Evictions{evicted_checkpoint(early, true)}
                                                     : Evictions{evicted_block(block)}));
  }
}

TEST_CASE("92 members and 23 slots: a checkpoint over several slabs, shared with its neighbours") {
  const OrganizationLayout layout =
      preset_organization(OrganizationKind::slab_packed, "nemotron-3-nano-30b-a3b");
  CHECK(layout.member_units == 92);
  CHECK(layout.slots_per_checkpoint == 23);
  CHECK(layout.units_per_block == 6);
  REQUIRE(layout.slots_per_slab < 23);
  Harness<SlabPacked> h(layout, units_for(layout, 2, 3));
  std::vector<CheckpointId> states;
  std::set<std::int32_t> lines;
  for (int i = 0; i < 3; ++i) {
    states.push_back(h.checkpoint());
    REQUIRE(states.back().present());
    CHECK(h.o.pages(states.back()).size() == 92);
    lines.insert(h.o.lines(states.back()).begin(), h.o.lines(states.back()).end());
  }
  CHECK(lines.size() == 69);
  CHECK(h.o.slab_pool()->slabs() == layout.least_slabs(3));
  CHECK_FALSE(h.checkpoint().present());
  // The middle one shares a slab with each neighbour; its loss leaves both whole.
  h.cached(states[1]);
  h.o.invalidate(states[1]);
  CHECK(audit(h.o).empty());
  CHECK(h.o.lines(states[0]).size() == 23);
  CHECK(h.o.references(states[2]) == 1);
  CHECK(h.predicts({0, 1}));
  CHECK(h.checkpoint().present());
  CHECK(h.evicted.empty());
  CHECK(audit(h.o).empty());
}

TEST_CASE("P9: when idle slabs would cost too many pages, whole new slabs are used") {
  // An idle slab with room for three of the five slots, and its owner: 2 pages. As placed, a state
  // would take that slab, a new page and a member.
  Harness<SlabPacked> h(small(1, 5, 8), {2, 0});
  const CheckpointId old = h.cached(h.checkpoint());
  CHECK(h.o.slab_pool()->idle_slabs(5) == 1);
  CHECK(h.o.needed({0, 1}, std::span<const BlockId>{}, {})[0] == 2);
  const CheckpointId next = h.checkpoint();
  REQUIRE(next.present());
  CHECK(h.evicted == Evictions{evicted_checkpoint(old)});
  CHECK(h.o.slab_pool()->referenced_slabs(5) == 1);
  CHECK(h.o.counts(0) == PoolCounts{2, 0, 0, 2});
}

TEST_CASE("needed() over a match on two slabs, of which one is shared with a cached state") {
  Harness<SlabPacked> h(small(1, 3, 4), {8, 0});
  const std::vector<CheckpointId> states{h.cached(h.checkpoint()), h.checkpoint()};
  h.cached(states[1]);  // 3 + (1 + 2) slots
  CHECK(h.o.slab_pool()->idle_slabs(4) == 1);
  CHECK(h.o.slab_pool()->idle_slabs(2) == 1);
  std::vector<BlockId> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(h.block());
  CHECK(h.evicted.empty());
  // As placed: the idle slab with two, a new page, a member: 3 of 4 pages.
  CHECK(h.o.needed({0, 1}, blocks, {})[0] == 3);
  // With the second state adopted both slabs are in use. A new page would be the fifth; but the
  // first state gives its slots up.
  CHECK(h.o.needed({0, 1}, blocks, states[1])[0] == 1 + 2 + 1);
  h.o.reference(states[1]);
  CHECK(h.checkpoint().present());
  CHECK(h.evicted == Evictions{evicted_checkpoint(states[0])});
  CHECK(h.o.slab_pool()->referenced_slabs(4) == 1);
  CHECK(audit(h.o).empty());
}

TEST_CASE("needed() counts the slabs that a cached match brings into use") {
  const OrganizationLayout layout = small(2, 1, 2);
  Harness<SlabPacked> h(layout, {8, 0});
  const CheckpointId state = h.cached(h.checkpoint());
  const PoolUnits alone = h.o.needed({0, 0}, std::span<const BlockId>{}, state);
  CHECK(alone[0] == 3);  // two members and the idle slab
  // Its slab has room for one more slot, which is then no further page.
  CHECK(h.o.needed({0, 1}, std::span<const BlockId>{}, state)[0] == 5);
  CHECK(h.o.needed({0, 2}, std::span<const BlockId>{}, state)[0] == 8);
  CHECK(h.predicts({0, 2}, {}, state));
  h.o.reference(state);
  CHECK(h.o.allocate_checkpoint(h.record(), {0, 1}).present());
  CHECK(h.checkpoint().present());
  CHECK(h.o.counts(0) == PoolCounts{8, 0, 0, 8});
  CHECK(h.evicted.empty());
}

TEST_CASE("slots that cached states hold on a slab in use can be had when pages are short") {
  // One slab of two slots: a running state and a cached one. The next state needs a slot and two
  // pages, which are exactly what the cached one gives up; an empty pool would hold both.
  const OrganizationLayout layout = small(2, 1, 2);
  Harness<SlabPacked> h(layout, {5, 0});
  const CheckpointId running = h.checkpoint();
  const CheckpointId old = h.cached(h.checkpoint());
  CHECK(h.o.counts(0) == PoolCounts{5, 0, 2, 3});
  CHECK(h.predicts({0, 1}));
  CHECK_FALSE(h.predicts({0, 1}, {}, old));
  CHECK(h.checkpoint().present());
  CHECK(h.evicted == Evictions{evicted_checkpoint(old)});
  CHECK(h.o.references(running) == 1);
  CHECK(h.o.slab_pool()->slabs() == 1);
  CHECK_FALSE(h.checkpoint().present());
  CHECK(audit(h.o).empty());
}

TEST_CASE("admit means completes: two states in turn run for ever in the pool that holds two") {
  for (const SlotPlacement placement : {SlotPlacement::fullest, SlotPlacement::fifo})
    for (const SlabOrder order : {SlabOrder::last_release, SlabOrder::creation})
      for (std::uint32_t members = 1; members <= 3; ++members)
        for (std::uint32_t slots = 1; slots <= 5; ++slots)
          for (std::uint32_t per_slab = 1; per_slab <= 6; ++per_slab) {
            CAPTURE(members);
            CAPTURE(slots);
            CAPTURE(per_slab);
            const OrganizationLayout layout = small(members, slots, per_slab);
            Harness<SlabPacked> h(layout, units_for(layout, 0, 2),
                                  {.slab_order = order, .slot_placement = placement});
            CheckpointId state = h.checkpoint();
            for (int i = 0; i < 20; ++i) {
              const CheckpointId next = h.checkpoint();
              REQUIRE(next.present());
              h.cached(state);
              state = next;
            }
          }
}

TEST_CASE("several checkpoints that needed() promises are had when each is told what follows") {
  // A free page, an idle slab with room for one of four slots and its three owners: placed one by
  // one, the first would take the idle slab and the fourth would find no page.
  const OrganizationLayout layout = small(1, 1, 4);
  for (const SlotPlacement placement : {SlotPlacement::fullest, SlotPlacement::fifo}) {
    Harness<SlabPacked> h(layout, {5, 0}, {.slot_placement = placement});
    for (int i = 0; i < 3; ++i) h.cached(h.checkpoint());
    CHECK(h.o.counts(0) == PoolCounts{5, 1, 4, 0});
    CHECK(h.predicts({0, 4}));
    CHECK_FALSE(h.predicts({0, 5}));
    for (std::uint32_t later = 4; later-- > 0;)
      CHECK(h.o.allocate_checkpoint(h.record(), {0, later}).present());
    CHECK(h.o.counts(0) == PoolCounts{5, 0, 0, 5});
    CHECK(h.evicted.size() == 3);
  }
}

TEST_CASE("what follows decides where the first of several checkpoints goes") {
  // Two pages; one is an idle slab with four of five slots cached. Four states of two slots fit in
  // two new slabs, not in the last slot of the old one and a new slab.
  for (const bool told : {false, true}) {
    CAPTURE(told);
    Harness<SlabPacked> h(small(0, 2, 5), {2, 0});
    h.cached(h.checkpoint());
    h.cached(h.checkpoint());
    CHECK(h.o.slab_pool()->idle_slabs(4) == 1);
    CHECK(h.predicts({0, 4}));
    std::uint32_t had = 0;
    for (std::uint32_t later = 4; later-- > 0;)
      if (h.o.allocate_checkpoint(h.record(), {0, told ? later : 0}).present()) ++had;
    CHECK((had == 4) == told);
  }
}

TEST_CASE("what follows is a hint: where it does not fit, the checkpoint at hand still is had") {
  Harness<SlabPacked> h(0, 1);
  CHECK(h.o.allocate_checkpoint(h.record(), {7, 7}).present());
  CHECK_FALSE(h.checkpoint().present());
}

TEST_CASE("a slot that an eviction frees on a slab in use is taken before the page is cut") {
  const OrganizationLayout layout = small(2, 1, 2);
  Harness<SlabPacked> h(layout, {7, 0});
  const CheckpointId running = h.checkpoint();
  const CheckpointId old = h.cached(h.checkpoint());
  const BlockId first = h.block();
  const BlockId second = h.cached(h.block());
  CHECK(h.o.counts(0) == PoolCounts{7, 0, 3, 4});
  CHECK(h.o.needed({0, 1}, std::span<const BlockId>{}, {})[0] == 3);  // at most
  const CheckpointId next = h.checkpoint();
  REQUIRE(next.present());
  CHECK(h.evicted == Evictions{evicted_checkpoint(old)});
  CHECK(h.o.slab_pool()->slabs() == 1);
  CHECK(h.o.lines(next)[0] / 2 == h.o.lines(running)[0] / 2);
  CHECK(h.o.cached(second));
  CHECK(h.o.references(first) == 1);
}

TEST_CASE("convolution alone: states have no pages, and their slab is what is reclaimed") {
  const OrganizationLayout layout = small(0, 1, 2);
  Harness<SlabPacked> h(layout, {2, 0});
  CHECK(h.o.checkpoint_capacity() == 4);
  std::vector<CheckpointId> states;
  for (int i = 0; i < 4; ++i) states.push_back(h.checkpoint());
  CHECK_FALSE(h.checkpoint().present());
  CHECK(h.o.pages(states[0]).empty());
  h.cached(states[1]);
  CHECK_FALSE(h.predicts({0, 1}));  // its slab is in use, and it stands in no order of its own
  CHECK_FALSE(h.checkpoint().present());
  h.cached(states[0]);
  CHECK(h.predicts({0, 1}));
  CHECK(h.checkpoint().present());
  CHECK(h.evicted ==
        Evictions{evicted_checkpoint(states[0], true), evicted_checkpoint(states[1], true)});
  CHECK(h.o.cross_invalidations() == 2);
  CHECK(audit(h.o).empty());
}

TEST_CASE("convolution alone: what nothing can find goes at once, even in one queue") {
  Harness<SlabPacked> h(small(0, 1, 2), {1, 0}, {.free_order = FreeOrder::release_order});
  const CheckpointId state = h.checkpoint();
  CHECK(h.o.release(state, false) == Released::dropped);
  CHECK_FALSE(h.o.cached(state));
  CHECK(h.o.counts(0) == PoolCounts{1, 1, 0, 0});
}

TEST_CASE("no convolution: no slabs at all") {
  const OrganizationLayout layout =
      preset_organization(OrganizationKind::slab_packed, "minimax-text-01");
  Harness<SlabPacked> h(layout, units_for(layout, 2, 2));
  CHECK(h.o.slab_pool() == nullptr);
  const CheckpointId state = h.checkpoint();
  CHECK(h.o.pages(state).size() == layout.member_units);
  CHECK(h.o.lines(state).empty());
  CHECK(h.o.needed({1, 1}, std::span<const BlockId>{}, h.cached(state))[0] ==
        2 * layout.member_units + layout.units_per_block);
  CHECK(audit(h.o).empty());
}

TEST_CASE("kinds share one budget: cached attention makes way for a checkpoint") {
  Harness<SlabPacked> h(8, 0);
  std::vector<BlockId> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(h.cached(h.block()));
  CHECK(h.checkpoint().present());
  CHECK(h.evicted == Evictions{evicted_block(blocks[0]), evicted_block(blocks[1]),
                               evicted_block(blocks[2]), evicted_block(blocks[3])});
  CHECK(h.o.counts(0) == PoolCounts{8, 0, 4, 4});
}

TEST_CASE(
    "metadata stays within its share: 64 B a page, 128 B a checkpoint, 4 B a member and line") {
  FrozenMemory memory;
  const OrganizationLayout layout = organization_of(OrganizationKind::slab_packed);
  constexpr std::uint64_t pages = 30'000;
  const SlabPacked o(layout, {pages, 0}, {}, &memory);
  const std::uint64_t checkpoints = o.checkpoint_capacity();
  CHECK(checkpoints == pages / 3);
  CHECK(memory.bytes() <= pages * 64 + checkpoints * (128 + 4 * (3 + 1)));
}
