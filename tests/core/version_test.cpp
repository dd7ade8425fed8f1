#include "hybridmem/core/version.hpp"

#include <doctest/doctest.h>

#include <string>

using hybridmem::library_version;
using hybridmem::Version;

TEST_CASE("the version is the one of the macros, as numbers and as text") {
  CHECK(library_version ==
        Version{HYBRIDMEM_VERSION_MAJOR, HYBRIDMEM_VERSION_MINOR, HYBRIDMEM_VERSION_PATCH});
  const std::string text = std::to_string(library_version.major_number) + "." +
                           std::to_string(library_version.minor_number) + "." +
                           std::to_string(library_version.patch_number);
  CHECK(text == hybridmem::library_version_text);
}

TEST_CASE("two versions are equal when all three numbers are") {
  constexpr Version version{1, 2, 3};
  CHECK(version == Version{1, 2, 3});
  CHECK(version != Version{0, 2, 3});
  CHECK(version != Version{1, 0, 3});
  CHECK(version != Version{1, 2, 0});
}

TEST_CASE("the inline namespace names the major and the minor version") {
  static_assert(std::is_same_v<Version, hybridmem::HYBRIDMEM_VERSION_NAMESPACE::Version>);
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
  const std::string expected =
      "v" + std::to_string(HYBRIDMEM_VERSION_MAJOR) + "_" + std::to_string(HYBRIDMEM_VERSION_MINOR);
  CHECK(TEXT(HYBRIDMEM_VERSION_NAMESPACE) == expected);
}
