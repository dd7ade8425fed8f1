#include "hybridmem/core/config.hpp"

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

#include "hybridmem/core/ids.hpp"
#include "hybridmem/core/index_list.hpp"

TEST_CASE("the check level is one of four") {
  static_assert(HYBRIDMEM_CHECK_LEVEL >= 0 && HYBRIDMEM_CHECK_LEVEL <= 3);
  CHECK(HYBRIDMEM_CHECK_LEVEL >= 0);
}

TEST_CASE("the namespace of behaviour names the check level") {
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
  const std::string expected = "check" + std::to_string(HYBRIDMEM_CHECK_LEVEL);
  CHECK(TEXT(HYBRIDMEM_CHECK_NAMESPACE) == expected);
}

TEST_CASE("behaviour lies in the check namespace and plain data does not") {
  namespace version = hybridmem::HYBRIDMEM_VERSION_NAMESPACE;
  static_assert(std::is_same_v<version::HYBRIDMEM_CHECK_NAMESPACE::IndexList<hybridmem::PageId>,
                               hybridmem::IndexList<hybridmem::PageId>>);
  static_assert(std::is_same_v<version::PageId, hybridmem::PageId>);
  CHECK(sizeof(version::ListLink) == sizeof(hybridmem::ListLink));
}

TEST_CASE("on the host the device mark is empty") {
#define TEXT_OF_MARK(x) TEXT_OF(x)
  CHECK(std::string(TEXT_OF_MARK(HYBRIDMEM_HOST_DEVICE)).empty());
}
