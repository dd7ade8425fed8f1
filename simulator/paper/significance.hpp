// P-values of the paper: sign flips, two looks at one contrast, and families of contrasts.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace hybridmem_simulator {

/// Most effects of one sign-flip test: 2^24 assignments.
inline constexpr std::size_t max_sign_flip_effects = 24;

/// The exact two-sided sign-flip test of mean zero (paper, appendix B.5): the share of all 2^n
/// assignments of signs whose absolute mean is at least the observed one, 4,096 of them for twelve
/// effects. Sums that differ by less than 2^-40 of the sum of magnitudes count as equal, since
/// effects that cancel exactly seldom do so in binary. Give log ratios to treat the two sides of a
/// ratio alike. Throws `std::invalid_argument` without effects, with more than
/// `max_sign_flip_effects`, or with one that is not finite. Cost: 2^(n-1) additions.
double sign_flip_p(std::span<const double> effects);

/// The two-look rule, `min(1, 2 min(first, second))` (paper, eq. B1). A second look that was not
/// taken is 1. Throws `std::invalid_argument` unless both are in [0, 1].
double two_look_p(double first, double second = 1.0);

/// Holm's step-down adjustment of a family, in the order given: with p sorted ascending, the k-th
/// is the largest `(m - j + 1) p_j` over j <= k, at most 1. The family is all that is given: a
/// contrast that was not estimable stays in it with p = 1 (paper, table E-17). Throws
/// `std::invalid_argument` for a value outside [0, 1].
std::vector<double> holm(std::span<const double> p_values);

}  // namespace hybridmem_simulator
