// The simulated engine: every request ends once, tokens add up, equal inputs give equal results.
#include "simulator/engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "hybridmem/model/layout_solver.hpp"
#include "hybridmem/model/make_geometry.hpp"
#include "hybridmem/organization/coarse_pages.hpp"
#include "hybridmem/organization/paged_recurrent.hpp"
#include "hybridmem/organization/slab_packed.hpp"
#include "hybridmem/organization/static_dual_pool.hpp"

using namespace hybridmem;
using namespace hybridmem_simulator;

namespace {

PageLayout falcon() {
  GeometryNumbers numbers;
  numbers.attention_layers = numbers.recurrent_layers = 44;
  numbers.kv_bytes_per_token_layer = 1'024;
  numbers.recurrent_bytes_layer = 1'572'864;
  numbers.conv_bytes_layer = 21'504;
  numbers.kernel_chunk_tokens = 128;
  return solve_layout(*make_geometry(numbers)).value();
}

/// `count` requests; a share of them begins with one of four common texts of whole chunks.
Workload mixed(std::size_t count, double sharing, double gap_s, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t limit) {
    return static_cast<std::uint32_t>(random() % limit);
  };
  Workload workload;
  workload.name = "mixed";
  std::uint64_t next = 1'000'000;
  for (std::size_t i = 0; i < count; ++i) {
    Request request;
    request.arrival_s = gap_s * static_cast<double>(i);
    request.first_chunk = static_cast<std::uint32_t>(workload.chunks.size());
    const bool shares = below(1000) < sharing * 1000;
    const std::uint32_t text = below(4);
    const std::uint32_t common = shares ? 1 + below(6) : 0;
    const std::uint32_t own = below(3);
    for (std::uint32_t k = 0; k < common; ++k) workload.chunks.push_back(text * 100 + k);
    for (std::uint32_t k = 0; k < own; ++k) workload.chunks.push_back(next++);
    request.chunk_count = common + own;
    request.input_tokens = (common + own) * 512 + 1 + below(511);
    request.output_tokens = 1 + below(200);
    workload.requests.push_back(request);
  }
  return workload;
}

StepSeconds seconds_of_step() {
  return [](std::uint64_t prefill, std::uint32_t decodes) {
    return 0.015 + 90e-6 * static_cast<double>(prefill) + 4e-4 * decodes;
  };
}

template <class Organization, class Events = NoEvents>
RunResult run(const Workload& workload, PoolUnits units, EngineOptions options = {},
              Events events = {}) {
  options.cache.units = units;
  Engine<Organization, Events> engine(organization_layout(falcon(), Organization::kind), options,
                                      workload, seconds_of_step(), std::move(events));
  return engine.run();
}

template <class Organization>
constexpr PoolUnits tight() {
  if (Organization::kind == OrganizationKind::coarse_pages) return {63, 0};
  if (Organization::kind == OrganizationKind::static_dual_pool) return {3256, 29};
  return {193, 0};
}

void check_conservation(const Workload& workload, const RunResult& result) {
  std::uint64_t output = 0;
  std::uint64_t computed = 0;
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    const Request& request = workload.requests[i];
    const RequestResult& one = result.requests[i];
    REQUIRE(one.served() != one.unservable);
    if (!one.served()) continue;
    output += request.output_tokens;
    computed += one.computed_tokens;
    CHECK(one.first_token_s > request.arrival_s);
    CHECK(one.end_s >= one.first_token_s);
    CHECK(one.adopted_tokens < request.input_tokens);
    CHECK(one.adopted_tokens + one.computed_tokens >= request.input_tokens);
    if (one.preemptions == 0)
      CHECK(one.adopted_tokens + one.computed_tokens == request.input_tokens);
  }
  CHECK(result.output_tokens >= output);
  CHECK(result.prefill_tokens >= computed);
  CHECK(result.audit_findings == 0);
  CHECK(result.busy_s <= result.end_s - result.start_s + 1e-6);
}

struct Counter {
  static constexpr bool enabled = true;
  std::uint64_t* count;
  void operator()(const Event& event) const { *count = event.number; }
};

}  // namespace

TEST_CASE_TEMPLATE("every request ends exactly once and its tokens add up", Organization,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const unsigned seed : {1U, 2U}) {
    const Workload workload = mixed(120, 0.7, 0.2, seed);
    const RunResult result = run<Organization>(workload, tight<Organization>());
    check_conservation(workload, result);
    CHECK(result.metrics.commits == 120);
  }
}

TEST_CASE_TEMPLATE("equal inputs give equal results", Organization, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  const Workload workload = mixed(80, 0.5, 0.1, 3);
  const RunResult a = run<Organization>(workload, tight<Organization>());
  const RunResult b = run<Organization>(workload, tight<Organization>());
  CHECK(a.end_s == b.end_s);
  CHECK(a.prefill_tokens == b.prefill_tokens);
  for (std::size_t i = 0; i < a.requests.size(); ++i)
    CHECK(a.requests[i].end_s == b.requests[i].end_s);
}

TEST_CASE("without sharing the shared pools compute the same tokens") {
  const Workload workload = mixed(60, 0.0, 4.0, 4);
  const RunResult s0 = run<CoarsePages>(workload, tight<CoarsePages>());
  const RunResult s1 = run<PagedRecurrent>(workload, tight<PagedRecurrent>());
  const RunResult s2 = run<SlabPacked>(workload, tight<SlabPacked>());
  CHECK(s0.metrics.preemptions + s1.metrics.preemptions + s2.metrics.preemptions == 0);
  CHECK(s0.prefill_tokens == s1.prefill_tokens);
  CHECK(s1.prefill_tokens == s2.prefill_tokens);
  CHECK(s2.metrics.adopted_tokens == 0);
}

TEST_CASE_TEMPLATE("with room for all and no overlap a request saves what the trace allows",
                   Organization, CoarsePages, PagedRecurrent, SlabPacked) {
  const Workload workload = mixed(60, 0.8, 1000.0, 5);
  const RunResult result = run<Organization>(workload, {5000, 0});
  std::map<std::pair<std::uint32_t, std::uint64_t>, bool> seen;  // (place, number)
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    const Request& request = workload.requests[i];
    std::uint32_t depth = 0;
    while (depth < request.chunk_count &&
           seen.contains({depth, workload.chunks[request.first_chunk + depth]}))
      ++depth;
    const Tokens allowed = std::min(depth * 512, (request.input_tokens - 1) / 512 * 512);
    CHECK(result.requests[i].adopted_tokens == allowed);
    for (std::uint32_t k = 0; k < request.chunk_count; ++k)
      if ((k + 1) * 512 <= request.input_tokens)
        seen[{k, workload.chunks[request.first_chunk + k]}] = true;
  }
}

TEST_CASE_TEMPLATE("a request that can never fit is counted, and the run goes on", Organization,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  Workload workload = mixed(20, 0.5, 0.5, 6);
  workload.requests[7].input_tokens = 2'000'000;
  const RunResult result = run<Organization>(workload, tight<Organization>());
  CHECK(result.requests[7].unservable);
  CHECK_FALSE(result.requests[7].served());
  const RunSummary summary = summarise(workload, result, [](std::size_t) { return true; });
  CHECK(summary.unservable == 1);
  CHECK(summary.served == 19);
  CHECK(result.audit_findings == 0);
}

TEST_CASE("tracing on and off give the same schedule") {
  const Workload workload = mixed(60, 0.7, 0.2, 7);
  std::uint64_t events = 0;
  const RunResult plain = run<SlabPacked>(workload, tight<SlabPacked>());
  const RunResult traced =
      run<SlabPacked, Counter>(workload, tight<SlabPacked>(), {}, Counter{&events});
  CHECK(events > 100);
  CHECK(plain.end_s == traced.end_s);
  CHECK(plain.steps == traced.steps);
}

TEST_CASE("under pressure requests are preempted, come back, and still end") {
  const Workload workload = mixed(80, 0.3, 0.01, 8);
  const RunResult result = run<StaticDualPool>(workload, {1200, 40});
  check_conservation(workload, result);
  CHECK(result.metrics.preemptions > 0);
  CHECK(result.metrics.resumes == result.metrics.preemptions);
  CHECK(result.stranded_fraction > 0.0);
}

TEST_CASE("the paper's rules run to the end too") {
  EngineOptions options;
  options.running_cap = 63;
  options.cache.checkpoints_yield = false;
  options.cache.preemption_pinning = 2;
  options.cache.headroom = 0.19;
  options.cache.organization.slab_order = SlabOrder::creation;
  options.cache.organization.slot_placement = SlotPlacement::fifo;
  const Workload workload = mixed(100, 0.9, 0.3, 9);
  check_conservation(workload, run<SlabPacked>(workload, {192, 0}, options));
  check_conservation(workload, run<StaticDualPool>(workload, {3255, 28}, options));
}

TEST_CASE("an empty workload is an empty result, and progress can stop a run") {
  const RunResult none = run<SlabPacked>(Workload{}, {100, 0});
  CHECK(none.steps == 0);
  const Workload workload = mixed(50, 0.5, 0.1, 10);
  EngineOptions options;
  options.cache.units = {193, 0};
  Engine<SlabPacked> engine(organization_layout(falcon(), OrganizationKind::slab_packed), options,
                            workload, seconds_of_step());
  const RunResult stopped = engine.run([](double) { return false; });
  CHECK(stopped.steps == 0);
  CHECK(stopped.audit_findings == 0);
}

TEST_CASE("percentiles are by nearest rank") {
  std::vector<double> none;
  CHECK(percentile(none, 0.5) == 0.0);
  std::vector<double> ten{10, 1, 9, 2, 8, 3, 7, 4, 6, 5};
  CHECK(percentile(ten, 0.5) == 5);
  CHECK(percentile(ten, 0.99) == 10);
  CHECK(percentile(ten, 0.1) == 1);
}

TEST_CASE("keys name equal chunks at equal places alike, on any grid, and nothing else") {
  Workload workload;
  workload.chunks = {1, 2, 3, 1, 2, 4};
  workload.requests = {
      {0.0, 1536, 10, 0, 3, 0}, {0.0, 1536, 10, 3, 3, 0}, {0.0, 1536, 10, 0, 3, 5}};
  std::vector<Key> a;
  std::vector<Key> b;
  std::vector<Key> salted;
  fill_keys(workload, 0, 1546, 16, a);
  fill_keys(workload, 1, 1546, 16, b);
  fill_keys(workload, 2, 1546, 16, salted);
  REQUIRE(a.size() == 96);
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK((a[i] == b[i]) == (i < 64));
    CHECK(a[i] != salted[i]);
  }
  std::vector<Key> coarse;
  fill_keys(workload, 0, 1546, 512, coarse);
  CHECK(coarse[1] == a[63]);
}
