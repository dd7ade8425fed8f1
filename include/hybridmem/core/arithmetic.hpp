// Integer arithmetic that layouts are made of: division upwards, rounding, and checked products and
// sums.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

#include "hybridmem/core/config.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// `numerator / denominator`, rounded up. Precondition: `denominator > 0`. Never overflows.
template <std::unsigned_integral T>
HYBRIDMEM_HOST_DEVICE constexpr T divide_up(T numerator, T denominator) noexcept {
  return static_cast<T>(numerator / denominator + (numerator % denominator != 0 ? 1 : 0));
}

/// The quotient rounded to the nearest integer, halves upwards. Precondition: `denominator > 0`.
template <std::unsigned_integral T>
constexpr T divide_to_nearest(T numerator, T denominator) noexcept {
  const T rest = numerator % denominator;
  return static_cast<T>(numerator / denominator + (rest >= denominator - rest ? 1 : 0));
}

/// The least multiple of `step` at or above `value`. Precondition: `step > 0` and the result fits.
template <std::unsigned_integral T>
constexpr T round_up(T value, T step) noexcept {
  return static_cast<T>(divide_up(value, step) * step);
}

/// An unsigned 64-bit quantity that remembers whether any step of its computation overflowed. An
/// overflowed quantity stays overflowed and reads as the greatest value.
class Checked {
 public:
  constexpr Checked(std::uint64_t value) noexcept : value_(value) {}  // implicit: a plain number

  constexpr bool overflowed() const noexcept { return overflowed_; }
  constexpr std::uint64_t value() const noexcept {
    return overflowed_ ? std::numeric_limits<std::uint64_t>::max() : value_;
  }

  friend constexpr Checked operator*(Checked a, Checked b) noexcept {
    Checked product{a.value_ * b.value_};
    product.overflowed_ =
        a.overflowed_ || b.overflowed_ || (a.value_ != 0 && product.value_ / a.value_ != b.value_);
    return product;
  }

  friend constexpr Checked operator+(Checked a, Checked b) noexcept {
    Checked sum{a.value_ + b.value_};
    sum.overflowed_ = a.overflowed_ || b.overflowed_ || sum.value_ < a.value_;
    return sum;
  }

 private:
  std::uint64_t value_;
  bool overflowed_ = false;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
