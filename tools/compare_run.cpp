#include "compare_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/sharing_bound.hpp"
#include "table.hpp"

namespace hybridmem_tool {

namespace {

using hybridmem::OrganizationKind;
using hybridmem::PoolSplit;
using hybridmem_simulator::Contender;
using hybridmem_simulator::Progress;
using hybridmem_simulator::RunResult;
using hybridmem_simulator::RunSummary;
using hybridmem_simulator::Workload;

constexpr std::size_t split_requests = 300;
constexpr std::size_t load_requests = 1'000;
/// Of the time in which requests arrive: a run that goes on longer than this was saturated.
constexpr double saturated_tail = 0.2;
constexpr double wanted_load = 0.8;

/// A part of the whole progress.
Progress part(const Progress& progress, double from, double to) {
  if (!progress) return {};
  return [&progress, from, to](double done) { return progress(from + (to - from) * done); };
}

std::vector<Contender> contenders_of(const std::vector<CompareRow>& rows) {
  std::vector<Contender> contenders;
  contenders.reserve(rows.size());
  for (const CompareRow& row : rows) contenders.push_back(row.contender);
  return contenders;
}

std::vector<RunSummary> summaries_of(const Workload& workload, const std::vector<RunResult>& runs) {
  const std::vector<bool> common = hybridmem_simulator::common_requests(runs);
  std::vector<RunSummary> summaries;
  for (const RunResult& run : runs)
    summaries.push_back(hybridmem_simulator::summarise(
        workload, run, [&common](std::size_t i) { return bool{common[i]}; }));
  return summaries;
}

/// Nine splits on the first part of the workload.
PoolSplit search(CompareResult& result, const CompareRequest& request, const Workload& part_of_it,
                 const Progress& progress) {
  std::vector<Contender> contenders;
  for (std::uint32_t tenth = 1; tenth <= 9; ++tenth) {
    const PoolSplit split{tenth * 100'000};
    result.splits.push_back({split, {}});
    contenders.push_back(make_row(request, OrganizationKind::static_dual_pool, split).contender);
  }
  const auto runs = hybridmem_simulator::run_all(contenders, part_of_it, request.threads, progress);
  // A split that can serve fewer requests is no candidate.
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    result.splits[i].summary =
        hybridmem_simulator::summarise(part_of_it, runs[i], [](std::size_t) { return true; });
    most = std::max(most, result.splits[i].summary.served);
  }
  std::vector<RunSummary> candidates;
  for (const SplitTrial& trial : result.splits)
    candidates.push_back(trial.summary.served == most ? trial.summary : RunSummary{});
  result.split_requests = part_of_it.requests.size();
  return result.splits[hybridmem_simulator::best_of(candidates)].split;
}

void add_rows(CompareResult& result, const CompareRequest& request, const Workload& first_part,
              const Progress& progress) {
  for (const OrganizationKind kind : request.engine.organizations) {
    if (kind != OrganizationKind::static_dual_pool) {
      result.rows.push_back(make_row(request, kind, {}));
      continue;
    }
    const std::uint32_t paper =
        hybridmem::paper_settings(request.layout.geometry).dual_attention_millionths;
    PoolSplit split;
    if (request.engine.split_millionths || paper != 0) {
      result.split_source =
          request.engine.split_millionths ? SplitSource::given : SplitSource::paper;
      split.attention_millionths = request.engine.split_millionths.value_or(paper);
    } else if (!request.layout.has_attention()) {
      result.split_source = SplitSource::no_attention;
      split.attention_millionths = 0;
    } else {
      result.split_source = SplitSource::searched;
      split = search(result, request, first_part, progress);
    }
    result.rows.push_back(make_row(request, kind, split));
    if (result.split_source == SplitSource::searched && split.attention_fraction() != 0.5) {
      result.rows.push_back(make_row(request, kind, {}));
      result.rows.back().half = true;
    }
  }
}

/// Loads of all rows, from the first requests arriving at once.
void estimate_loads(CompareResult& result, const Workload& workload, unsigned threads,
                    const Progress& progress) {
  const Workload head = hybridmem_simulator::at_once(workload, load_requests);
  const double span = hybridmem_simulator::arrival_span_s(
      hybridmem_simulator::scaled_head(workload, load_requests, 1.0));
  if (!(span > 0.0)) return;
  const auto runs =
      hybridmem_simulator::run_all(contenders_of(result.rows), head, threads, progress);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (hybridmem_simulator::was_stopped(runs[i]) || runs[i].steps == 0) continue;
    result.rows[i].load = (runs[i].end_s - runs[i].start_s) / span;
  }
  result.load_requests = head.requests.size();
}

/// Whether every run was so long that it shows the load by itself; then the loads are set.
bool loads_from_runs(CompareResult& result) {
  const double span = hybridmem_simulator::arrival_span_s(result.workload);
  if (result.workload.requests.size() <= load_requests || !(span > 0.0)) return false;
  const auto saturated = [&](const CompareRow& row) {
    return row.run.steps == 0 || row.run.end_s - row.run.start_s > span * (1.0 + saturated_tail);
  };
  if (!std::ranges::all_of(result.rows, saturated)) return false;
  for (CompareRow& row : result.rows)
    if (row.run.steps > 0) row.load = (row.run.end_s - row.run.start_s) / span;
  return true;
}

void find_rate(CompareResult& result, const CompareRequest& request, const Workload& workload,
               const Progress& progress) {
  estimate_loads(result, workload, request.threads, progress);
  double least = 0.0;
  for (const CompareRow& row : result.rows)
    if (row.load && (least == 0.0 || *row.load < least)) least = *row.load;
  if (least == 0.0) {
    if (progress && !progress(1.0)) return;  // interrupted: as recorded
    throw UsageError(
        "--rate-scale = auto: expected requests that arrive over some time and that some "
        "organization can serve");
  }
  result.rate_scale = wanted_load / least;
  for (CompareRow& row : result.rows)
    if (row.load) *row.load *= result.rate_scale;
}

}  // namespace

CompareRow make_row(const CompareRequest& request, OrganizationKind kind, const PoolSplit& split) {
  CompareRow row;
  row.contender.layout = hybridmem::organization_layout(request.layout, kind);
  row.contender.options = request.engine.options;
  row.contender.seconds = request.cost(kind);
  const auto plan = hybridmem::plan_units(row.contender.layout, request.budget, split);
  if (!plan) throw UsageError(describe_option(plan.error()));
  hybridmem::PoolUnits units = plan->units;
  if (request.engine.paper_rules)
    for (std::uint64_t& pool : units) pool -= pool > 0 ? 1 : 0;
  row.contender.options.cache.units = units;
  row.budget_bytes = request.budget.bytes;
  row.unit_bytes = plan->bytes;
  if (row.contender.layout.pools == 2) row.split = split;
  return row;
}

CompareResult compare(const CompareRequest& request, const ChosenWorkload& chosen,
                      const Progress& progress) {
  CompareResult result;
  const Workload& source = chosen.workload;
  const Workload first_part =
      chosen.auto_rate
          ? hybridmem_simulator::at_once(source, split_requests)
          : hybridmem_simulator::scaled_head(source, split_requests, chosen.rate_scale);
  add_rows(result, request, first_part, part(progress, 0.0, 0.1));
  if (std::ranges::none_of(result.rows, [](const CompareRow& row) {
        return hybridmem_simulator::holds_anything(row.contender);
      }))
    refuse("--budget", request.budget_text,
           "room for one attention block and one state in some organization (see hybridmem plan)");
  result.rate_scale = chosen.rate_scale;
  if (chosen.auto_rate) find_rate(result, request, source, part(progress, 0.1, 0.3));
  result.workload =
      hybridmem_simulator::scaled_head(source, source.requests.size(), result.rate_scale);

  const auto contenders = contenders_of(result.rows);
  auto runs = hybridmem_simulator::run_all(contenders, result.workload, request.threads,
                                           part(progress, chosen.auto_rate ? 0.3 : 0.1, 0.95));
  result.interrupted = std::ranges::any_of(runs, hybridmem_simulator::was_stopped);
  if (std::ranges::all_of(runs, [](const RunResult& run) {
        return std::ranges::all_of(run.requests, &hybridmem_simulator::RequestResult::unservable);
      }))
    refuse("--budget", request.budget_text,
           fmt::format("room for one request; none of {} fits any organization, even alone",
                       grouped(result.workload.requests.size())));

  const std::vector<bool> common = hybridmem_simulator::common_requests(runs);
  result.ranked_requests = static_cast<std::size_t>(std::count(common.begin(), common.end(), true));
  const auto summaries = summaries_of(result.workload, runs);
  result.best = hybridmem_simulator::best_of(summaries);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    CompareRow& row = result.rows[i];
    row.run = std::move(runs[i]);
    row.summary = summaries[i];
    row.bound_tokens =
        hybridmem_simulator::sharing_bound(result.workload, row.contender.layout.block_tokens,
                                           row.contender.layout.block_tokens)
            .saved_tokens;
  }
  if (!chosen.auto_rate && !result.interrupted && !loads_from_runs(result))
    estimate_loads(result, result.workload, request.threads, part(progress, 0.95, 1.0));
  return result;
}

}  // namespace hybridmem_tool
