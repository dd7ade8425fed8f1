#include "simulator/paper/effects.hpp"

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace hybridmem_simulator {

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw std::invalid_argument("effects: " + what);
}

void check_pairs(std::span<const double> treated, std::span<const double> base) {
  if (treated.size() != base.size())
    refuse(std::to_string(treated.size()) + " values cannot be paired with " +
           std::to_string(base.size()));
  if (treated.empty()) refuse("at least one pair expected");
}

double checked_positive(double value) {
  if (!(value > 0.0) || !std::isfinite(value))
    refuse("a positive finite value expected, not " + std::to_string(value));
  return value;
}

}  // namespace

double mean(std::span<const double> values) {
  if (values.empty()) refuse("a mean of no values");
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double sample_deviation(std::span<const double> values) {
  if (values.size() < 2) refuse("a deviation of fewer than two values");
  const double centre = mean(values);
  double squares = 0.0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double geometric_mean(std::span<const double> values) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double value : values) logs.push_back(std::log(checked_positive(value)));
  return std::exp(mean(logs));
}

std::vector<double> paired_changes_percent(std::span<const double> treated,
                                           std::span<const double> base) {
  check_pairs(treated, base);
  std::vector<double> changes;
  changes.reserve(base.size());
  for (std::size_t i = 0; i < base.size(); ++i)
    changes.push_back(percent_change(treated[i] / checked_positive(base[i])));
  return changes;
}

std::vector<double> log_ratios(std::span<const double> treated, std::span<const double> base) {
  check_pairs(treated, base);
  std::vector<double> logs;
  logs.reserve(base.size());
  for (std::size_t i = 0; i < base.size(); ++i)
    logs.push_back(std::log(checked_positive(treated[i]) / checked_positive(base[i])));
  return logs;
}

double mean_of_ratios(std::span<const double> treated, std::span<const double> base) {
  return 1.0 + mean(paired_changes_percent(treated, base)) / 100.0;
}

double ratio_of_means(std::span<const double> treated, std::span<const double> base) {
  check_pairs(treated, base);
  for (const double value : base) checked_positive(value);
  return mean(treated) / mean(base);
}

double ratio_of_geometric_means(std::span<const double> treated, std::span<const double> base) {
  return std::exp(mean(log_ratios(treated, base)));
}

double mean_of_chained_ratios(std::span<const double> first, std::span<const double> second) {
  check_pairs(first, second);
  double sum = 0.0;
  for (std::size_t i = 0; i < first.size(); ++i) sum += first[i] * second[i];
  return sum / static_cast<double>(first.size());
}

}  // namespace hybridmem_simulator
