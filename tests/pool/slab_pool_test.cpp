#include "hybridmem/pool/slab_pool.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <map>
#include <memory_resource>
#include <set>
#include <vector>

#include "support/frozen_memory.hpp"
#include "violations.hpp"

using namespace hybridmem;
using hybridmem_test::FrozenMemory;
using hybridmem_test::violation_of;

namespace {

using Lines = std::vector<std::int32_t>;

struct Setup {
  std::uint32_t pages = 8;
  std::uint32_t slots = 4;
  SlotPlacement placement = SlotPlacement::fullest;
  SlabOrder order = SlabOrder::last_release;
  std::uint32_t max_slabs = 0;  // 0: as many as pages
};

/// Slabs over a page pool; object 0 is a plain page, slabs follow. The owner of a slot is a number
/// of the test's own.
struct Slabs {
  explicit Slabs(const Setup& setup,
                 std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : max_slabs(setup.max_slabs == 0 ? setup.pages : setup.max_slabs),
        pool({.pages = setup.pages, .objects = 1 + max_slabs, .stamped = max_slabs}, memory),
        slabs({.slots_per_slab = setup.slots,
               .max_slabs = max_slabs,
               .first_object = 1,
               .placement = setup.placement,
               .order = setup.order},
              setup.pages, memory) {}

  std::int32_t take(std::int32_t owner = 0, SlabUse use = SlabUse::as_placed) {
    return slabs
        .take(pool, owner, use,
              [this](ObjectId victim) {
                victims.push_back(victim.value());
                if (victim.value() == 0) return pool.give_back(victim, {&plain, 1});
                while (!pool.absent(victim)) free(any_line(victim));
              })
        .value();
  }
  Lines take_many(std::uint32_t count, SlabUse use = SlabUse::as_placed) {
    Lines lines;
    for (std::uint32_t i = 0; i < count; ++i)
      lines.push_back(take(static_cast<std::int32_t>(i), use));
    return lines;
  }
  void reference(std::int32_t line) { slabs.reference(pool, LineId{line}); }
  void release(std::int32_t line) { slabs.release(pool, LineId{line}); }
  void free(std::int32_t line) { slabs.free(pool, LineId{line}); }
  std::int32_t any_line(ObjectId slab) const {
    const auto slots = static_cast<std::int32_t>(slabs.slots_per_slab());
    for (std::int32_t slot = 0; slot < slots; ++slot)
      if (slabs.owner(LineId{slabs.page_of(slab) * slots + slot}) >= 0)
        return slabs.page_of(slab) * slots + slot;
    return -1;
  }
  /// Takes and caches the plain page.
  void cache_page() {
    REQUIRE(pool.take(ObjectId{0}, {&plain, 1}, [](ObjectId) {}));
    pool.release(ObjectId{0}, true);
  }
  std::uint32_t demand(std::uint32_t slots, SlabUse use = SlabUse::as_placed,
                       const Lines& adopted = {}) const {
    return slabs.demand(pool, adopted, slots, use).total();
  }

  std::uint32_t max_slabs;
  PagePool pool;
  SlabPool slabs;
  std::int32_t plain = -1;
  std::vector<std::int32_t> victims;
};

}  // namespace

TEST_CASE("no slot before the first is taken, none after the last is freed") {
  Slabs s({});
  CHECK(s.slabs.slabs() == 0);
  CHECK(s.slabs.taken_slots() == 0);
  CHECK(s.slabs.owner(LineId{0}) == -1);
  CHECK(s.demand(0) == 0);
  CHECK(s.demand(1) == 1);
  const std::int32_t line = s.take(7);
  CHECK(line == 0);  // P4: zero is a place
  CHECK(s.slabs.slabs() == 1);
  CHECK(s.slabs.owner(LineId{0}) == 7);
  CHECK(s.slabs.owner(LineId{1}) == -1);
  CHECK(s.pool.counts() == PoolCounts{8, 7, 0, 1});
  s.release(line);
  CHECK(s.pool.counts() == PoolCounts{8, 7, 1, 0});
  s.free(line);  // P3: an emptied slab is free at once
  CHECK(s.pool.counts() == PoolCounts{8, 8, 0, 0});
  CHECK(s.slabs.slabs() == 0);
  CHECK(s.slabs.owner(LineId{0}) == -1);
}

TEST_CASE("a line is slots_per_slab times the page, plus the slot") {
  Slabs s({.pages = 3, .slots = 16});
  s.cache_page();
  s.pool.reference(ObjectId{0});  // page 0 is a plain one
  const Lines lines = s.take_many(17);
  for (std::int32_t i = 0; i < 16; ++i) CHECK(lines[static_cast<std::size_t>(i)] == 16 + i);
  CHECK(lines[16] == 32);
  CHECK(s.slabs.page_of(ObjectId{1}) == 1);
  CHECK(s.slabs.page_of(ObjectId{2}) == 2);
  CHECK(s.slabs.page_of(ObjectId{3}) == -1);
  CHECK(s.slabs.is_slab(ObjectId{1}));
  CHECK(s.slabs.is_slab(ObjectId{3}));
  CHECK_FALSE(s.slabs.is_slab(ObjectId{0}));
  CHECK_FALSE(s.slabs.is_slab(ObjectId{4}));
}

TEST_CASE("full to the last slot, and one over") {
  for (const SlotPlacement placement : {SlotPlacement::fullest, SlotPlacement::fifo}) {
    CAPTURE(name_of(placement));
    Slabs s({.pages = 2, .slots = 3, .placement = placement});
    const Lines lines = s.take_many(6);
    CHECK(std::set<std::int32_t>(lines.begin(), lines.end()).size() == 6);
    CHECK(s.slabs.taken_slots() == 6);
    CHECK(s.take() == -1);
    CHECK(s.slabs.taken_slots() == 6);
    CHECK(s.pool.counts() == PoolCounts{2, 0, 0, 2});
    CHECK(s.victims.empty());
    CHECK(s.demand(1) == 1);
    s.release(lines[4]);
    s.free(lines[4]);
    CHECK(s.demand(1) == 0);
    CHECK(s.take() == lines[4]);
  }
}

TEST_CASE("no more slabs than agreed, though pages are free") {
  Slabs s({.pages = 5, .slots = 2, .max_slabs = 2});
  s.take_many(4);
  CHECK(s.take() == -1);
  CHECK(s.pool.counts() == PoolCounts{5, 3, 0, 2});
  // Nor is a plain page evicted for one.
  Slabs tight({.pages = 2, .slots = 1, .max_slabs = 1});
  CHECK(tight.take() == 0);
  tight.cache_page();
  CHECK(tight.take() == -1);
  CHECK(tight.victims.empty());
  CHECK(tight.pool.cached(ObjectId{0}));
}

TEST_CASE("when every slab is in use, an idle one is evicted for its page and its number") {
  Slabs s({.pages = 2, .slots = 1});
  const Lines lines = s.take_many(2);
  s.release(lines[0]);
  CHECK(s.take(5) == 0);
  CHECK(s.victims == std::vector<std::int32_t>{1});
  CHECK(s.slabs.owner(LineId{0}) == 5);
}

TEST_CASE("P9 fullest: the fullest referenced slab, then the fullest idle one, then a new page") {
  Slabs s({.pages = 8, .slots = 4});
  const Lines lines = s.take_many(16);  // four full slabs
  const auto free = [&](std::size_t i) {
    s.release(lines[i]);
    s.free(lines[i]);
  };
  free(0);  // slab 0: room 1, referenced
  free(4);  // slab 1: room 2, referenced
  free(5);
  free(8);  // slab 2: room 2, then idle
  free(9);
  s.release(lines[10]);
  s.release(lines[11]);
  free(12);  // slab 3: room 1, then idle
  for (const std::size_t i : {13U, 14U, 15U}) s.release(lines[i]);
  CHECK(s.slabs.referenced_slabs(3) == 1);
  CHECK(s.slabs.referenced_slabs(2) == 1);
  CHECK(s.slabs.idle_slabs(2) == 1);
  CHECK(s.slabs.idle_slabs(3) == 1);
  CHECK(s.demand(3) == 0);
  CHECK(s.demand(4) == 1);  // the idle slab with room for one
  CHECK(s.demand(5) == 2);  // and the one with room for two
  CHECK(s.demand(6) == 2);
  CHECK(s.demand(7) == 3);  // and a new page
  CHECK(s.demand(7, SlabUse::compact) == 1);
  CHECK(s.demand(8, SlabUse::compact) == 2);
  CHECK(s.take() == 0);
  CHECK(s.take() == 4);
  CHECK(s.take() == 5);
  CHECK(s.take() == 12);
  CHECK(s.take() == 8);
  CHECK(s.take() == 9);
  CHECK(s.take() == 16);
  CHECK(s.pool.counts() == PoolCounts{8, 3, 0, 5});
}

TEST_CASE("P9 fullest: ties fall to the lowest page, and the lowest free slot of it") {
  Slabs s({.pages = 8, .slots = 2});
  const Lines lines = s.take_many(6);
  for (const std::size_t i : {4U, 3U, 2U, 0U}) {
    s.release(lines[i]);
    s.free(lines[i]);  // slab 1 is gone; slabs 2 and 0 have one slot free
  }
  CHECK(s.take() == 0);
  CHECK(s.take() == 4);
  CHECK(s.take() == 2);
  s.release(lines[1]);
  s.release(0);
  CHECK(s.demand(1) == 0);  // page 1 is referenced with room
}

TEST_CASE("compact leaves idle slabs alone, under either placement") {
  for (const SlotPlacement placement : {SlotPlacement::fullest, SlotPlacement::fifo}) {
    CAPTURE(name_of(placement));
    Slabs s({.pages = 4, .slots = 4, .placement = placement});
    const std::int32_t idle = s.take(1);
    s.release(idle);
    CHECK(s.take(2, SlabUse::compact) == 4);
    CHECK(s.slabs.idle_slabs(1) == 1);
    CHECK(s.take(3, SlabUse::compact) == 5);
    CHECK(s.slabs.referenced_slabs(2) == 1);
    CHECK(s.pool.counts() == PoolCounts{4, 2, 1, 1});
  }
}

TEST_CASE("P9 fifo: slots go in the order in which they became free") {
  Slabs s({.pages = 4, .slots = 3, .placement = SlotPlacement::fifo});
  const Lines lines = s.take_many(5);
  CHECK(lines == Lines{0, 1, 2, 3, 4});  // slot 5 has been free since the slab was made
  for (const std::int32_t line : {4, 0, 2}) {
    s.release(line);
    s.free(line);
  }
  CHECK(s.take() == 5);
  CHECK(s.take() == 4);
  CHECK(s.take() == 0);
  CHECK(s.take() == 2);
  CHECK(s.take() == 6);
}

TEST_CASE("P9 fifo: an idle slab is activated when its slot is first in turn") {
  Slabs s({.pages = 4, .slots = 2, .placement = SlotPlacement::fifo});
  const Lines lines = s.take_many(4);
  for (const std::int32_t line : {1, 3}) {
    s.release(line);
    s.free(line);
  }
  s.release(0);  // slab 0 is idle, slab 1 referenced
  CHECK(s.demand(1) == 1);
  CHECK(s.demand(2) == 1);
  CHECK(s.demand(3) == 2);
  CHECK(s.demand(1, SlabUse::compact) == 0);
  CHECK(s.demand(2, SlabUse::compact) == 1);
  CHECK(s.demand(2, SlabUse::as_placed, {0}) == 1);
  CHECK(s.take() == 1);
  CHECK(s.slabs.referenced_slabs(2) == 1);
  CHECK(s.pool.counts() == PoolCounts{4, 2, 0, 2});
}

TEST_CASE("a slot that an eviction frees on a slab in use is taken before the page") {
  // Object 0 stands for a state with one page and the slot at line 1.
  struct {
    Setup setup{.pages = 2, .slots = 2};
    Slabs s{setup};
  } t;
  Slabs& s = t.s;
  REQUIRE(s.take(1) == 0);
  REQUIRE(s.take(2) == 1);
  s.release(1);
  s.cache_page();
  const std::int32_t line = s.slabs
                                .take(s.pool, 3, SlabUse::as_placed,
                                      [&](ObjectId victim) {
                                        CHECK(victim == ObjectId{0});
                                        s.pool.give_back(victim, {&s.plain, 1});
                                        s.free(1);
                                      })
                                .value();
  CHECK(line == 1);
  CHECK(s.slabs.slabs() == 1);
  CHECK(s.pool.counts() == PoolCounts{2, 1, 0, 1});
}

TEST_CASE("emptied counts the slots that cached states hold on slabs in use") {
  Slabs s({.pages = 4, .slots = 4});
  s.take_many(8);
  for (const std::int32_t line : {1, 2, 5, 6, 7}) s.release(line);
  CHECK(s.demand(5, SlabUse::compact) == 2);
  CHECK(s.demand(5, SlabUse::emptied) == 0);
  CHECK(s.demand(6, SlabUse::emptied) == 1);
  CHECK(s.demand(4, SlabUse::emptied, {1}) == 0);  // an adopted slot is not given up
  CHECK(s.demand(5, SlabUse::emptied, {1}) == 1);
  s.release(4);  // slab 1 is idle, all of it
  CHECK(s.demand(2, SlabUse::emptied) == 0);
  CHECK(s.demand(3, SlabUse::emptied) == 1);
  CHECK(s.demand(0, SlabUse::emptied, {4}) == 1);
  CHECK(s.demand(5, SlabUse::emptied, {4, 5}) == 2);  // 2 + 2 are to be had; one page more
  CHECK(s.demand(4, SlabUse::emptied, {4, 5}) == 1);
}

TEST_CASE("P2: a slab with a referenced slot is not reclaimed, one without is") {
  Slabs s({.pages = 1, .slots = 3});
  s.take_many(3);
  s.release(0);
  s.release(2);
  CHECK(s.pool.available() == 0);
  CHECK(s.pool.references(ObjectId{1}) == 1);
  s.reference(0);
  s.release(1);
  CHECK(s.pool.available() == 0);
  s.release(0);
  CHECK(s.pool.available() == 1);
  CHECK(s.pool.next_victim() == ObjectId{1});
  CHECK(s.slabs.idle_slabs(3) == 1);
}

TEST_CASE("P8: an idle slab stands where it was last released, or where it was created") {
  for (const SlabOrder order : {SlabOrder::last_release, SlabOrder::creation}) {
    CAPTURE(name_of(order));
    Slabs s({.pages = 4, .slots = 2, .order = order});
    CHECK(s.slabs.order() == order);
    REQUIRE(s.take(1) == 0);
    s.cache_page();
    s.release(0);
    const bool by_creation = order == SlabOrder::creation;
    CHECK(s.pool.next_victim() == ObjectId{by_creation ? 1 : 0});
    s.reference(0);
    CHECK(s.pool.next_victim() == ObjectId{0});
    s.release(0);
    CHECK(s.pool.next_victim() == ObjectId{by_creation ? 1 : 0});
    // A slab that is made anew is created anew.
    s.free(0);
    REQUIRE(s.take(1) == 0);
    s.release(0);
    CHECK(s.pool.next_victim() == ObjectId{0});
  }
}

TEST_CASE("slabs of more than 64 slots") {
  for (const std::uint32_t slots : {63U, 64U, 65U, 128U, 130U}) {
    CAPTURE(slots);
    Slabs s({.pages = 2, .slots = slots});
    const Lines lines = s.take_many(2 * slots);
    for (std::uint32_t i = 0; i < 2 * slots; ++i) {
      REQUIRE(lines[i] == static_cast<std::int32_t>(i));
      REQUIRE(s.slabs.owner(LineId{lines[i]}) == lines[i]);
    }
    CHECK(s.take() == -1);
    CHECK(s.slabs.first_owner(ObjectId{2}) == static_cast<std::int32_t>(slots));
    for (const std::uint32_t i : {slots - 1, slots / 2, 0U}) {
      s.release(lines[i]);
      s.free(lines[i]);
    }
    CHECK(s.slabs.taken_in(ObjectId{1}) == slots - 3);
    CHECK(s.slabs.first_owner(ObjectId{1}) == 1);
    CHECK(s.take(9) == 0);
    CHECK(s.take(9) == static_cast<std::int32_t>(slots / 2));
    CHECK(s.take(9) == static_cast<std::int32_t>(slots - 1));
    // All but the last slot go: the first owner is in the last word.
    for (std::uint32_t i = 0; i + 1 < slots; ++i) {
      s.release(lines[i]);
      s.free(lines[i]);
    }
    CHECK(s.slabs.first_owner(ObjectId{1}) == 9);
    CHECK(s.slabs.referenced_slabs(1) == 1);
  }
}

TEST_CASE("reset forgets every slot") {
  for (const SlotPlacement placement : {SlotPlacement::fullest, SlotPlacement::fifo}) {
    CAPTURE(name_of(placement));
    Slabs s({.pages = 4, .slots = 3, .placement = placement});
    s.take_many(7);
    for (const std::int32_t line : {0, 1, 2, 4}) s.release(line);
    s.free(4);
    s.pool.reset();
    s.slabs.reset();
    CHECK(s.slabs.slabs() == 0);
    CHECK(s.slabs.taken_slots() == 0);
    for (std::uint32_t taken = 0; taken <= 3; ++taken) {
      CHECK(s.slabs.referenced_slabs(taken) == 0);
      CHECK(s.slabs.idle_slabs(taken) == 0);
    }
    for (std::int32_t line = 0; line < 12; ++line) CHECK(s.slabs.owner(LineId{line}) == -1);
    CHECK(s.demand(1) == 1);
    CHECK(s.demand(4, SlabUse::emptied) == 2);
    CHECK(s.take_many(7) == Lines{0, 1, 2, 3, 4, 5, 6});
  }
}

TEST_CASE("misuse of slots is a breach of contract") {
  Slabs s({.pages = 4, .slots = 2});
  const std::int32_t line = s.take();
  CHECK(violation_of([&] { s.free(line + 1); }));  // not taken
  CHECK(violation_of([&] { s.reference(2); }));    // no slab
  CHECK(violation_of([&] { s.release(6); }));      // no slab
  CHECK(violation_of([] { Slabs none({.slots = 0}); }));
  s.release(line);
  s.free(line);
  CHECK(violation_of([&] { s.free(line); }));  // freed twice
}

TEST_CASE("a slab pool does not allocate after construction") {
  for (const SlotPlacement placement : {SlotPlacement::fullest, SlotPlacement::fifo}) {
    FrozenMemory memory;
    Slabs s({.pages = 3, .slots = 70, .placement = placement}, &memory);
    memory.freeze();
    for (int round = 0; round < 2; ++round) {
      for (std::int32_t i = 0; i < 200; ++i) REQUIRE(s.take(i) == i);
      for (std::int32_t i = 0; i < 200; i += 3) {
        s.release(i);
        s.free(i);
      }
      CHECK(s.demand(100) == 1);
      s.pool.reset();
      s.slabs.reset();
    }
  }
}

TEST_CASE("demand is what a replay pays, exactly") {
  struct Replay {
    Setup setup;
    std::vector<std::uint16_t> operations;

    /// The same slabs each time: identical calls give identical lines (P10).
    void onto(Slabs& s, std::set<std::int32_t>& referenced, std::set<std::int32_t>& cached) const {
      for (const std::uint16_t operation : operations) {
        const std::uint32_t pick = operation / 8U;
        const auto line_of = [&](const std::set<std::int32_t>& lines) {
          auto line = lines.begin();
          std::advance(line, pick % lines.size());
          return *line;
        };
        switch (operation % 8) {
          case 0:
          case 1:
          case 2: {
            const auto use = pick % 2 == 0 ? SlabUse::as_placed : SlabUse::compact;
            referenced.insert(s.take(1, use));
            break;
          }
          case 3:
          case 4:
          case 5:
            if (referenced.empty()) break;
            cached.insert(line_of(referenced));
            s.release(line_of(referenced));
            referenced.erase(line_of(referenced));
            break;
          case 6:
            if (cached.empty()) break;
            s.free(line_of(cached));
            cached.erase(line_of(cached));
            break;
          default:
            if (cached.empty()) break;
            referenced.insert(line_of(cached));
            s.reference(line_of(cached));
            cached.erase(line_of(cached));
        }
      }
    }
  };
  CHECK(rc::check("any history", [](std::vector<std::uint16_t> operations, std::uint8_t slots,
                                    std::uint8_t choices) {
    const std::uint32_t per_slab = choices % 16 == 0 ? 70 : 1 + choices / 16U % 7;
    // With a page for every slot nothing is ever evicted.
    const Replay replay{
        {.pages = static_cast<std::uint32_t>(operations.size()) + 300,
         .slots = per_slab,
         .placement = choices % 2 == 0 ? SlotPlacement::fullest : SlotPlacement::fifo},
        std::move(operations)};
    Slabs original(replay.setup);
    std::set<std::int32_t> referenced;
    std::set<std::int32_t> cached;
    replay.onto(original, referenced, cached);
    Lines adopted;
    for (const std::int32_t line : cached)
      if (*rc::gen::inRange(0, 4) == 0) adopted.push_back(line);
    for (const SlabUse use : {SlabUse::as_placed, SlabUse::compact, SlabUse::emptied}) {
      Slabs copy(replay.setup);
      std::set<std::int32_t> same;
      std::set<std::int32_t> left;
      replay.onto(copy, same, left);
      RC_ASSERT(same == referenced);
      const std::uint32_t before = copy.pool.available();
      for (const std::int32_t line : adopted) {
        copy.reference(line);
        left.erase(line);
      }
      const std::uint32_t activated = before - copy.pool.available();
      if (use == SlabUse::emptied)
        for (const std::int32_t line : left) copy.free(line);
      for (std::uint32_t i = 0; i < slots; ++i) RC_ASSERT(copy.take(1, use) >= 0);
      const SlotDemand demand = original.slabs.demand(original.pool, adopted, slots, use);
      RC_ASSERT(demand.activated == activated);
      RC_ASSERT(demand.total() == before - copy.pool.available());
    }
  }));
}
