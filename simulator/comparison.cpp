#include "simulator/comparison.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "hybridmem/organization/coarse_pages.hpp"
#include "hybridmem/organization/paged_recurrent.hpp"
#include "hybridmem/organization/slab_packed.hpp"
#include "hybridmem/organization/static_dual_pool.hpp"

namespace hybridmem_simulator {

namespace {

using hybridmem::OrganizationKind;

template <class Organization>
RunResult run_as(const Contender& contender, const Workload& workload, const Progress& progress) {
  Engine<Organization> engine(contender.layout, contender.options, workload, contender.seconds);
  return engine.run(progress);
}

RunResult serve_nothing(const Contender& contender, const Workload& workload) {
  RunResult result;
  result.organization = hybridmem::name_of(contender.layout.kind);
  result.units = contender.options.cache.units;
  result.requests.resize(workload.requests.size());
  for (RequestResult& request : result.requests) request.unservable = true;
  if (!workload.requests.empty())
    result.start_s = result.end_s = workload.requests.front().arrival_s;
  return result;
}

}  // namespace

bool holds_anything(const Contender& contender) {
  return hybridmem::fits(contender.layout, {contender.layout.units_per_block > 0 ? 1U : 0U, 1}, 1,
                         contender.options.cache.units);
}

RunResult run_one(const Contender& contender, const Workload& workload, const Progress& progress) {
  if (!holds_anything(contender)) return serve_nothing(contender, workload);
  switch (contender.layout.kind) {
    case OrganizationKind::coarse_pages:
      return run_as<hybridmem::CoarsePages>(contender, workload, progress);
    case OrganizationKind::paged_recurrent:
      return run_as<hybridmem::PagedRecurrent>(contender, workload, progress);
    case OrganizationKind::slab_packed:
      return run_as<hybridmem::SlabPacked>(contender, workload, progress);
    case OrganizationKind::static_dual_pool:
      break;
  }
  return run_as<hybridmem::StaticDualPool>(contender, workload, progress);
}

std::vector<RunResult> run_all(std::span<const Contender> contenders, const Workload& workload,
                               unsigned threads, const Progress& progress) {
  const std::size_t count = contenders.size();
  std::vector<RunResult> results(count);
  std::vector<double> done(count, 0.0);
  std::vector<std::exception_ptr> problems(count);
  std::mutex mutex;
  std::atomic<std::size_t> next{0};
  bool stopped = false;
  const auto report = [&](std::size_t index, double share) {
    const std::lock_guard lock(mutex);
    done[index] = share;
    if (!stopped && progress)
      stopped =
          !progress(std::accumulate(done.begin(), done.end(), 0.0) / static_cast<double>(count));
    return !stopped;
  };
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        results[i] = run_one(contenders[i], workload,
                             [&report, i](double share) { return report(i, share); });
        static_cast<void>(report(i, 1.0));
      } catch (...) {
        problems[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> workers;
    for (std::size_t i = 1; i < std::min<std::size_t>(threads, count); ++i)
      workers.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& problem : problems)
    if (problem) std::rethrow_exception(problem);
  return results;
}

bool was_stopped(const RunResult& run) {
  return !std::ranges::all_of(run.requests, [](const RequestResult& request) {
    return request.served() || request.unservable;
  });
}

std::vector<bool> common_requests(std::span<const RunResult> runs) {
  std::vector<bool> common;
  if (runs.empty()) return common;
  common.resize(runs.front().requests.size(), true);
  const bool stopped = std::ranges::any_of(runs, was_stopped);
  for (const RunResult& run : runs) {
    if (std::ranges::all_of(run.requests, &RequestResult::unservable)) continue;
    for (std::size_t i = 0; i < common.size(); ++i) {
      const RequestResult& request = run.requests[i];
      if (request.unservable || (stopped && !request.served())) common[i] = false;
    }
  }
  return common;
}

std::size_t best_of(std::span<const RunSummary> summaries) {
  double most = 0.0;
  for (const RunSummary& summary : summaries) most = std::max(most, summary.output_tokens_per_s);
  std::size_t best = summaries.size();
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    if (summaries[i].served == 0 || summaries[i].output_tokens_per_s < most * (1.0 - rate_tie))
      continue;
    if (best == summaries.size() || summaries[i].ttft_p99_s < summaries[best].ttft_p99_s) best = i;
  }
  return best == summaries.size() ? 0 : best;
}

Workload scaled_head(const Workload& workload, std::size_t count, double rate_scale) {
  Workload head = workload;
  head.requests.resize(std::min(count, head.requests.size()));
  for (Request& request : head.requests) request.arrival_s /= rate_scale;
  return head;
}

Workload at_once(const Workload& workload, std::size_t count) {
  Workload head = workload;
  head.requests.resize(std::min(count, head.requests.size()));
  for (Request& request : head.requests) request.arrival_s = 0.0;
  return head;
}

double arrival_span_s(const Workload& workload) {
  return workload.requests.empty()
             ? 0.0
             : workload.requests.back().arrival_s - workload.requests.front().arrival_s;
}

}  // namespace hybridmem_simulator
