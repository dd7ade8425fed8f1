#include "hybridmem/prefix/slot_table.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <set>
#include <utility>
#include <vector>

using hybridmem::SlotTable;

namespace {

// A table next to the truth: hash i belongs to entry i.
struct Checked {
  explicit Checked(std::vector<std::uint64_t> hashes)
      : hash(std::move(hashes)), table(hash.size(), std::pmr::get_default_resource()) {}

  bool holds(std::int32_t number) const {
    return table.find(hash[static_cast<std::size_t>(number)],
                      [&](std::int32_t other) { return other == number; }) == number;
  }
  void toggle(std::int32_t number) {
    const std::uint64_t own = hash[static_cast<std::size_t>(number)];
    const auto hash_of = [this](std::int32_t other) {
      // Only entries that are there are asked for.
      RC_ASSERT(present.count(other) == 1);
      return hash[static_cast<std::size_t>(other)];
    };
    if (present.count(number) == 1) {
      table.erase(own, number, hash_of);
      present.erase(number);
    } else {
      present.insert(number);
      const auto is_key = [&](std::int32_t other) { return other == number; };
      RC_ASSERT(table.find_or_insert(own, number, is_key, hash_of) == SlotTable::none);
    }
  }
  void check() const {
    std::size_t taken = 0;
    for (std::size_t slot = 0; slot < table.slots(); ++slot)
      taken += table.at(slot) != SlotTable::none ? 1U : 0U;
    RC_ASSERT(taken == present.size());
    for (std::size_t i = 0; i < hash.size(); ++i) {
      const auto number = static_cast<std::int32_t>(i);
      RC_ASSERT(holds(number) == (present.count(number) == 1));
    }
  }

  std::vector<std::uint64_t> hash;
  SlotTable table;
  std::set<std::int32_t> present;
};

void toggle_at_random(Checked& checked, int steps) {
  for (int step = 0; step < steps; ++step) {
    checked.toggle(
        static_cast<std::int32_t>(*rc::gen::inRange<std::size_t>(0, checked.hash.size())));
    checked.check();
  }
}

}  // namespace

TEST_CASE("slots are a power of two that leaves a third free") {
  CHECK(SlotTable::slots_for(0) == 1);
  CHECK(SlotTable::slots_for(1) == 2);
  for (std::size_t capacity = 1; capacity < 5000; ++capacity) {
    const std::size_t slots = SlotTable::slots_for(capacity);
    CHECK((slots & (slots - 1)) == 0);
    CHECK(3 * (slots - 1) >= 2 * capacity);
    CHECK(slots > capacity);
    CHECK(slots <= 3 * capacity + 2);
  }
}

TEST_CASE("a table holds what was put in and not removed, for hashes of any spread") {
  CHECK(rc::check([] {
    const auto capacity = *rc::gen::inRange<std::size_t>(1, 40);
    // Few distinct hashes, at the ends of the table and in between, and tags that coincide.
    const auto hash = rc::gen::map(
        rc::gen::pair(rc::gen::inRange<std::uint64_t>(0, 8), rc::gen::inRange<std::uint64_t>(0, 3)),
        [](const auto& parts) { return parts.first << 61U | parts.second << 40U; });
    Checked checked(*rc::gen::container<std::vector<std::uint64_t>>(
        capacity, rc::gen::oneOf(hash, rc::gen::arbitrary<std::uint64_t>(),
                                 rc::gen::just(~std::uint64_t{0}))));
    toggle_at_random(checked, 60);
  }));
}

TEST_CASE("entries farther from their homes than tags can tell are kept and found") {
  // 300 entries in 512 slots, two thirds of them at one of two neighbouring homes; tags count
  // to 63.
  std::uint64_t random = 1;
  const auto draw = [&](std::uint64_t below) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return (random >> 33U) % below;
  };
  std::vector<std::uint64_t> hashes(300);
  for (std::size_t i = 0; i < hashes.size(); ++i)
    hashes[i] = (i % 3 == 0 ? draw(512) : 400 + i % 3) << 55U | i % 5 << 40U;
  Checked checked(hashes);
  REQUIRE(checked.table.slots() == 512);
  for (std::int32_t i = 0; i < 300; ++i) checked.toggle(i);
  checked.check();
  for (int step = 0; step < 4000; ++step) {
    checked.toggle(static_cast<std::int32_t>(draw(300)));
    if (step % 10 == 0) checked.check();
  }
  while (!checked.present.empty()) checked.toggle(*checked.present.begin());
  checked.check();
  checked.table.clear();
  for (std::int32_t i = 0; i < 300; i += 2) checked.toggle(i);
  checked.check();
}

TEST_CASE("the first entries that are farther than tags can tell are kept and found") {
  // 64 entries of one home reach as far as tags count. More of them go beyond, and some of the home
  // before push them there.
  for (const std::size_t pushing : {0U, 4U}) {
    std::vector<std::uint64_t> hashes(68, std::uint64_t{64} << 57U);
    for (std::size_t i = 68 - pushing; i < 68; ++i) hashes[i] = std::uint64_t{63} << 57U;
    Checked checked(hashes);
    REQUIRE(checked.table.slots() == 128);
    for (std::int32_t i = 0; i < 68; ++i) {
      checked.toggle(i);
      checked.check();
    }
    for (std::int32_t i = 67; i >= 0; i -= 3) {
      checked.toggle(i);
      checked.check();
    }
  }
}

TEST_CASE("an entry can take the place of another of the same hash") {
  Checked checked({7U << 20U, 7U << 20U, 9U << 20U});
  checked.toggle(0);
  checked.toggle(2);
  checked.table.replace(checked.hash[0], 0, 1);
  checked.present = {1, 2};
  checked.check();
}
