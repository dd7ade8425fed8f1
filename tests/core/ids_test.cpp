#include "hybridmem/core/ids.hpp"

#include <doctest/doctest.h>

#include <type_traits>

using hybridmem::LineId;
using hybridmem::ObjectId;
using hybridmem::PageId;

TEST_CASE("ids of different kinds do not convert into one another or into numbers") {
  static_assert(!std::is_same_v<PageId, LineId>);
  static_assert(!std::is_convertible_v<PageId, LineId>);
  static_assert(!std::is_constructible_v<PageId, LineId>);
  static_assert(!std::is_constructible_v<ObjectId, PageId>);
  static_assert(!std::is_convertible_v<int, PageId>);
  static_assert(!std::is_convertible_v<PageId, int>);
  CHECK(PageId{3}.value() == 3);
}

TEST_CASE("an id is as small as the number that a device table holds") {
  static_assert(sizeof(PageId) == 4);
  static_assert(sizeof(LineId) == 4);
  static_assert(sizeof(ObjectId) == 4);
  static_assert(sizeof(hybridmem::Tokens) == 4);
  static_assert(std::is_unsigned_v<hybridmem::Tokens>);
}
