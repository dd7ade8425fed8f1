// The paper's step cost is fitted again from its event sums, and predicts runs that it was not
// fitted to; the roofline has the terms it documents.
#include "simulator/step_cost.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "hybridmem/model/make_geometry.hpp"
#include "hybridmem/model/preset.hpp"
#include "support/csv.hpp"

namespace {

using namespace hybridmem_simulator;
using hybridmem_test::CsvRow;
using hybridmem_test::read_paper_csv;

constexpr double output_tokens = 72'908.0;  // of each run of tables E-1 and E-6

OrganizationKind organization_of(const CsvRow& row) {
  return hybridmem::parse_organization(row.text("org")).value();
}

// Tables E-6 and E-9 side by side.
std::vector<EventSums> event_sums() {
  const auto labels = read_paper_csv("table_e9_chunk_labels.csv");
  std::vector<EventSums> rows;
  for (const CsvRow& times : read_paper_csv("table_e6_trace_work_time.csv")) {
    const CsvRow& work = labels.at(rows.size());
    REQUIRE(work.text("point") == times.text("point"));
    REQUIRE(work.text("org") == times.text("org"));
    rows.push_back({organization_of(times), times.real("forwards_run"), times.real("event_s_run"),
                    work.real("chunk_prefill_tok_run"), work.real("chunk_decode_input_tok_run")});
    CHECK(rows.back().prefill_tokens + rows.back().decode_inputs ==
          doctest::Approx(times.real("submitted_tok_run")).epsilon(1e-6));
  }
  return rows;
}

hybridmem::StateGeometry geometry_of(const char* preset, std::uint32_t ranks = 1) {
  return hybridmem::make_geometry(hybridmem::find_preset(preset)->architecture,
                                  {.tensor_parallel = ranks})
      .value();
}

bool to_digits(double value, double printed, double digit) {
  return std::abs(value - printed) <= digit / 2.0;
}

}  // namespace

TEST_CASE("the fit to the six event sums is within 0.12 percent and gives the paper's cost") {
  const auto rows = event_sums();
  REQUIRE(rows.size() == 6);
  const StepCostFit fit = fit_step_cost(rows);
  MESSAGE("worst error " << fit.worst_error);
  CHECK(fit.worst_error <= 0.0012);

  const StepCost slab = paper_cost(OrganizationKind::slab_packed);
  const StepCost dual = paper_cost(OrganizationKind::static_dual_pool);
  const auto fixed = [&fit](OrganizationKind kind) {
    return fit.fixed_s[static_cast<std::size_t>(kind)];
  };
  CHECK(to_digits(fixed(OrganizationKind::slab_packed), slab.fixed_s, 0.01e-3));
  CHECK(to_digits(fixed(OrganizationKind::static_dual_pool), dual.fixed_s, 0.01e-3));
  CHECK(to_digits(fit.prefill_token_s, slab.prefill_token_s, 0.01e-6));
  CHECK(to_digits(fit.decode_request_s, slab.decode_request_s, 0.0001e-3));
  CHECK(fixed(OrganizationKind::coarse_pages) == 0.0);
}

TEST_CASE("the rounded cost keeps the error of the fit") {
  for (const EventSums& row : event_sums()) {
    const StepCost cost = paper_cost(row.organization);
    const double seconds = cost.fixed_s * row.forwards + cost.prefill_token_s * row.prefill_tokens +
                           cost.decode_request_s * row.decode_inputs;
    CHECK(std::abs(seconds / row.event_s - 1.0) <= 0.0013);
  }
}

TEST_CASE("held out: table E-1 from its steps and initial input within 1.5 percent") {
  const auto rows = read_paper_csv("table_e1_anchor_work.csv");
  REQUIRE(rows.size() == 6);
  for (const CsvRow& row : rows) {
    CAPTURE(row.place());
    const StepCost cost = paper_cost(organization_of(row));
    const double seconds = cost.fixed_s * row.real("k_records_run") +
                           cost.prefill_token_s * row.real("c_once_tok_run") +
                           cost.decode_request_s * output_tokens;
    const double error = seconds * row.real("throughput_tok_s") / output_tokens - 1.0;
    MESSAGE(row.text("budget") << " " << row.text("org") << " " << error);
    CHECK(std::abs(error) <= 0.015);
  }
}

TEST_CASE("the paper's cost: S1 is charged as S2, S0 by choice, and it says so") {
  const StepCost slab = paper_cost(OrganizationKind::slab_packed);
  CHECK(slab.seconds(0, 0) == 15.42e-3);
  CHECK(slab.seconds(2'000, 10) == doctest::Approx(15.42e-3 + 2'000 * 91.66e-6 + 10 * 0.3998e-3));
  CHECK(paper_cost(OrganizationKind::paged_recurrent).seconds(7, 3) == slab.seconds(7, 3));
  CHECK(paper_cost(OrganizationKind::static_dual_pool).fixed_s == 14.59e-3);
  CHECK(paper_cost(OrganizationKind::coarse_pages).fixed_s == 15.0e-3);
  CHECK(paper_cost(OrganizationKind::coarse_pages, CoarseFixed::tuned_15_2_ms).fixed_s == 15.2e-3);
  CHECK(slab.describe() ==
        "the paper's fit for S2: 15.42 ms a step + 91.66 us a prefill token + 0.3998 ms a decoding "
        "request");
  CHECK(paper_cost(OrganizationKind::coarse_pages).describe().find("chosen") != std::string::npos);
  CHECK(paper_cost(OrganizationKind::coarse_pages, CoarseFixed::tuned_15_2_ms)
            .describe()
            .find("tuned") != std::string::npos);
}

TEST_CASE("a fit finds the coefficients that made its rows") {
  std::vector<EventSums> rows;
  for (const OrganizationKind kind : hybridmem::organization_kinds)
    for (double i = 1.0; i <= 3.0; i += 1.0) {
      EventSums row{kind, 1'000.0 * i, 0.0, 5e5 / i, 7e4 + 1e3 * i * i};
      row.event_s = (0.01 + 0.001 * static_cast<double>(kind)) * row.forwards +
                    1e-4 * row.prefill_tokens + 4e-4 * row.decode_inputs;
      rows.push_back(row);
    }
  const StepCostFit fit = fit_step_cost(rows);
  for (std::size_t i = 0; i < fit.fixed_s.size(); ++i)
    CHECK(fit.fixed_s[i] == doctest::Approx(0.01 + 0.001 * static_cast<double>(i)));
  CHECK(fit.prefill_token_s == doctest::Approx(1e-4));
  CHECK(fit.decode_request_s == doctest::Approx(4e-4));
  CHECK(fit.worst_error < 1e-9);
}

TEST_CASE("rows that do not determine the coefficients are refused") {
  auto rows = event_sums();
  CHECK_THROWS_AS(fit_step_cost({}), std::invalid_argument);
  CHECK_THROWS_AS(fit_step_cost(std::vector<EventSums>(rows.begin(), rows.begin() + 3)),
                  std::invalid_argument);
  CHECK_THROWS_AS(fit_step_cost(std::vector<EventSums>(6, rows[0])), std::invalid_argument);
  for (EventSums& row : rows) row.prefill_tokens = 0.0;
  CHECK_THROWS_AS(fit_step_cost(rows), std::invalid_argument);
}

TEST_CASE("devices are found by name") {
  CHECK(device_specs().size() == 5);
  for (const DeviceSpec& device : device_specs()) {
    CHECK(find_device(device.name) == &device);
    CHECK(device.peak_flops > 3e14);
    CHECK(device.bandwidth_bytes_s > 1.5e12);
    CHECK(device.memory_bytes >= 40e9);
  }
  CHECK(find_device("a100-40")->bandwidth_bytes_s == 1.555e12);
  CHECK(find_device("V100") == nullptr);
  CHECK(find_device("H10") == nullptr);
}

TEST_CASE("the roofline has the terms that it documents") {
  const DeviceSpec device{"test", 1e15, 2e12, 1e11};
  const ModelSize dense{10e9, 10e9, SizeSource::given};
  const auto geometry = geometry_of("falcon-h1-7b");
  RooflineOptions options;
  options.compute_efficiency = 0.5;
  options.bandwidth_efficiency = 1.0;
  options.mean_context_tokens = 999;
  options.fixed_s = 0.001;
  const StepCost cost = roofline_cost(device, dense, geometry, options);
  CHECK(cost.compute_token_s == doctest::Approx(2.0 * 10e9 / 0.5e15));
  CHECK(cost.weights_s == doctest::Approx(10e9 * 2.0 / 2e12));
  CHECK(cost.prefill_token_s == doctest::Approx(45'056.0 / 2e12));
  CHECK(cost.decode_request_s == doctest::Approx((2.0 * 70'152'192.0 + 45'056.0 * 1'000.0) / 2e12));
  // Few tokens: bound by the bytes. Many: by the operations.
  CHECK(cost.seconds(0, 1) == doctest::Approx(0.001 + cost.weights_s + cost.decode_request_s));
  CHECK(cost.seconds(8'192, 0) == doctest::Approx(0.001 + cost.compute_token_s * 8'192));
  CHECK(cost.seconds(0, 0) == doctest::Approx(0.001 + cost.weights_s));
  CHECK(cost.describe().find("roofline of test with 10 billion parameters (given)") == 0);
  CHECK(cost.describe().find('\n') == std::string::npos);
}

TEST_CASE("a mixture of experts reads few weights for one token and all for many") {
  const DeviceSpec device{"test", 1e15, 2e12, 1e11};
  const ModelSize mixture{30e9, 3e9, SizeSource::name};
  const auto geometry = geometry_of("nemotron-3-nano-30b-a3b");
  const StepCost cost = roofline_cost(device, mixture, geometry, {.fixed_s = 0.0});
  CHECK(cost.active_share == doctest::Approx(0.1));
  CHECK(cost.seconds(0, 1) - cost.decode_request_s == doctest::Approx(0.1 * cost.weights_s));
  CHECK(cost.seconds(0, 2) - 2.0 * cost.decode_request_s == doctest::Approx(0.19 * cost.weights_s));
  CHECK(cost.seconds(64, 0) - 64.0 * cost.prefill_token_s ==
        doctest::Approx(cost.weights_s).epsilon(0.01));
  CHECK(cost.describe().find("0.1 of them a token") != std::string::npos);
}

TEST_CASE("ranks share weights and operations") {
  const DeviceSpec& device = *find_device("H100");
  const ModelSize size{7e9, 7e9, SizeSource::name};
  const StepCost one = roofline_cost(device, size, geometry_of("falcon-h1-7b"));
  const StepCost two = roofline_cost(device, size, geometry_of("falcon-h1-7b", 2));
  CHECK(two.weights_s == doctest::Approx(one.weights_s / 2.0));
  CHECK(two.compute_token_s == doctest::Approx(one.compute_token_s / 2.0));
  CHECK(two.decode_request_s < one.decode_request_s);
}

TEST_CASE("the roofline of the paper's model and device is near the measured cost") {
  const StepCost measured = paper_cost(OrganizationKind::slab_packed);
  const StepCost roofline = roofline_cost(*find_device("A100-40"), *find_model_size("falcon-h1-7b"),
                                          geometry_of("falcon-h1-7b"));
  for (const auto& [prefill, decode] : std::vector<std::pair<Tokens, std::uint32_t>>{
           {0, 1}, {0, 16}, {0, 48}, {512, 16}, {2'032, 16}}) {
    const double ratio = roofline.seconds(prefill, decode) / measured.seconds(prefill, decode);
    MESSAGE(prefill << " prefill, " << decode << " decode: " << ratio);
    CHECK(ratio > 0.6);
    CHECK(ratio < 1.4);
  }
}

TEST_CASE("a roofline of nonsense is refused") {
  const DeviceSpec& device = *find_device("H100");
  const auto geometry = geometry_of("falcon-h1-7b");
  const ModelSize size{7e9, 7e9, SizeSource::name};
  CHECK_THROWS_AS(roofline_cost({}, size, geometry), std::invalid_argument);
  CHECK_THROWS_AS(roofline_cost(device, {}, geometry), std::invalid_argument);
  CHECK_THROWS_AS(roofline_cost(device, {1e9, 2e9, SizeSource::given}, geometry),
                  std::invalid_argument);
  CHECK_THROWS_AS(roofline_cost(device, size, geometry, {.mean_context_tokens = -1.0}),
                  std::invalid_argument);
  CHECK_THROWS_AS(roofline_cost(device, size, geometry, {.bandwidth_efficiency = 0.0}),
                  std::invalid_argument);
  CHECK_THROWS_AS(roofline_cost(device, size, geometry, {.fixed_s = std::nan("")}),
                  std::invalid_argument);
}
