// Random: the simulator's own generator and distributions, the same numbers on every platform.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hybridmem_simulator {

/// xoshiro256** (Blackman and Vigna), seeded by SplitMix64 from a seed and the number of a stream:
/// streams of one seed are independent, so that a change to what one of them is used for leaves the
/// others alone. The distributions of the standard library differ between its implementations, and
/// the C library's `log` and `exp` in the last bit; everything here is made of integer operations
/// and of the operations that IEEE 754 rounds exactly. Compile random.cpp and workload.cpp without
/// contraction of floating-point expressions (`-ffp-contract=off`).
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) noexcept;

  /// 64 random bits.
  std::uint64_t bits() noexcept;
  /// Uniform in [0, 1), a multiple of 2^-53.
  double unit() noexcept;
  /// Uniform in [low, high]. Precondition: low <= high.
  std::uint32_t between(std::uint32_t low, std::uint32_t high) noexcept;
  /// Mean 1: minus the logarithm of a uniform number in (0, 1].
  double exponential() noexcept;
  /// Mean 0, variance 1: the polar method of Marsaglia, one number of each pair.
  double normal() noexcept;
  /// The exponential of a normal number with this mean and deviation.
  double lognormal(double mean, double deviation) noexcept;
  /// An index: the first whose cumulated share exceeds a uniform number. Precondition: not empty.
  std::size_t pick(std::span<const double> cumulated) noexcept;

 private:
  std::array<std::uint64_t, 4> state_;
};

/// Cumulated shares of `count` ranks with weights 1 / rank^exponent, for `Random::pick`; the last
/// is 1. An exponent of 0 is uniform.
std::vector<double> zipf_shares(std::size_t count, double exponent);

/// Natural logarithm of a positive finite number, to about 1e-15, from exact operations alone.
double portable_log(double value) noexcept;
/// The exponential of a number between -700 and 700, to about 1e-15, from exact operations alone.
double portable_exp(double value) noexcept;

}  // namespace hybridmem_simulator
