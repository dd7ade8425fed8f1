#include "simulator/paper/intervals.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulator/paper/effects.hpp"
#include "simulator/random.hpp"

namespace hybridmem_simulator {

namespace {

void check_open_unit(double value, const char* what) {
  if (!(value > 0.0 && value < 1.0))
    throw std::invalid_argument(std::string(what) + " between 0 and 1 expected, not " +
                                std::to_string(value));
}

/// The quantile of sorted values, linear between order statistics.
double sorted_quantile(std::span<const double> sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

}  // namespace

double student_t_quantile(double degrees, double probability) {
  if (!(degrees > 0.0) || !std::isfinite(degrees))
    throw std::invalid_argument("student_t_quantile: positive degrees of freedom expected, not " +
                                std::to_string(degrees));
  check_open_unit(probability, "student_t_quantile: a probability");
  return boost::math::quantile(boost::math::students_t_distribution<double>(degrees), probability);
}

PairedT paired_t(std::span<const double> effects, double confidence) {
  check_open_unit(confidence, "paired_t: a confidence");
  PairedT result;
  result.pairs = effects.size();
  result.mean = mean(effects);
  result.deviation = sample_deviation(effects);
  const double t =
      student_t_quantile(static_cast<double>(effects.size() - 1), 0.5 + confidence / 2.0);
  const double half = t * result.deviation / std::sqrt(static_cast<double>(effects.size()));
  result.interval = {result.mean - half, result.mean + half};
  return result;
}

PercentEffect percent_effect(std::span<const double> log_effects, double confidence) {
  PercentEffect result;
  result.log = paired_t(log_effects, confidence);
  result.pairs = result.log.pairs;
  result.percent = 100.0 * std::expm1(result.log.mean);
  result.interval = {100.0 * std::expm1(result.log.interval.low),
                     100.0 * std::expm1(result.log.interval.high)};
  return result;
}

ProbeEffect probe_effect(std::span<const double> on, std::span<const double> off, double confidence,
                         double margin) {
  if (!(margin > 0.0)) throw std::invalid_argument("probe_effect: a positive margin expected");
  std::vector<double> effects = log_ratios(on, off);
  for (double& effect : effects) effect *= 100.0;
  ProbeEffect result;
  result.effect = paired_t(effects, confidence);
  result.margin = margin;
  result.contained = result.effect.interval.within(margin);
  return result;
}

Interval bootstrap_interval(std::span<const double> effects, std::uint64_t seed, double confidence,
                            std::size_t resamples) {
  check_open_unit(confidence, "bootstrap_interval: a confidence");
  if (effects.empty() || resamples == 0)
    throw std::invalid_argument("bootstrap_interval: effects and resamples expected");
  Random random(seed);
  const auto last = static_cast<std::uint32_t>(effects.size() - 1);
  std::vector<double> means;
  means.reserve(resamples);
  for (std::size_t i = 0; i < resamples; ++i) {
    double sum = 0.0;
    for (std::size_t k = 0; k < effects.size(); ++k) sum += effects[random.between(0, last)];
    means.push_back(sum / static_cast<double>(effects.size()));
  }
  std::sort(means.begin(), means.end());
  return {sorted_quantile(means, (1.0 - confidence) / 2.0),
          sorted_quantile(means, (1.0 + confidence) / 2.0)};
}

}  // namespace hybridmem_simulator
