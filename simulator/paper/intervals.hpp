// Intervals of paired effects: paired t in log space with exact quantiles, and the percentile
// bootstrap over seeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hybridmem_simulator {

/// A closed interval.
struct Interval {
  double low = 0.0;
  double high = 0.0;

  bool contains(double value) const noexcept { return low <= value && value <= high; }
  /// Whether all of it lies in [-margin, margin].
  bool within(double margin) const noexcept { return -margin <= low && high <= margin; }
};

/// The quantile of Student's t: `probability` of the distribution lies below. Throws
/// `std::invalid_argument` unless `degrees` > 0 and `probability` is in (0, 1).
double student_t_quantile(double degrees, double probability);

/// A mean with its two-sided paired-t interval, in the unit of the values.
struct PairedT {
  std::size_t pairs = 0;
  double mean = 0.0;
  double deviation = 0.0;  ///< sample standard deviation
  Interval interval;
};

/// The mean of one effect a seed, and `mean +- t s / sqrt(n)` with n - 1 degrees of freedom. Throws
/// `std::invalid_argument` for fewer than two effects or a confidence outside (0, 1).
PairedT paired_t(std::span<const double> effects, double confidence = 0.95);

/// An effect in percent with its interval.
struct PercentEffect {
  std::size_t pairs = 0;
  double percent = 0.0;
  Interval interval;
  PairedT log;  ///< what it was computed from
};

/// The paired-t effect of log ratios, or of differences of log ratios, turned back to percent:
/// `100 (exp(z) - 1)` of the mean and of both ends (paper, eqs. G3 and G4). Errors as `paired_t`.
PercentEffect percent_effect(std::span<const double> log_effects, double confidence = 0.95);

/// A probe effect, `100 ln(on / off)` a seed, with its paired-t interval (paper, table C-3).
struct ProbeEffect {
  PairedT effect;
  double margin = 0.0;
  bool contained = false;  ///< the interval lies in [-margin, margin]
};

/// The effect of a probe on throughput. Throws `std::invalid_argument` for values that `log_ratios`
/// or `paired_t` refuse, or a margin that is not positive.
ProbeEffect probe_effect(std::span<const double> on, std::span<const double> off,
                         double confidence = 0.90, double margin = 3.0);

/// The percentile bootstrap of the mean: `resamples` draws of n effects with replacement, and the
/// quantiles (1 - confidence) / 2 and (1 + confidence) / 2 of their means, interpolated between
/// order statistics. The same seed gives the same interval. Throws `std::invalid_argument` without
/// effects, without resamples, or for a confidence outside (0, 1).
Interval bootstrap_interval(std::span<const double> effects, std::uint64_t seed,
                            double confidence = 0.95, std::size_t resamples = 10'000);

}  // namespace hybridmem_simulator
