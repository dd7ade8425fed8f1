#include "hybridmem/core/result.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "violations.hpp"

using hybridmem::Error;
using hybridmem::InputError;
using hybridmem::Ok;
using hybridmem::Result;
using hybridmem::Status;
using hybridmem_test::violation_of;

namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Error::not_divisible;
  return number / 2;
}

int ignored_violations = 0;

void count_and_return(const hybridmem::ContractViolation& /*violation*/) {
  ++ignored_violations;
}

}  // namespace

TEST_CASE("a result holds a value or an error") {
  const Result<int> good = half(8);
  REQUIRE(good);
  CHECK(good.has_value());
  CHECK(good.value() == 4);
  CHECK(*good == 4);
  CHECK(good.value_or(9) == 4);

  const Result<int> bad = half(7);
  REQUIRE_FALSE(bad);
  CHECK_FALSE(bad.has_value());
  CHECK(bad.error() == Error::not_divisible);
  CHECK(bad.value_or(9) == 9);
}

TEST_CASE("a result is trivially copyable when its parts are") {
  static_assert(std::is_trivially_copyable_v<Result<int>>);
  static_assert(std::is_trivially_copyable_v<Status>);
  static_assert(std::is_trivially_copyable_v<Result<int, InputError>>);
  static_assert(!std::is_trivially_copyable_v<Result<std::string>>);
  static_assert(!std::is_convertible_v<Result<int>, bool>);
  const Result<std::string> text = std::string("abc");
  CHECK(text->size() == 3);
}

TEST_CASE("a result works in constant expressions") {
  constexpr Result<int> good = 3;
  constexpr Result<int> bad = Error::capacity;
  static_assert(*good == 3);
  static_assert(bad.error() == Error::capacity);
  static_assert(bad.value_or(1) == 1);
  CHECK(good);
}

TEST_CASE("a status is a success or an error") {
  const Status done = Ok::ok;
  CHECK(done.has_value());
  const Status refused = Error::layout;
  CHECK_FALSE(refused.has_value());
  CHECK(refused.error() == Error::layout);
}

TEST_CASE("an error with details is returned whole") {
  const Result<int, InputError> refused =
      InputError{.code = Error::bad_argument, .field = "n", .value = 7, .expected = "even"};
  REQUIRE_FALSE(refused);
  CHECK(std::string(refused.error().field) == "n");
}

TEST_CASE("reading the side that is not there is a contract violation") {
  const Result<int> bad = Error::missing;
  const Result<int> good = 3;
  CHECK(violation_of([&] { static_cast<void>(bad.value()); }).has_value());
  CHECK(violation_of([&] { static_cast<void>(*bad); }).has_value());
  const auto violation = violation_of([&] { static_cast<void>(good.error()); });
  REQUIRE(violation.has_value());
  CHECK(std::string(violation->message) == "error() of a Result that holds a value");
  CHECK(violation->level == 0);
  CHECK_FALSE(violation_of([&] { static_cast<void>(good.value()); }).has_value());
}

TEST_CASE("a handler that returns leaves the default value of the missing side") {
  ignored_violations = 0;
  const auto previous = hybridmem::set_contract_handler(&count_and_return);
  const Result<int> bad = Error::missing;
  CHECK(bad.value() == 0);
  const Result<int> good = 3;
  CHECK(good.error() == Error::none);
  hybridmem::set_contract_handler(previous);
  CHECK(ignored_violations == 2);
}

TEST_CASE("a value that can only be moved is moved out of a temporary") {
  const auto make = [] { return Result<std::unique_ptr<int>>(std::make_unique<int>(5)); };
  std::unique_ptr<int> owned = *make();
  CHECK(*owned == 5);
  Result<std::unique_ptr<int>> named = make();
  **named = 6;
  owned = std::move(named).value();
  CHECK(*owned == 6);
}
