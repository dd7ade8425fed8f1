// Means and ratios of paired runs: which of them the paper displays, and that they differ.
#include "simulator/paper/effects.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "support/csv.hpp"

using namespace hybridmem_simulator;
using hybridmem_test::find_row;
using hybridmem_test::read_paper_csv;
using Values = std::vector<double>;

TEST_CASE("a mean of ratios and a ratio of means differ where the bases do") {
  const Values base{100.0, 300.0};
  const Values treated{200.0, 300.0};
  CHECK(mean_of_ratios(treated, base) == doctest::Approx(1.5));
  CHECK(ratio_of_means(treated, base) == doctest::Approx(1.25));
  CHECK(ratio_of_geometric_means(treated, base) == doctest::Approx(std::sqrt(2.0)));
  CHECK(paired_changes_percent(treated, base) == Values{100.0, 0.0});
  CHECK(log_ratios(treated, base)[0] == doctest::Approx(std::log(2.0)));
  const Values one{250.0};
  CHECK(mean_of_ratios(one, Values{200.0}) == doctest::Approx(1.25));
  CHECK(ratio_of_means(one, Values{200.0}) == doctest::Approx(1.25));
}

TEST_CASE(
    "the paper's two estimands of S2 over S1 at b108 are a ratio of means and a mean of ratios") {
  // Seeds are not printed; the two summaries are, and they are not the same number.
  const auto rows = read_paper_csv("table_e4_b108_extension_s1_s2.csv");
  const double of_means =
      ratio_of_means(Values{find_row(rows, "org", "S2").real("throughput_tok_s")},
                     Values{find_row(rows, "org", "S1").real("throughput_tok_s")});
  CHECK(percent_change(of_means) == doctest::Approx(8.861).epsilon(1e-4));
  double displayed = 0.0;
  for (const auto& row : read_paper_csv("table_b5_stepwise_effects.csv"))
    if (row.text("budget") == "b108" && row.text("contrast") == "S2/S1")
      displayed = row.real("mean_change_pct");
  CHECK(displayed == doctest::Approx(9.972));
}

TEST_CASE("a chained index multiplies within a seed before it averages") {
  const Values first{1.0, 2.0};
  const Values second{3.0, 1.0};
  CHECK(mean_of_chained_ratios(first, second) == doctest::Approx(2.5));
  CHECK(mean(first) * mean(second) == doctest::Approx(3.0));
  // The paper prints both for q = 0: the index of S2, and the product of the steps' means.
  const auto rows = read_paper_csv("text_contrasts.csv");
  const double index = find_row(rows, "contrast", "S2_s0_normalized_index_q0").real("value");
  const double product = find_row(rows, "contrast", "product_of_mean_step_ratios_q0").real("value");
  const double s1 = find_row(rows, "contrast", "S1_s0_normalized_index_q0").real("value");
  const double s2 = 1.0 + find_row(rows, "contrast", "S2/S1_q0_source_mean").real("value") / 100.0;
  CHECK(s1 * s2 == doctest::Approx(product).epsilon(1e-9));
  CHECK(index != product);
}

TEST_CASE("means of one and of many values") {
  CHECK(mean(Values{4.0}) == 4.0);
  CHECK(mean(Values{1.0, 2.0, 6.0}) == 3.0);
  CHECK(geometric_mean(Values{7.0}) == doctest::Approx(7.0));
  CHECK(geometric_mean(Values{1.0, 10.0, 100.0}) == doctest::Approx(10.0));
  CHECK(sample_deviation(Values{1.0, 3.0}) == doctest::Approx(std::sqrt(2.0)));
}

TEST_CASE("values that cannot be averaged or paired are refused") {
  const Values none;
  const Values one{1.0};
  const Values two{1.0, 2.0};
  CHECK_THROWS_AS(mean(none), std::invalid_argument);
  CHECK_THROWS_AS(geometric_mean(none), std::invalid_argument);
  CHECK_THROWS_AS(geometric_mean(Values{1.0, 0.0}), std::invalid_argument);
  CHECK_THROWS_AS(geometric_mean(Values{std::numeric_limits<double>::infinity()}),
                  std::invalid_argument);
  CHECK_THROWS_AS(sample_deviation(one), std::invalid_argument);
  CHECK_THROWS_AS(mean_of_ratios(one, two), std::invalid_argument);
  CHECK_THROWS_AS(mean_of_ratios(none, none), std::invalid_argument);
  CHECK_THROWS_AS(mean_of_ratios(one, Values{0.0}), std::invalid_argument);
  CHECK_THROWS_AS(ratio_of_means(Values{1.0}, Values{-1.0}), std::invalid_argument);
  CHECK_THROWS_AS(log_ratios(Values{-1.0}, one), std::invalid_argument);
  CHECK_THROWS_AS(log_ratios(Values{std::nan("")}, one), std::invalid_argument);
  CHECK_THROWS_AS(mean_of_chained_ratios(one, two), std::invalid_argument);
}
