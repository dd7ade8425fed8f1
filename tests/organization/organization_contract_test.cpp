// What every organization promises: the rules P1 to P10, and the invariants of the paper's table
// D-1. A new organization joins by its name in `ORGANIZATIONS`.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hybridmem/organization/coarse_pages.hpp"
#include "hybridmem/organization/paged_recurrent.hpp"
#include "hybridmem/organization/slab_packed.hpp"
#include "hybridmem/organization/static_dual_pool.hpp"
#include "support/frozen_memory.hpp"
#include "support/organization_audit.hpp"
#include "support/organization_harness.hpp"
#include "violations.hpp"

using namespace hybridmem;
using namespace hybridmem_test;

#define ORGANIZATIONS CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool

namespace {

using Ints = std::vector<std::int32_t>;
using Evictions = std::vector<Evicted>;

Ints list(std::span<const std::int32_t> ids) {
  return {ids.begin(), ids.end()};
}

/// Every unit of a checkpoint's pool that it touches: its pages, and the slabs of its lines.
template <class O>
std::set<std::int32_t> touched(const O& o, CheckpointId id) {
  std::set<std::int32_t> pages(o.pages(id).begin(), o.pages(id).end());
  const auto per_page = static_cast<std::int32_t>(std::max(1U, o.layout().slots_per_slab));
  for (const std::int32_t line : o.lines(id)) pages.insert(line / per_page);
  return pages;
}

/// Two checkpoints, then blocks until nothing is left of either pool.
template <class O>
std::pair<std::vector<BlockId>, std::vector<CheckpointId>> fill(Harness<O>& h) {
  std::pair<std::vector<BlockId>, std::vector<CheckpointId>> all;
  for (int i = 0; i < 2; ++i) all.second.push_back(h.checkpoint());
  for (BlockId id = h.block(); id.present(); id = h.block()) all.first.push_back(id);
  for (CheckpointId id = h.checkpoint(); id.present(); id = h.checkpoint())
    all.second.push_back(id);
  return all;
}

/// What can be seen of every object, to compare before and after.
template <class O>
std::vector<std::tuple<std::uint32_t, bool, Ints, Ints>> snapshot(const O& o) {
  std::vector<std::tuple<std::uint32_t, bool, Ints, Ints>> all;
  for (std::uint32_t i = 0; i < o.block_capacity(); ++i) {
    const BlockId id{static_cast<std::int32_t>(i)};
    all.emplace_back(o.references(id), o.cached(id), list(o.pages(id)), Ints{});
  }
  for (std::uint32_t i = 0; i < o.checkpoint_capacity(); ++i) {
    const CheckpointId id{static_cast<std::int32_t>(i)};
    all.emplace_back(o.references(id), o.cached(id), list(o.pages(id)), list(o.lines(id)));
  }
  return all;
}

}  // namespace

TEST_CASE_TEMPLATE("an organization says what it is", O, ORGANIZATIONS) {
  static_assert(MemoryOrganization<O>);
  const Harness<O> h(5, 3);
  CHECK(h.o.layout().kind == O::kind);
  CHECK(h.o.block_capacity() >= 5);
  CHECK(h.o.checkpoint_capacity() >= 3);
  CHECK(h.counts(StateKind::attention).units == h.units[0]);
  CHECK(h.counts(StateKind::attention).free == h.units[0]);
  CHECK(audit(h.o).empty());
}

TEST_CASE_TEMPLATE("P1 complete or absent: a checkpoint has all its units or no id", O,
                   ORGANIZATIONS) {
  const OrganizationLayout layout = organization_of(O::kind);
  const PoolUnits enough = units_for(layout, 0, 1);
  Harness<O> h(layout, enough);
  const CheckpointId id = h.checkpoint();
  REQUIRE(id.present());
  CHECK(h.o.pages(id).size() == layout.units_per_checkpoint());
  CHECK(h.o.lines(id).size() == layout.lines_per_checkpoint);
  CHECK(std::ranges::all_of(h.o.pages(id), [](std::int32_t page) { return page >= 0; }));
  CHECK(std::ranges::all_of(h.o.lines(id), [](std::int32_t line) { return line >= 0; }));

  PoolUnits less = enough;
  --less[layout.pool_of(StateKind::recurrent)];
  Harness<O> short_of_one(layout, less);
  CHECK_FALSE(short_of_one.checkpoint().present());
  CHECK(short_of_one.o.counts(layout.pool_of(StateKind::recurrent)).free ==
        less[layout.pool_of(StateKind::recurrent)]);
}

TEST_CASE_TEMPLATE("P1 complete or absent: what lost one unit is neither cached nor counted", O,
                   ORGANIZATIONS) {
  Harness<O> h(2, 2);
  const CheckpointId id = h.cached(h.checkpoint());
  CHECK(h.o.cached(id));
  // The next one that needs any unit of it takes it as a whole.
  std::vector<CheckpointId> others;
  while (h.evicted.empty()) {
    others.push_back(h.checkpoint());
    REQUIRE(others.back().present());
  }
  CHECK(h.evicted == Evictions{evicted_checkpoint(id)});
  CHECK_FALSE(h.o.cached(id));
  CHECK(h.counts(StateKind::recurrent).cached == 0);
  CHECK(audit(h.o).empty());
}

TEST_CASE_TEMPLATE("P2 protect everything touched: nothing of a referenced object is given away", O,
                   ORGANIZATIONS) {
  Harness<O> h(3, 3);
  const CheckpointId state = h.checkpoint();
  const BlockId block = h.block();
  const std::set<std::int32_t> mine = touched(h.o, state);
  const Ints pages = list(h.o.pages(state));
  const Ints lines = list(h.o.lines(state));
  const Ints block_pages = list(h.o.pages(block));
  // Twice as much as fits, cached at once, so that all that may be reassigned is.
  for (int i = 0; i < 12; ++i) {
    if (const CheckpointId id = h.checkpoint(); id.present()) {
      CHECK(id != state);
      for (const std::int32_t page : h.o.pages(id)) CHECK_FALSE(mine.contains(page));
      h.cached(id);
    }
    if (const BlockId id = h.block(); id.present()) {
      CHECK(id != block);
      if (h.layout.pools == 1)
        for (const std::int32_t page : h.o.pages(id)) CHECK_FALSE(mine.contains(page));
      h.cached(id);
    }
    for (const Evicted& eviction : h.evicted) {
      CHECK(eviction != evicted_checkpoint(state));
      CHECK(eviction != evicted_checkpoint(state, true));
      CHECK(eviction != evicted_block(block));
    }
  }
  CHECK(list(h.o.pages(state)) == pages);
  CHECK(list(h.o.lines(state)) == lines);
  CHECK(list(h.o.pages(block)) == block_pages);
  CHECK(h.o.references(state) == 1);
  CHECK(audit(h.o).empty());
}

TEST_CASE_TEMPLATE(
    "P2 protect everything touched: every reference protects, the last release ends it", O,
    ORGANIZATIONS) {
  Harness<O> h(0, 1);
  const CheckpointId state = h.checkpoint();
  h.o.reference(state);
  CHECK(h.o.references(state) == 2);
  CHECK(h.o.release(state, true) == Released::still_referenced);
  CHECK_FALSE(h.o.cached(state));
  CHECK(h.available(StateKind::recurrent) == 0);
  CHECK_FALSE(h.checkpoint().present());
  CHECK(h.o.release(state, true) == Released::cached);
  CHECK(h.available(StateKind::recurrent) == h.counts(StateKind::recurrent).units);
  h.o.reference(state);  // an adopted one leaves reclaim
  CHECK_FALSE(h.o.cached(state));
  CHECK(h.available(StateKind::recurrent) == 0);
  CHECK_FALSE(h.checkpoint().present());
  h.o.release(state, true);
  CHECK(h.checkpoint() == state);
  CHECK(h.evicted.size() == 1);
}

TEST_CASE_TEMPLATE("P3 invalidate before reuse: who loses storage is told before any unit moves", O,
                   ORGANIZATIONS) {
  Harness<O> h(2, 2);
  for (int i = 0; i < 2; ++i) h.cached(h.checkpoint());
  for (int i = 0; i < 2; ++i) h.cached(h.block());
  const auto before = snapshot(h.o);
  std::set<std::size_t> told;
  const auto check_untouched = [&](const Eviction& eviction) {
    const std::size_t at = static_cast<std::size_t>(eviction.index) +
                           (eviction.kind == StateKind::attention ? 0 : h.o.block_capacity());
    CHECK(snapshot(h.o)[at] == before[at]);
    CHECK(told.insert(at).second);  // once
  };
  for (int i = 0; i < 2; ++i) {
    CHECK(h.o.allocate_checkpoint(check_untouched).present());
    CHECK(h.o.allocate_block(check_untouched).present());
  }
  CHECK(told.size() == 4);
}

TEST_CASE_TEMPLATE("P3 invalidate before reuse: the rest of an invalidated object is free at once",
                   O, ORGANIZATIONS) {
  Harness<O> h(2, 2);
  const PoolCounts recurrent = h.counts(StateKind::recurrent);
  const CheckpointId state = h.cached(h.checkpoint());
  h.o.invalidate(state);
  CHECK(h.counts(StateKind::recurrent) == recurrent);
  CHECK_FALSE(h.o.cached(state));
  const PoolCounts attention = h.counts(StateKind::attention);
  const BlockId block = h.cached(h.block());
  h.o.invalidate(block);
  CHECK(h.counts(StateKind::attention) == attention);
  CHECK_FALSE(h.o.cached(block));
  CHECK(audit(h.o).empty());
}

TEST_CASE_TEMPLATE(
    "P3 invalidate before reuse: a referenced or absent object cannot be invalidated", O,
    ORGANIZATIONS) {
  Harness<O> h(2, 2);
  const CheckpointId state = h.checkpoint();
  const BlockId block = h.block();
  CHECK(violation_of([&] { h.o.invalidate(state); }));
  CHECK(violation_of([&] { h.o.invalidate(block); }));
  h.cached(state);
  h.cached(block);
  h.o.invalidate(state);
  h.o.invalidate(block);
  CHECK(violation_of([&] { h.o.invalidate(block); }));
  CHECK(violation_of([&] { h.o.release(block, true); }));
  CHECK(violation_of([&] { h.o.reference(block); }));
}

TEST_CASE_TEMPLATE("P4 zero is a place: all units of a pool are handed out, page zero among them",
                   O, ORGANIZATIONS) {
  Harness<O> h(3, 2);
  const auto [blocks, checkpoints] = fill(h);
  for (std::uint8_t i = 0; i < h.layout.pools; ++i) CHECK(h.o.counts(i).free == 0);
  CHECK(std::ranges::any_of(checkpoints,
                            [&](CheckpointId id) { return touched(h.o, id).contains(0); }));
  if (h.layout.pools == 2)
    CHECK(std::ranges::any_of(blocks, [&](BlockId id) { return h.o.pages(id)[0] == 0; }));
  CHECK(audit(h.o).empty());
}

TEST_CASE_TEMPLATE("P5 all or nothing: a refused allocation changes nothing", O, ORGANIZATIONS) {
  Harness<O> h(2, 2);
  // Everything referenced but one block and what it stands for.
  const auto [blocks, checkpoints] = fill(h);
  for (const bool one_checkpoint_cached : {false, true}) {
    CAPTURE(one_checkpoint_cached);
    if (one_checkpoint_cached && h.layout.pools == 1) {
      // Free one unit, less than a checkpoint takes (but for CoarsePages, where it is enough).
      if (h.layout.units_per_checkpoint() == 1 || blocks.empty()) continue;
      h.cached(blocks.front());
    }
    const auto before = snapshot(h.o);
    const PoolCounts first = h.o.counts(0);
    const PoolCounts second = h.o.counts(1);
    CHECK_FALSE(h.predicts({0, 1}));
    CHECK_FALSE(h.checkpoint().present());
    if (!one_checkpoint_cached) CHECK_FALSE(h.block().present());
    CHECK(h.evicted.empty());
    CHECK(snapshot(h.o) == before);
    CHECK(h.o.counts(0) == first);
    CHECK(h.o.counts(1) == second);
  }
}

TEST_CASE_TEMPLATE(
    "P6 counted once: the counts are the units of the objects, unused space included", O,
    ORGANIZATIONS) {
  Harness<O> h(6, 4);
  std::vector<CheckpointId> states;
  std::vector<BlockId> blocks;
  for (int i = 0; i < 4; ++i) states.push_back(h.checkpoint());
  for (int i = 0; i < 6; ++i) blocks.push_back(h.block());
  h.cached(states[1]);
  h.cached(blocks[0]);
  h.o.reference(states[0]);  // a second reference counts no unit again
  const std::uint64_t slabs = h.o.slab_pool() != nullptr ? h.o.slab_pool()->slabs() : 0;
  const StorageCost cost = storage_cost(h.layout, {6, 4, slabs});
  const auto used = [&](StateKind kind) { return h.counts(kind).units - h.counts(kind).free; };
  if (h.layout.pools == 2) {
    CHECK(used(StateKind::attention) == cost.attention_units);
    CHECK(used(StateKind::recurrent) == cost.recurrent_units());
  } else {
    CHECK(used(StateKind::attention) == cost.units());
  }
  const std::uint32_t cached_units = h.layout.units_per_checkpoint();
  CHECK(h.counts(StateKind::recurrent).cached ==
        cached_units + (h.layout.pools == 1 ? h.layout.units_per_block : 0));
  for (std::uint8_t i = 0; i < h.layout.pools; ++i) {
    const PoolCounts counts = h.o.counts(i);
    CHECK(counts.free + counts.cached + counts.referenced == counts.units);
  }
  CHECK(audit(h.o).empty());
}

TEST_CASE_TEMPLATE("P7 one order by last release: a used object moves to the end", O,
                   ORGANIZATIONS) {
  Harness<O> h(0, 3);
  std::vector<CheckpointId> states;
  for (int i = 0; i < 3; ++i) states.push_back(h.checkpoint());
  for (const std::size_t i : {2U, 0U, 1U}) h.cached(states[i]);
  h.o.reference(states[2]);
  h.o.release(states[2], true);
  for (const std::size_t next : {0U, 1U, 2U}) {
    h.evicted.clear();
    REQUIRE(h.checkpoint().present());
    CHECK(h.evicted == Evictions{evicted_checkpoint(states[next])});
  }
}

TEST_CASE_TEMPLATE("P7 one order by last release: blocks and checkpoints of a pool in one order", O,
                   ORGANIZATIONS) {
  Harness<O> h(2, 2);
  if (h.layout.pools == 2) {
    // Two pools, two orders: attention never takes from the recurrent side.
    const CheckpointId state = h.cached(h.checkpoint());
    std::vector<BlockId> blocks{h.cached(h.block()), h.cached(h.block())};
    CHECK(h.block().present());
    CHECK(h.evicted == Evictions{evicted_block(blocks[0])});
    CHECK(h.o.cached(state));
    return;
  }
  const CheckpointId running = h.checkpoint();
  const CheckpointId state = h.checkpoint();
  const BlockId first = h.block();
  const BlockId second = h.block();
  while (h.block().present()) {
  }
  h.cached(first);
  h.cached(state);
  h.cached(second);
  CHECK(h.block() == first);
  CHECK(h.evicted == Evictions{evicted_block(first)});
  h.evicted.clear();
  CHECK(h.block().present());
  CHECK(h.evicted == Evictions{evicted_checkpoint(state)});
  h.evicted.clear();
  // The other units of the checkpoint are used up before the second block goes.
  for (std::uint32_t i = 1; i < h.layout.units_per_checkpoint(); ++i) CHECK(h.block().present());
  CHECK(h.evicted.empty());
  CHECK(h.block().present());
  CHECK(h.evicted == Evictions{evicted_block(second)});
  CHECK(h.o.references(running) == 1);
}

TEST_CASE_TEMPLATE("P7 one order by last release: what was not needed is the next to be used", O,
                   ORGANIZATIONS) {
  Harness<O> h(3, 2);
  if (h.layout.pools == 2 || h.layout.units_per_checkpoint() == 1) return;  // nothing is left over
  const auto [blocks, checkpoints] = fill(h);
  const Ints pages = list(h.o.pages(checkpoints[0]));
  h.cached(checkpoints[0]);
  for (const std::int32_t page : pages) {
    const BlockId id = h.block();
    REQUIRE(id.present());
    CHECK(h.o.pages(id)[0] == page);
  }
  CHECK(h.evicted.size() == 1);
}

TEST_CASE_TEMPLATE("P8 free order: unpublished units before cached objects, or one queue", O,
                   ORGANIZATIONS) {
  for (const FreeOrder order : {FreeOrder::unpublished_first, FreeOrder::release_order}) {
    CAPTURE(name_of(order));
    Harness<O> h(2, 2, {.free_order = order});
    const auto [blocks, checkpoints] = fill(h);
    const Ints kept = list(h.o.pages(checkpoints[0]));
    const Ints dropped = list(h.o.pages(checkpoints[1]));
    CHECK(h.o.release(checkpoints[0], true) == Released::cached);
    const bool first = order == FreeOrder::unpublished_first;
    CHECK(h.o.release(checkpoints[1], false) == (first ? Released::dropped : Released::cached));
    const Ints expected = first ? dropped : kept;
    CHECK(list(h.o.pages(h.checkpoint())) == expected);
    CHECK(h.evicted == (first ? Evictions{} : Evictions{evicted_checkpoint(checkpoints[0])}));
    h.evicted.clear();
    CHECK(h.o.release(blocks[0], true) == Released::cached);
    CHECK(h.o.release(blocks[1], false) == (first ? Released::dropped : Released::cached));
    CHECK(h.block().present());
    const auto dropped_first = Evictions{};
    // In one queue of a shared pool the unpublished checkpoint is the oldest.
    const auto queued = h.layout.pools == 2 ? Evictions{evicted_block(blocks[0])}
                                            : Evictions{evicted_checkpoint(checkpoints[1])};
    CHECK(h.evicted == (first ? dropped_first : queued));
    CHECK(audit(h.o).empty());
  }
}

TEST_CASE_TEMPLATE("P9 the admission count is what adopting and allocating take", O,
                   ORGANIZATIONS) {
  Harness<O> h(6, 4);
  std::vector<BlockId> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(h.block());
  h.cached(blocks[0]);
  h.cached(blocks[2]);
  const CheckpointId state = h.cached(h.checkpoint());
  const PoolUnits need = h.o.needed({2, 1}, blocks, state);
  PoolUnits before{};
  for (std::uint8_t i = 0; i < h.layout.pools; ++i)
    before[i] = h.o.counts(i).free + h.o.counts(i).cached;
  for (const BlockId id : blocks) h.o.reference(id);
  h.o.reference(state);
  CHECK(h.block().present());
  CHECK(h.block().present());
  CHECK(h.checkpoint().present());
  for (std::uint8_t i = 0; i < h.layout.pools; ++i)
    CHECK(before[i] - need[i] == h.o.counts(i).free + h.o.counts(i).cached);
  CHECK(h.o.needed({}, std::span<const BlockId>{}, {}) == PoolUnits{});
  CHECK(h.o.needed({}, blocks, state) == PoolUnits{});  // referenced already
}

TEST_CASE_TEMPLATE("P9 the admission count decides: exactly what it finds possible can be had", O,
                   ORGANIZATIONS) {
  // The match's own units do not pay for the rest: an adopted object is no victim.
  for (const std::uint32_t extra : {0U, 1U}) {
    CAPTURE(extra);
    const OrganizationLayout layout = organization_of(O::kind);
    PoolUnits units = units_for(layout, 1, 1);
    units[0] += layout.pools == 1 ? layout.units_per_block * extra : extra;
    Harness<O> h(layout, units);
    const CheckpointId state = h.cached(h.checkpoint());
    const std::vector<BlockId> match{h.cached(h.block())};
    CHECK(h.predicts({1, 0}));
    CHECK(h.predicts({1, 0}, match, state) == (extra == 1));
    if (extra == 0) CHECK_FALSE(h.predicts({0, 1}, match, state));
    h.o.reference(match[0]);
    h.o.reference(state);
    CHECK(h.block().present() == (extra == 1));
    CHECK(h.evicted.empty());
  }
}

TEST_CASE_TEMPLATE("P10 identical sequences give identical ids, wherever the memory lies", O,
                   ORGANIZATIONS) {
  const auto sequence = [](Harness<O>& h) {
    Ints trace;
    std::uint32_t random = 1;
    std::vector<CheckpointId> states;
    std::vector<BlockId> blocks;
    for (int i = 0; i < 400; ++i) {
      random = random * 1'664'525U + 1'013'904'223U;
      const std::uint32_t choice = random >> 16U;
      if (choice % 4 == 0) {
        states.push_back(h.checkpoint());
        trace.push_back(states.back().value());
        if (!states.back().present())
          states.pop_back();
        else
          for (const auto part : {h.o.pages(states.back()), h.o.lines(states.back())})
            trace.insert(trace.end(), part.begin(), part.end());
      } else if (choice % 4 == 1) {
        blocks.push_back(h.block());
        trace.push_back(blocks.back().value());
        if (!blocks.back().present())
          blocks.pop_back();
        else
          trace.push_back(h.o.pages(blocks.back())[0]);
      } else if (choice % 4 == 2 && !states.empty()) {
        h.o.release(states[choice / 4 % states.size()], choice % 8 != 2);
        states.erase(states.begin() + static_cast<std::ptrdiff_t>(choice / 4 % states.size()));
      } else if (choice % 4 == 3 && !blocks.empty()) {
        h.o.release(blocks[choice / 4 % blocks.size()], choice % 8 != 3);
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(choice / 4 % blocks.size()));
      }
    }
    for (const Evicted& eviction : h.evicted) trace.push_back(eviction.index);
    h.evicted.clear();
    return trace;
  };
  for (const SlotPlacement placement : {SlotPlacement::fullest, SlotPlacement::fifo}) {
    const OrganizationOptions options{.slot_placement = placement};
    Harness<O> one(8, 6, options);
    const Ints trace = sequence(one);
    CHECK(trace.size() > 400);
    std::pmr::monotonic_buffer_resource elsewhere;
    Harness<O> two(one.layout, one.units, options, &elsewhere);
    CHECK(sequence(two) == trace);
    one.o.reset();
    CHECK(sequence(one) == trace);
  }
}

TEST_CASE_TEMPLATE("reset gives back everything", O, ORGANIZATIONS) {
  Harness<O> h(4, 3);
  fill(h);
  h.o.reset();
  for (std::uint8_t i = 0; i < h.layout.pools; ++i)
    CHECK(h.o.counts(i) == PoolCounts{static_cast<std::uint32_t>(h.units[i]),
                                      static_cast<std::uint32_t>(h.units[i]), 0, 0});
  CHECK(audit(h.o).empty());
  CHECK(h.checkpoint() == CheckpointId{0});
  CHECK(h.block() == BlockId{0});
}

TEST_CASE_TEMPLATE("no step allocates after construction", O, ORGANIZATIONS) {
  for (const SlotPlacement placement : {SlotPlacement::fullest, SlotPlacement::fifo})
    for (const SlabOrder order : {SlabOrder::last_release, SlabOrder::creation}) {
      FrozenMemory memory;
      const OrganizationLayout layout = organization_of(O::kind, nemotron_numbers);
      O o(layout, units_for(layout, 8, 5), {.slab_order = order, .slot_placement = placement},
          &memory);
      memory.freeze();
      const auto ignore = [](const Eviction&) {};
      for (int i = 0; i < 40; ++i) {
        const CheckpointId state = o.allocate_checkpoint(ignore);
        const BlockId block = o.allocate_block(ignore);
        REQUIRE(state.present());
        REQUIRE(block.present());
        CHECK(o.needed({1, 1}, {&block, 1}, state)[0] > 0);
        o.release(state, i % 3 != 0);
        o.release(block, i % 3 != 1);
        if (i % 5 == 0 && o.cached(state)) o.invalidate(state);
        if (i % 7 == 0 && o.cached(state)) {
          o.reference(state);
          o.release(state, true);
        }
      }
      o.reset();
    }
}

TEST_CASE_TEMPLATE("an empty pool refuses everything and promises nothing", O, ORGANIZATIONS) {
  Harness<O> h(organization_of(O::kind), PoolUnits{});
  CHECK_FALSE(h.block().present());
  CHECK_FALSE(h.checkpoint().present());
  CHECK_FALSE(h.predicts({1, 0}));
  CHECK_FALSE(h.predicts({0, 1}));
  CHECK(h.predicts({}));
  CHECK(h.o.block_capacity() == 0);
  CHECK(h.o.checkpoint_capacity() == 0);
  h.o.reset();
  CHECK(audit(h.o).empty());
}

TEST_CASE_TEMPLATE("a model without attention layers has checkpoints and no blocks", O,
                   ORGANIZATIONS) {
  for (const char* model : {"codestral-mamba-7b", "rwkv-7-0.4b"}) {
    CAPTURE(model);
    const OrganizationLayout layout = preset_organization(O::kind, model);
    CHECK(layout.units_per_block == 0);
    Harness<O> h(layout, units_for(layout, 0, 3));
    CHECK(h.o.block_capacity() == 0);
    CHECK_FALSE(h.block().present());
    std::vector<CheckpointId> states;
    for (int i = 0; i < 3; ++i) states.push_back(h.checkpoint());
    CHECK(states.back().present());
    CHECK_FALSE(h.checkpoint().present());
    CHECK(audit(h.o).empty());
    h.cached(states[1]);
    CHECK(h.checkpoint().present());
    CHECK(h.evicted == Evictions{evicted_checkpoint(states[1])});
    CHECK(audit(h.o).empty());
  }
}

TEST_CASE_TEMPLATE("a model without convolution has no lines", O, ORGANIZATIONS) {
  const OrganizationLayout layout = preset_organization(O::kind, "minimax-text-01");
  CHECK(layout.lines_per_checkpoint == 0);
  CHECK(layout.conv_units == 0);
  Harness<O> h(layout, units_for(layout, 3, 2));
  const auto [blocks, checkpoints] = fill(h);
  CHECK(checkpoints.size() >= 2);
  for (const CheckpointId id : checkpoints) CHECK(h.o.lines(id).empty());
  for (const CheckpointId id : checkpoints) h.cached(id);
  CHECK(h.checkpoint() == checkpoints.front());
  CHECK(audit(h.o).empty());
}

TEST_CASE_TEMPLATE("a model whose state is convolution alone is kept like any other", O,
                   ORGANIZATIONS) {
  const OrganizationLayout layout = preset_organization(O::kind, "lfm2-1.2b");
  CHECK(layout.lines_per_checkpoint > 0);
  Harness<O> h(layout, units_for(layout, 3, 2));
  std::vector<CheckpointId> states{h.checkpoint(), h.checkpoint()};
  CHECK(states.back().present());
  for (const CheckpointId id : states) {
    CHECK(h.o.lines(id).size() == layout.lines_per_checkpoint);
    h.cached(id);
    CHECK(h.o.cached(id));
  }
  h.o.invalidate(states[0]);
  h.o.reference(states[1]);
  CHECK(audit(h.o).empty());
  h.o.release(states[1], false);
  CHECK_FALSE(h.o.cached(states[1]));
  for (std::uint8_t i = 0; i < layout.pools; ++i) CHECK(h.o.counts(i).free == h.o.counts(i).units);
}

TEST_CASE_TEMPLATE("a layout of another organization is a breach of contract", O, ORGANIZATIONS) {
  const OrganizationKind other = O::kind == OrganizationKind::coarse_pages
                                     ? OrganizationKind::slab_packed
                                     : OrganizationKind::coarse_pages;
  CHECK(violation_of([&] {
    const O o(organization_of(other), PoolUnits{8, 8}, OrganizationOptions{},
              std::pmr::get_default_resource());
  }));
}

TEST_CASE_TEMPLATE("table D-1 complete checkpoint: a partial hit is not a complete one", O,
                   ORGANIZATIONS) {
  // Take one unit away from each of two cached checkpoints in turn: each is lost as a whole.
  Harness<O> h(1, 2);
  const std::vector<CheckpointId> states{h.cached(h.checkpoint()), h.cached(h.checkpoint())};
  while (h.evicted.size() < 2) {
    const bool taken =
        h.layout.pools == 1 && h.evicted.empty() ? h.block().present() : h.checkpoint().present();
    REQUIRE(taken);
    for (const CheckpointId id : states)
      if (h.o.cached(id)) {
        CHECK(h.o.pages(id).size() == h.layout.units_per_checkpoint());
        CHECK(h.o.lines(id).size() == h.layout.lines_per_checkpoint);
      }
    CHECK(audit(h.o).empty());
  }
  CHECK(h.evicted == Evictions{evicted_checkpoint(states[0]), evicted_checkpoint(states[1])});
}

TEST_CASE_TEMPLATE("table D-1 protected access: the last release and physical reuse are two events",
                   O, ORGANIZATIONS) {
  Harness<O> h(0, 1);
  const CheckpointId state = h.checkpoint();
  const std::set<std::int32_t> units = touched(h.o, state);
  h.o.release(state, true);
  CHECK(touched(h.o, state) == units);  // released: whole, findable, not yet reused
  CHECK(h.evicted.empty());
  const CheckpointId next = h.checkpoint();
  CHECK(h.evicted == Evictions{evicted_checkpoint(state)});
  CHECK(touched(h.o, next) == units);
}

TEST_CASE_TEMPLATE("table D-1 invalidate before reuse: no cached checkpoint has a reassigned unit",
                   O, ORGANIZATIONS) {
  for (const SlabOrder order : {SlabOrder::last_release, SlabOrder::creation}) {
    Harness<O> h(4, 6, {.slab_order = order});
    std::set<std::int32_t> findable;
    const auto forget = [&](const Eviction& eviction) {
      if (eviction.kind == StateKind::recurrent) CHECK(findable.erase(eviction.index) == 1);
    };
    for (int i = 0; i < 30; ++i) {
      const CheckpointId state = h.o.allocate_checkpoint(forget);
      REQUIRE(state.present());
      h.o.release(state, true);
      findable.insert(state.value());
      if (const BlockId block = h.o.allocate_block(forget); block.present())
        h.o.release(block, i % 2 == 0);
      for (const std::int32_t id : findable) CHECK(h.o.cached(CheckpointId{id}));
      const std::string finding = audit(h.o);  // no unit has two owners
      CHECK_MESSAGE(finding.empty(), finding);
    }
  }
}

TEST_CASE_TEMPLATE("table D-1 valid location or absence: zero is a location, absence is negative",
                   O, ORGANIZATIONS) {
  Harness<O> h(0, 1);
  const CheckpointId none = CheckpointId::absent();
  CHECK(none.value() < 0);
  const CheckpointId state = h.checkpoint();
  CHECK(state.value() == 0);
  CHECK(touched(h.o, state).contains(0));
  if (h.layout.lines_per_checkpoint > 0 && h.layout.units_per_checkpoint() == 1)
    CHECK(h.o.lines(state)[0] == 0);
  CHECK(h.checkpoint() == none);
  CHECK(violation_of([&] { static_cast<void>(h.o.pages(none)); }));
}
