// The launcher's argument errors: they come before any CUDA call, so no GPU is needed.
#include "hybridmem/kernels/zero_units.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace {

using hybridmem::Error;
using hybridmem::InputError;
using hybridmem::kernels::LaunchStatus;
using hybridmem::kernels::zero_units;
using hybridmem::kernels::ZeroUnits;

// Addresses that are never read: every launch below is refused.
ZeroUnits valid() {
  return {.pool = reinterpret_cast<void*>(std::uintptr_t{4096}),
          .page_bytes = 512,
          .page_ids = reinterpret_cast<const std::int32_t*>(std::uintptr_t{4096}),
          .count = 1};
}

InputError error_of(const ZeroUnits& units) {
  const LaunchStatus status = zero_units(units, nullptr);
  REQUIRE_FALSE(status.has_value());
  CHECK(status.error().cuda_error == 0);
  return status.error().input;
}

}  // namespace

TEST_CASE("zero_units refuses page bytes that are zero or not a multiple of 256") {
  ZeroUnits units = valid();
  units.page_bytes = 0;
  CHECK(error_of(units).code == Error::bad_argument);
  for (const std::uint64_t bytes : {1U, 255U, 257U, 511U, 513U}) {
    units.page_bytes = bytes;
    const InputError error = error_of(units);
    CHECK(error.code == Error::not_divisible);
    CHECK(std::string(error.field) == "page_bytes");
    CHECK(error.value == static_cast<std::int64_t>(bytes));
  }
}

TEST_CASE("zero_units refuses a negative count") {
  ZeroUnits units = valid();
  for (const std::int32_t count : {-1, std::numeric_limits<std::int32_t>::min()}) {
    units.count = count;
    const InputError error = error_of(units);
    CHECK(error.code == Error::bad_argument);
    CHECK(std::string(error.field) == "count");
    CHECK(error.value == count);
  }
}

TEST_CASE("zero_units refuses null addresses unless the list is empty") {
  ZeroUnits units = valid();
  units.pool = nullptr;
  CHECK(error_of(units).code == Error::missing);
  CHECK(std::string(error_of(units).field) == "pool");
  units = valid();
  units.page_ids = nullptr;
  CHECK(error_of(units).code == Error::missing);
  CHECK(std::string(error_of(units).field) == "page_ids");
  units.pool = nullptr;
  units.count = 0;
  CHECK(zero_units(units, nullptr).has_value());
}

TEST_CASE("zero_units refuses a pool that is not aligned to 256 bytes") {
  ZeroUnits units = valid();
  for (const std::uintptr_t address : {4097U, 4104U, 4224U, 4351U}) {
    units.pool = reinterpret_cast<void*>(address);
    CHECK(error_of(units).code == Error::not_divisible);
    CHECK(std::string(error_of(units).field) == "pool");
  }
}

TEST_CASE("zero_units refuses more work than one grid holds") {
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  ZeroUnits units = valid();
  units.page_bytes = 16'384 + 256;  // two tiles
  units.count = most / 2 + 1;
  CHECK(error_of(units).code == Error::overflow);
  units.page_bytes = std::numeric_limits<std::uint64_t>::max() - 255;
  units.count = most;
  CHECK(error_of(units).code == Error::overflow);
}
