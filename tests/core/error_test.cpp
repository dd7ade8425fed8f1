#include "hybridmem/core/error.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <type_traits>

using hybridmem::describe;
using hybridmem::Error;
using hybridmem::InputError;
using hybridmem::name_of;

TEST_CASE("every error code has a name of its own") {
  static_assert(static_cast<int>(Error::none) == 0);
  std::set<std::string> names;
  int code = 0;
  for (; code < 256; ++code) {
    const std::string name = name_of(static_cast<Error>(code));
    if (name == "unknown") break;
    CHECK(names.insert(name).second);
  }
  CHECK(code > static_cast<int>(Error::capacity));
  for (; code < 256; ++code) CHECK(std::string(name_of(static_cast<Error>(code))) == "unknown");
}

TEST_CASE("error names are spelled as in the source") {
  CHECK(std::string(name_of(Error::none)) == "none");
  CHECK(std::string(name_of(Error::bad_argument)) == "bad_argument");
  CHECK(std::string(name_of(Error::missing)) == "missing");
  CHECK(std::string(name_of(Error::overflow)) == "overflow");
  CHECK(std::string(name_of(Error::not_divisible)) == "not_divisible");
  CHECK(std::string(name_of(Error::not_hybrid)) == "not_hybrid");
  CHECK(std::string(name_of(Error::unknown_name)) == "unknown_name");
  CHECK(std::string(name_of(Error::layout)) == "layout");
  CHECK(std::string(name_of(Error::capacity)) == "capacity");
}

TEST_CASE("an input error is plain data and a default one says none") {
  static_assert(std::is_trivially_copyable_v<InputError>);
  CHECK(InputError{}.code == Error::none);
  CHECK(describe(InputError{}) == "none");
  CHECK(describe(InputError{.code = Error::overflow}) == "overflow");
}

TEST_CASE("an input error is described by field, value and what was expected") {
  const InputError error{.code = Error::bad_argument,
                         .field = "page_bytes",
                         .value = -3,
                         .expected = "a positive number"};
  CHECK(describe(error) == "page_bytes = -3: expected a positive number");
}

TEST_CASE("the nearest accepted values are named, one or both") {
  InputError error{.code = Error::not_divisible,
                   .field = "interval",
                   .value = 500,
                   .expected = "a multiple of 256",
                   .lower = 256,
                   .upper = 512};
  CHECK(describe(error) == "interval = 500: expected a multiple of 256; nearest: 256 or 512");
  error.lower = 0;
  CHECK(describe(error) == "interval = 500: expected a multiple of 256; nearest: 512");
  error.lower = 256;
  error.upper = 0;
  CHECK(describe(error) == "interval = 500: expected a multiple of 256; nearest: 256");
}

TEST_CASE("extreme values are printed in full") {
  const InputError error{.code = Error::bad_argument,
                         .field = "x",
                         .value = std::numeric_limits<std::int64_t>::min(),
                         .expected = "more"};
  CHECK(describe(error) == "x = -9223372036854775808: expected more");
}

TEST_CASE("input errors compare by code and value") {
  const InputError error{.code = Error::layout, .value = 4};
  CHECK(error == InputError{.code = Error::layout, .value = 4});
  CHECK(error != InputError{.code = Error::layout, .value = 5});
  CHECK(error != InputError{.code = Error::capacity, .value = 4});
}
