// The generator's numbers are those of its definition, and its distributions are what they say.
#include "simulator/random.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using namespace hybridmem_simulator;

struct Moments {
  double mean = 0.0;
  double deviation = 0.0;
};

template <class Draw>
Moments moments(Draw draw, int count = 200'000) {
  double sum = 0.0;
  double squares = 0.0;
  for (int i = 0; i < count; ++i) {
    const double value = draw();
    sum += value;
    squares += value * value;
  }
  const double mean = sum / count;
  return {mean, std::sqrt(squares / count - mean * mean)};
}

}  // namespace

TEST_CASE("the generator's first numbers are fixed, and differ between seeds and streams") {
  Random random(0);
  const std::array<std::uint64_t, 3> first{random.bits(), random.bits(), random.bits()};
  CAPTURE(first[0]);
  CAPTURE(first[1]);
  CAPTURE(first[2]);
  CHECK(first == std::array<std::uint64_t, 3>{18110106563157542208U, 8650457082529208451U,
                                              3032169436225125478U});
  CHECK(Random(0).bits() == first[0]);
  CHECK(Random(1).bits() != first[0]);
  CHECK(Random(0, 1).bits() != first[0]);
  CHECK(Random(1, 0).bits() != Random(0, 1).bits());
}

TEST_CASE("distributions to the last bit") {
  Random random(42);
  CHECK(random.unit() == 0x1.ff785474f1138p-4);
  CHECK(random.exponential() == 0x1.65aa441626eeap-2);
  CHECK(random.normal() == 0x1.2d0934673dda3p+0);
  CHECK(random.lognormal(5.0, 0.5) == 0x1.24f15b58de17ap+7);
  CHECK(random.between(10, 1'000'000) == 758'052);
  CHECK(zipf_shares(8, 1.2)[0] == 0x1.b6ea996de855ap-2);
}

TEST_CASE("logarithm and exponential agree with the library's") {
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    const double power = 1'400.0 * random.unit() - 700.0;
    CHECK(portable_exp(power) == doctest::Approx(std::exp(power)).epsilon(4e-15));
    const double value = std::ldexp(random.unit() + 0x1p-60, static_cast<int>(power));
    const double expected = std::log(value);
    CHECK(std::abs(portable_log(value) - expected) <= 2e-15 * std::abs(expected) + 1e-16);
  }
  CHECK(portable_log(1.0) == 0.0);
  CHECK(portable_exp(0.0) == 1.0);
  CHECK(portable_log(0x1p-1074) == doctest::Approx(std::log(0x1p-1074)));
}

TEST_CASE("distributions have their moments") {
  Random random(7);
  const Moments unit = moments([&] { return random.unit(); });
  CHECK(unit.mean == doctest::Approx(0.5).epsilon(0.01));
  CHECK(unit.deviation == doctest::Approx(std::sqrt(1.0 / 12.0)).epsilon(0.01));
  const Moments exponential = moments([&] { return random.exponential(); });
  CHECK(exponential.mean == doctest::Approx(1.0).epsilon(0.01));
  CHECK(exponential.deviation == doctest::Approx(1.0).epsilon(0.015));
  const Moments normal = moments([&] { return random.normal(); });
  CHECK(std::abs(normal.mean) < 0.01);
  CHECK(normal.deviation == doctest::Approx(1.0).epsilon(0.01));
  const Moments lognormal = moments([&] { return random.lognormal(2.0, 0.5); });
  CHECK(lognormal.mean == doctest::Approx(std::exp(2.125)).epsilon(0.01));
}

TEST_CASE("whole numbers are uniform in their range, ends included") {
  Random random(3);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i) ++counts.at(random.between(5, 11) - 5);
  for (const int count : counts) CHECK(std::abs(count - 10'000) < 500);
  CHECK(random.between(9, 9) == 9);
  std::uint32_t highest = 0;
  for (int i = 0; i < 1'000; ++i) highest |= random.between(0, 0xFFFFFFFF);
  CHECK(highest == 0xFFFFFFFF);
}

TEST_CASE("popularity falls as a power of the rank") {
  const std::vector<double> shares = zipf_shares(8, 1.2);
  REQUIRE(shares.size() == 8);
  CHECK(shares.back() == 1.0);
  for (std::size_t rank = 1; rank < shares.size(); ++rank)
    CHECK((shares[rank] - shares[rank - 1]) / shares[0] ==
          doctest::Approx(std::pow(static_cast<double>(rank + 1), -1.2)));
  CHECK(zipf_shares(4, 0.0)[1] == 0.5);

  Random random(11);
  std::array<int, 8> counts{};
  for (int i = 0; i < 100'000; ++i) ++counts.at(random.pick(shares));
  for (std::size_t rank = 0; rank < 8; ++rank) {
    const double share = shares[rank] - (rank == 0 ? 0.0 : shares[rank - 1]);
    CHECK(std::abs(counts[rank] / 1e5 - share) < 0.006);
  }
}
