// Effects of paired runs: means, and the two ratios that must not be mixed up. Values are paired by
// seed: `treated[s]` and `base[s]` are runs of the same workload.
#pragma once

#include <span>
#include <vector>

namespace hybridmem_simulator {

/// `100 (ratio - 1)`.
constexpr double percent_change(double ratio) noexcept {
  return 100.0 * (ratio - 1.0);
}

/// The arithmetic mean. Throws `std::invalid_argument` without values.
double mean(std::span<const double> values);

/// The sample standard deviation, with n - 1. Throws `std::invalid_argument` for fewer than two.
double sample_deviation(std::span<const double> values);

/// The exponential of the mean logarithm (paper, eq. G1). Throws `std::invalid_argument` without
/// values, or with one that is not positive and finite.
double geometric_mean(std::span<const double> values);

/// The effect of each seed in percent, `100 (treated / base - 1)`. Throws `std::invalid_argument`
/// unless both have the same number of values, at least one, and each base is positive and finite.
std::vector<double> paired_changes_percent(std::span<const double> treated,
                                           std::span<const double> base);

/// The effect of each seed as `ln(treated / base)` (paper, eq. G2). Throws `std::invalid_argument`
/// unless both have the same number of values, at least one, and all are positive and finite.
std::vector<double> log_ratios(std::span<const double> treated, std::span<const double> base);

/// The mean over seeds of `treated / base`: what the paper displays as a mean change. Errors as in
/// `paired_changes_percent`.
double mean_of_ratios(std::span<const double> treated, std::span<const double> base);

/// The ratio of the two means over seeds, which weighs a seed by its base. It is another quantity:
/// S2/S1 at b108 is +8.861 % so and +9.972 % as mean of ratios (paper, tables E-4 and B-5). Errors
/// as in `paired_changes_percent`.
double ratio_of_means(std::span<const double> treated, std::span<const double> base);

/// The ratio of the two geometric means, which is the exponential of the mean log ratio (paper,
/// table G-6). Errors as in `log_ratios`.
double ratio_of_geometric_means(std::span<const double> treated, std::span<const double> base);

/// The mean over seeds of the product of two steps' ratios, each product taken within its seed
/// (paper, appendix G.1: the index of S2 from S1/S0 and S2/S1). Not the product of two means.
/// Throws `std::invalid_argument` unless both have the same number of values, at least one.
double mean_of_chained_ratios(std::span<const double> first, std::span<const double> second);

}  // namespace hybridmem_simulator
