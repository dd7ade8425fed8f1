#include "simulator/paper/significance.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>

namespace hybridmem_simulator {

namespace {

void check_probability(double p) {
  if (!(p >= 0.0 && p <= 1.0))
    throw std::invalid_argument("a p-value between 0 and 1 expected, not " + std::to_string(p));
}

}  // namespace

double sign_flip_p(std::span<const double> effects) {
  if (effects.empty() || effects.size() > max_sign_flip_effects)
    throw std::invalid_argument("sign_flip_p: 1 to " + std::to_string(max_sign_flip_effects) +
                                " effects expected, not " + std::to_string(effects.size()));
  double magnitudes = 0.0;
  double observed = 0.0;
  for (const double effect : effects) {
    if (!std::isfinite(effect))
      throw std::invalid_argument("sign_flip_p: an effect is not a finite number");
    magnitudes += std::abs(effect);
    observed += effect;
  }
  const double threshold = std::abs(observed) - magnitudes * 0x1p-40;
  // An assignment and its opposite have the same absolute sum: the first sign stays. Each sum is
  // added up anew; a running sum would gather rounding errors over the assignments.
  const std::uint32_t assignments = std::uint32_t{1} << (effects.size() - 1);
  std::uint32_t extreme = 0;
  for (std::uint32_t flips = 0; flips < assignments; ++flips) {
    double sum = effects[0];
    for (std::size_t i = 1; i < effects.size(); ++i)
      sum += (flips >> (i - 1) & 1U) != 0 ? -effects[i] : effects[i];
    extreme += std::abs(sum) >= threshold ? 1U : 0U;
  }
  return static_cast<double>(extreme) / static_cast<double>(assignments);
}

double two_look_p(double first, double second) {
  check_probability(first);
  check_probability(second);
  return std::min(1.0, 2.0 * std::min(first, second));
}

std::vector<double> holm(std::span<const double> p_values) {
  for (const double p : p_values) check_probability(p);
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double least = 0.0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double factor = static_cast<double>(order.size() - rank);
    least = std::max(least, std::min(1.0, factor * p_values[order[rank]]));
    adjusted[order[rank]] = least;
  }
  return adjusted;
}

}  // namespace hybridmem_simulator
