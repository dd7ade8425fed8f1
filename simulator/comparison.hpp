// Comparison: several organizations over one workload, each with a cache of its own.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "simulator/engine.hpp"

namespace hybridmem_simulator {

/// One organization as it is to run; `options.cache.units` are those of its pools.
struct Contender {
  hybridmem::OrganizationLayout layout{};
  EngineOptions options{};
  StepSeconds seconds;
};

/// Whether its pools have room for one attention block and one running state, without which it has
/// no cache at all.
bool holds_anything(const Contender& contender);

/// One run. A contender that holds nothing serves no request.
RunResult run_one(const Contender& contender, const Workload& workload,
                  const Progress& progress = {});

/// One run of each contender, on up to `threads` threads; results are in their order and do not
/// depend on the threads. `progress` gets the mean share, one call at a time. What a run throws is
/// thrown here, once all have ended.
std::vector<RunResult> run_all(std::span<const Contender> contenders, const Workload& workload,
                               unsigned threads, const Progress& progress = {});

/// Whether a request of the run neither was served nor can never be: the run was stopped.
bool was_stopped(const RunResult& run);

/// For each request, whether every run that can serve any can serve it; of stopped runs, whether
/// all of them did.
std::vector<bool> common_requests(std::span<const RunResult> runs);

/// Rates this close count as equal.
inline constexpr double rate_tie = 0.01;

/// The one with most tokens a second; of those within `rate_tie` of it, the one with the least TTFT
/// p99, then the first. One that served nothing is never better than one that served something.
/// Precondition: not empty.
std::size_t best_of(std::span<const RunSummary> summaries);

/// The first `count` requests, with arrivals divided by `rate_scale`.
Workload scaled_head(const Workload& workload, std::size_t count, double rate_scale);

/// The first `count` requests, all arriving at once.
Workload at_once(const Workload& workload, std::size_t count);

/// Seconds from the first arrival to the last.
double arrival_span_s(const Workload& workload);

}  // namespace hybridmem_simulator
