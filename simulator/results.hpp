// What a simulated run measured: per request, and in sum.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "hybridmem/cache/state_cache.hpp"
#include "simulator/request.hpp"

namespace hybridmem_simulator {

/// One request. Times are in seconds of the simulation; negative where it did not come to that.
struct RequestResult {
  double first_token_s = -1.0;
  double end_s = -1.0;
  Tokens adopted_tokens = 0;  ///< at its first admission
  Tokens recurrent_depth =
      0;  ///< deepest checkpoint at its first admission, whatever the attention
  Tokens attention_depth = 0;         ///< leading attention blocks at its first admission
  std::uint64_t computed_tokens = 0;  ///< prefill, recomputation after preemptions included
  std::uint32_t preemptions = 0;
  bool unservable = false;  ///< it could not run alone in an empty cache
  hybridmem::LimitedBy limited_by = hybridmem::LimitedBy::neither;

  bool served() const noexcept { return end_s >= 0.0; }
};

/// One run of one organization.
struct RunResult {
  std::string organization;
  hybridmem::PoolUnits units{};
  std::vector<RequestResult> requests;  ///< as in the workload
  double start_s = 0.0;                 ///< first arrival
  double end_s = 0.0;                   ///< end of the last step
  double busy_s = 0.0;                  ///< spent in steps
  std::uint64_t steps = 0;
  std::uint64_t prefill_tokens = 0;
  std::uint64_t output_tokens = 0;
  double running_mean = 0.0;  ///< over time
  double waiting_mean = 0.0;  ///< over time
  /// Of a pool's bytes, over time: what could not be lent to the other pool's waiting demand.
  double stranded_fraction = 0.0;
  hybridmem::Metrics metrics{};
  std::uint64_t audit_findings = 0;  ///< at the end, with everything released
};

/// What a user compares. Percentiles are of served requests, by nearest rank.
struct RunSummary {
  std::uint64_t served = 0;
  std::uint64_t unservable = 0;
  double output_tokens_per_s = 0.0;
  double ttft_p50_s = 0.0;
  double ttft_p99_s = 0.0;
  double e2e_p99_s = 0.0;
  double tpot_p99_s = 0.0;  ///< seconds a token after the first; requests of one token have none
  std::uint64_t prefill_tokens = 0;
  std::uint64_t saved_tokens = 0;
  double joint_depth_mean = 0.0;
  std::uint64_t limited_by_attention = 0;
  std::uint64_t limited_by_recurrent = 0;
  std::uint64_t limited_by_none = 0;
  std::uint64_t preemptions = 0;
};

/// Sums a run up over the requests for which `counts(i)` holds.
template <class Counts>
RunSummary summarise(const Workload& workload, const RunResult& run, Counts&& counts);

/// The value below or at which `fraction` of `values` lie, by nearest rank; 0 without any.
/// Reorders.
double percentile(std::vector<double>& values, double fraction);

}  // namespace hybridmem_simulator

#include <algorithm>
#include <cmath>

namespace hybridmem_simulator {

inline double percentile(std::vector<double>& values, double fraction) {
  if (values.empty()) return 0.0;
  const auto rank =
      static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(values.size())));
  const std::size_t place = rank == 0 ? 0 : rank - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(place),
                   values.end());
  return values[place];
}

template <class Counts>
RunSummary summarise(const Workload& workload, const RunResult& run, Counts&& counts) {
  RunSummary summary;
  std::vector<double> ttft;
  std::vector<double> e2e;
  std::vector<double> tpot;
  std::uint64_t output = 0;
  double last = run.start_s;
  for (std::size_t i = 0; i < run.requests.size(); ++i) {
    const RequestResult& one = run.requests[i];
    const Request& request = workload.requests[i];
    summary.unservable += one.unservable ? 1 : 0;
    if (!counts(i) || !one.served()) continue;
    ++summary.served;
    output += request.output_tokens;
    last = std::max(last, one.end_s);
    ttft.push_back(one.first_token_s - request.arrival_s);
    e2e.push_back(one.end_s - request.arrival_s);
    if (request.output_tokens > 1)
      tpot.push_back((one.end_s - one.first_token_s) / (request.output_tokens - 1));
    summary.prefill_tokens += one.computed_tokens;
    summary.saved_tokens += one.adopted_tokens;
    summary.preemptions += one.preemptions;
    switch (one.limited_by) {
      case hybridmem::LimitedBy::attention:
        ++summary.limited_by_attention;
        break;
      case hybridmem::LimitedBy::recurrent:
        ++summary.limited_by_recurrent;
        break;
      case hybridmem::LimitedBy::neither:
        ++summary.limited_by_none;
        break;
    }
  }
  const double span = last - run.start_s;
  summary.output_tokens_per_s = span > 0.0 ? static_cast<double>(output) / span : 0.0;
  summary.joint_depth_mean = summary.served == 0 ? 0.0
                                                 : static_cast<double>(summary.saved_tokens) /
                                                       static_cast<double>(summary.served);
  summary.ttft_p50_s = percentile(ttft, 0.50);
  summary.ttft_p99_s = percentile(ttft, 0.99);
  summary.e2e_p99_s = percentile(e2e, 0.99);
  summary.tpot_p99_s = percentile(tpot, 0.99);
  return summary;
}

}  // namespace hybridmem_simulator
