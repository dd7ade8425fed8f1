#include "simulator/random.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace hybridmem_simulator {

namespace {

constexpr double ln2_high = 0x1.62e42fefa3800p-1;  // 42 bits: times an exponent it is exact
constexpr double ln2_low = 0x1.ef35793c76730p-45;

std::uint64_t split_mix(std::uint64_t& state) noexcept {
  state += 0x9E3779B97F4A7C15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

}  // namespace

double portable_log(double value) noexcept {
  int exponent = 0;
  double mantissa = std::frexp(value, &exponent);  // exact; in [1/2, 1)
  if (mantissa < 0x1.6a09e667f3bcdp-1) {           // into [sqrt(1/2), sqrt(2))
    mantissa *= 2.0;
    --exponent;
  }
  // log(m) = 2 artanh(s), s = (m - 1) / (m + 1), at most 0.172 in size.
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double square = s * s;
  double sum = 0.0;
  for (int power = 21; power >= 3; power -= 2) sum = (sum + 1.0 / power) * square;
  const double e = exponent;
  return e * ln2_high + (e * ln2_low + 2.0 * (s + s * sum));
}

double portable_exp(double value) noexcept {
  const double turns = std::floor(value / (ln2_high + ln2_low) + 0.5);
  const double rest = (value - turns * ln2_high) - turns * ln2_low;  // at most 0.347 in size
  double sum = 1.0;
  for (int term = 15; term >= 1; --term) sum = 1.0 + sum * rest / term;
  return std::ldexp(sum, static_cast<int>(turns));  // exact
}

Random::Random(std::uint64_t seed, std::uint64_t stream) noexcept : state_{} {
  std::uint64_t mixed = stream;
  mixed = seed ^ split_mix(mixed);
  for (std::uint64_t& word : state_) word = split_mix(mixed);
}

std::uint64_t Random::bits() noexcept {
  const std::uint64_t result = std::rotl(state_[1] * 5U, 7) * 9U;
  const std::uint64_t shifted = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::unit() noexcept {
  return static_cast<double>(bits() >> 11U) * 0x1p-53;
}

std::uint32_t Random::between(std::uint32_t low, std::uint32_t high) noexcept {
  // The high half of 32 bits times the size of the range; products that would favour some values
  // are drawn again (Lemire).
  const std::uint64_t size = std::uint64_t{high} - low + 1U;
  const std::uint64_t refused = (std::uint64_t{1} << 32U) % size;
  for (;;) {
    const std::uint64_t product = (bits() >> 32U) * size;
    if ((product & 0xFFFFFFFFU) >= refused) return low + static_cast<std::uint32_t>(product >> 32U);
  }
}

double Random::exponential() noexcept {
  return -portable_log(1.0 - unit());
}

double Random::normal() noexcept {
  for (;;) {
    const double x = 2.0 * unit() - 1.0;
    const double y = 2.0 * unit() - 1.0;
    const double square = x * x + y * y;
    if (square > 0.0 && square < 1.0) return x * std::sqrt(-2.0 * portable_log(square) / square);
  }
}

double Random::lognormal(double mean, double deviation) noexcept {
  return portable_exp(std::clamp(mean + deviation * normal(), -700.0, 700.0));
}

std::size_t Random::pick(std::span<const double> cumulated) noexcept {
  const double place = unit();
  std::size_t index = 0;
  while (index + 1 < cumulated.size() && cumulated[index] <= place) ++index;
  return index;
}

std::vector<double> zipf_shares(std::size_t count, double exponent) {
  std::vector<double> shares(count);
  double sum = 0.0;
  for (std::size_t rank = 0; rank < count; ++rank) {
    sum += portable_exp(-exponent * portable_log(static_cast<double>(rank + 1)));
    shares[rank] = sum;
  }
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace hybridmem_simulator
