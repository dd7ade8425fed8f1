#include "hybridmem/core/strong_id.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <set>
#include <type_traits>
#include <unordered_set>

namespace {

using Id = hybridmem::StrongId<struct TestTag>;

}  // namespace

TEST_CASE("a default id is absent") {
  static_assert(!Id{}.present());
  static_assert(Id{} == Id::absent());
  CHECK(Id{}.value() == -1);
}

TEST_CASE("zero is a place and every negative value is absent") {
  CHECK(Id{0}.present());
  CHECK(Id{0}.index() == 0);
  CHECK(Id{std::numeric_limits<std::int32_t>::max()}.present());
  CHECK(Id{std::numeric_limits<std::int32_t>::max()}.index() == 2'147'483'647);
  CHECK_FALSE(Id{-1}.present());
  CHECK_FALSE(Id{-2}.present());
  CHECK_FALSE(Id{std::numeric_limits<std::int32_t>::min()}.present());
}

TEST_CASE("ids order by their value") {
  CHECK(Id{1} < Id{2});
  CHECK(Id{2} <= Id{2});
  CHECK(Id{-1} < Id{0});
  CHECK(Id{1} != Id{2});
  const std::set<Id> ids{Id{3}, Id{1}, Id{3}};
  CHECK(ids.size() == 2);
  CHECK(*ids.begin() == Id{1});
}

TEST_CASE("equal ids hash equally") {
  CHECK(std::hash<Id>{}(Id{7}) == std::hash<Id>{}(Id{7}));
  const std::unordered_set<Id> ids{Id{3}, Id{1}, Id{3}};
  CHECK(ids.size() == 2);
  CHECK(ids.contains(Id{1}));
  CHECK_FALSE(ids.contains(Id{2}));
}

TEST_CASE("an id is plain data and needs an explicit number") {
  static_assert(std::is_trivially_copyable_v<Id>);
  static_assert(std::is_nothrow_default_constructible_v<Id>);
  static_assert(!std::is_convertible_v<std::int32_t, Id>);
  static_assert(std::is_same_v<Id::value_type, std::int32_t>);
  CHECK(sizeof(Id) == sizeof(std::int32_t));
}
