// DemandTable: distinct requesters of a key, up to a limit, of the newest keys.
#include "hybridmem/cache/demand_table.hpp"

#include <doctest/doctest.h>

using namespace hybridmem;

namespace {

constexpr Key key(std::uint64_t n) {
  return {n, n * 3};
}

}  // namespace

TEST_CASE("a requester counts once for a key") {
  DemandTable table(4, 3, std::pmr::get_default_resource());
  CHECK(table.count(key(1)) == 0);
  table.note(key(1), 7);
  table.note(key(1), 7);
  CHECK(table.count(key(1)) == 1);
  table.note(key(1), 8);
  table.note(key(1), 0);
  CHECK(table.count(key(1)) == 3);
  CHECK(table.count(key(2)) == 0);
}

TEST_CASE("no more than the limit are remembered") {
  DemandTable table(4, 2, std::pmr::get_default_resource());
  for (std::uint64_t who = 0; who < 9; ++who) table.note(key(1), who);
  CHECK(table.count(key(1)) == 2);
}

TEST_CASE("a new key takes the place of the one first noted longest ago") {
  DemandTable table(3, 2, std::pmr::get_default_resource());
  for (std::uint64_t n = 1; n <= 3; ++n) table.note(key(n), n);
  table.note(key(1), 9);  // noted again: still the first
  table.note(key(4), 4);
  CHECK(table.count(key(1)) == 0);
  CHECK(table.count(key(2)) == 1);
  CHECK(table.count(key(4)) == 1);
  for (std::uint64_t n = 5; n <= 40; ++n) table.note(key(n), n);
  CHECK(table.count(key(38)) == 1);
  CHECK(table.count(key(37)) == 0);
}

TEST_CASE("clear forgets all, and an empty table takes nothing") {
  DemandTable table(3, 2, std::pmr::get_default_resource());
  table.note(key(1), 1);
  table.clear();
  CHECK(table.count(key(1)) == 0);
  for (std::uint64_t n = 1; n <= 9; ++n) table.note(key(n), n);
  CHECK(table.count(key(9)) == 1);
  DemandTable none(0, 2, std::pmr::get_default_resource());
  none.note(key(1), 1);
  CHECK(none.count(key(1)) == 0);
  DemandTable unlimited(3, 0, std::pmr::get_default_resource());
  unlimited.note(key(1), 1);
  CHECK(unlimited.count(key(1)) == 0);
}
