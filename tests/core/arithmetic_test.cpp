#include "hybridmem/core/arithmetic.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <limits>

using hybridmem::Checked;
using hybridmem::divide_to_nearest;
using hybridmem::divide_up;
using hybridmem::round_up;

namespace {

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

}  // namespace

TEST_CASE("divide_up rounds upwards and is exact on multiples") {
  CHECK(divide_up(0U, 1U) == 0U);
  CHECK(divide_up(0U, 7U) == 0U);
  CHECK(divide_up(1U, 7U) == 1U);
  CHECK(divide_up(7U, 7U) == 1U);
  CHECK(divide_up(8U, 7U) == 2U);
}

TEST_CASE("divide_up does not overflow at the end of the range") {
  CHECK(divide_up(most, std::uint64_t{1}) == most);
  CHECK(divide_up(most, std::uint64_t{2}) == (most >> 1U) + 1);
  CHECK(divide_up(most, most) == 1U);
  CHECK(divide_up(most - 1, most) == 1U);
  CHECK(divide_up(std::uint8_t{255}, std::uint8_t{2}) == 128U);
}

TEST_CASE("divide_up agrees with its definition") {
  CHECK(rc::check("the least q with q * d >= n", [](std::uint32_t n, std::uint32_t d) {
    RC_PRE(d > 0U);
    const std::uint64_t q = divide_up(n, d);
    RC_ASSERT(q * d >= n);
    RC_ASSERT(q == 0 || (q - 1) * d < n);
  }));
}

TEST_CASE("divide_to_nearest rounds halves upwards") {
  CHECK(divide_to_nearest(0U, 5U) == 0U);
  CHECK(divide_to_nearest(2U, 5U) == 0U);
  CHECK(divide_to_nearest(3U, 5U) == 1U);
  CHECK(divide_to_nearest(1U, 2U) == 1U);
  CHECK(divide_to_nearest(4U, 8U) == 1U);
  CHECK(divide_to_nearest(3U, 8U) == 0U);
  CHECK(divide_to_nearest(most, std::uint64_t{1}) == most);
  CHECK(divide_to_nearest(most, std::uint64_t{2}) == (most >> 1U) + 1);
  CHECK(divide_to_nearest(most - 1, most) == 1U);
}

TEST_CASE("divide_to_nearest agrees with its definition") {
  CHECK(rc::check("floor(n / d + 1/2)", [](std::uint32_t n, std::uint32_t d) {
    RC_PRE(d > 0U);
    const std::uint64_t wide_n = n;
    const std::uint64_t wide_d = d;
    RC_ASSERT(divide_to_nearest(n, d) == (2 * wide_n + wide_d) / (2 * wide_d));
  }));
}

TEST_CASE("round_up gives the least multiple at or above") {
  CHECK(round_up(0U, 256U) == 0U);
  CHECK(round_up(1U, 256U) == 256U);
  CHECK(round_up(256U, 256U) == 256U);
  CHECK(round_up(257U, 256U) == 512U);
  CHECK(round_up(5U, 3U) == 6U);
  CHECK(round_up(most, std::uint64_t{1}) == most);
}

TEST_CASE("a checked quantity within range is the plain number") {
  constexpr Checked product = Checked{1U << 20U} * Checked{1U << 20U};
  static_assert(!product.overflowed());
  CHECK(product.value() == std::uint64_t{1} << 40U);
  CHECK((Checked{2} + 3).value() == 5);
  CHECK((Checked{0} * Checked{most}).value() == 0);
  CHECK((Checked{most} * Checked{0}).value() == 0);
  CHECK((Checked{most} * Checked{1}).value() == most);
  CHECK_FALSE((Checked{most} * Checked{1}).overflowed());
  CHECK_FALSE((Checked{most} + Checked{0}).overflowed());
}

TEST_CASE("one over the range overflows and reads as the greatest value") {
  const Checked sum = Checked{most} + Checked{1};
  CHECK(sum.overflowed());
  CHECK(sum.value() == most);
  const Checked product = Checked{std::uint64_t{1} << 32U} * Checked{std::uint64_t{1} << 32U};
  CHECK(product.overflowed());
  CHECK(product.value() == most);
}

TEST_CASE("an overflow is remembered through later steps") {
  const Checked lost = Checked{most} + Checked{1};
  CHECK((lost * Checked{0}).overflowed());
  CHECK((Checked{0} * lost).overflowed());
  CHECK((lost + Checked{0}).overflowed());
  CHECK((Checked{0} + lost).overflowed());
  CHECK((lost * Checked{0}).value() == most);
}

TEST_CASE("checked sums and products overflow exactly when the true result does not fit") {
  CHECK(rc::check("product", [](std::uint64_t a, std::uint64_t b) {
    const bool fits = a == 0 || b <= most / a;
    const Checked product = Checked{a} * Checked{b};
    RC_ASSERT(product.overflowed() == !fits);
    RC_ASSERT(product.value() == (fits ? a * b : most));
  }));
  CHECK(rc::check("sum", [](std::uint64_t a, std::uint64_t b) {
    const bool fits = b <= most - a;
    const Checked sum = Checked{a} + Checked{b};
    RC_ASSERT(sum.overflowed() == !fits);
    RC_ASSERT(sum.value() == (fits ? a + b : most));
  }));
}
