// Findings are plain data and every kind has a name of its own. (tests/cache/audit_test.cpp shows
// that every kind is found.)
#include "hybridmem/observe/finding.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <type_traits>

using namespace hybridmem;

TEST_CASE("every kind of finding has a name of its own") {
  static_assert(std::is_trivially_copyable_v<Finding>);
  std::set<std::string> names;
  std::uint8_t kind = 0;
  while (std::string(name_of(FindingKind{kind})) != "unknown")
    names.insert(name_of(FindingKind{kind++}));
  CHECK(kind == 11);
  CHECK(names.size() == kind);
  CHECK(names.contains("reference_count"));
}
