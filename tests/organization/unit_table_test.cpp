#include "hybridmem/organization/unit_table.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory_resource>

#include "support/frozen_memory.hpp"
#include "violations.hpp"

using hybridmem_test::FrozenMemory;
using hybridmem_test::violation_of;

namespace {

using Id = hybridmem::StrongId<struct ItemTag>;
using Table = hybridmem::UnitTable<Id>;

}  // namespace

TEST_CASE("an empty table has no ids") {
  Table table(0, 3, std::pmr::get_default_resource());
  CHECK(table.capacity() == 0);
  CHECK(table.used() == 0);
  CHECK_FALSE(table.acquire().present());
  CHECK(violation_of([&] { table.release(Id{0}); }));
  CHECK(violation_of([&] { table.units(Id{0}); }));
}

TEST_CASE("ids come lowest first when fresh, then last freed first, until none is left") {
  Table table(3, 1, std::pmr::get_default_resource());
  for (std::int32_t i = 0; i < 3; ++i) CHECK(table.acquire() == Id{i});
  CHECK(table.used() == 3);
  CHECK_FALSE(table.acquire().present());
  CHECK(table.used() == 3);
  table.release(Id{0});
  table.release(Id{2});
  CHECK(table.used() == 1);
  CHECK(table.acquire() == Id{2});
  CHECK(table.acquire() == Id{0});
  CHECK_FALSE(table.acquire().present());
  table.reset();
  CHECK(table.used() == 0);
  CHECK(table.acquire() == Id{0});
}

TEST_CASE("units lie in one array, each id's apart from the others'") {
  Table table(2, 3, std::pmr::get_default_resource());
  CHECK(table.stride() == 3);
  for (const std::int32_t unit : table.units(Id{1})) CHECK(unit == -1);  // absent at first
  for (std::int32_t& unit : table.units(Id{0})) unit = 7;
  CHECK(table.units(Id{0}).size() == 3);
  CHECK(table.units(Id{1}).data() == table.units(Id{0}).data() + 3);
  for (const std::int32_t unit : table.units(Id{1})) CHECK(unit == -1);
  const Table& constant = table;
  CHECK(constant.units(Id{0})[2] == 7);
}

TEST_CASE("objects without units still have ids") {
  Table table(2, 0, std::pmr::get_default_resource());
  CHECK(table.acquire() == Id{0});
  CHECK(table.units(Id{0}).empty());
  CHECK(table.units(Id{1}).empty());
}

TEST_CASE("misuse of a table is a breach of contract") {
  Table table(2, 1, std::pmr::get_default_resource());
  const Table& constant = table;
  CHECK(violation_of([&] { table.units(Id{2}); }));
  CHECK(violation_of([&] { table.units(Id::absent()); }));
  CHECK(violation_of([&] { static_cast<void>(constant.units(Id{2})); }));
  CHECK(violation_of([&] { static_cast<void>(constant.units(Id::absent())); }));
  CHECK(violation_of([&] { table.release(Id{0}); }));  // more frees than ids
}

TEST_CASE("a table does not allocate after construction") {
  FrozenMemory memory;
  Table table(100, 4, &memory);
  CHECK(memory.bytes() == 100 * (4 + 1) * sizeof(std::int32_t));
  memory.freeze();
  for (int i = 0; i < 100; ++i) table.acquire();
  for (std::int32_t i = 0; i < 100; ++i) table.release(Id{i});
  table.reset();
}
