#include "compare_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "report_text.hpp"
#include "table.hpp"

namespace hybridmem_tool {

namespace {

using hybridmem_simulator::RunSummary;

/// Differences below this share are not worth a word.
constexpr double worth_saying = 0.02;

double rounded(double value) {
  constexpr double digits = 1e6;
  return std::round(value * digits) / digits;
}

std::uint64_t sum(const hybridmem_simulator::Workload& workload, bool input) {
  std::uint64_t tokens = 0;
  for (const auto& request : workload.requests)
    tokens += input ? request.input_tokens : request.output_tokens;
  return tokens;
}

/// Seconds as people read them, in at most six columns.
std::string seconds_text(double seconds) {
  if (seconds >= 1000.0) return grouped(static_cast<std::uint64_t>(std::llround(seconds)));
  if (seconds >= 100.0) return fmt::format("{:.0f}", seconds);
  return seconds >= 10.0 ? fmt::format("{:.1f}", seconds) : fmt::format("{:.2f}", seconds);
}

std::string rate_text(double rate) {
  return rate >= 1000.0 ? grouped(static_cast<std::uint64_t>(std::llround(rate)))
                        : fmt::format("{:.1f}", rate);
}

/// The rows that served anything, best first: the order of `best_of`, one after another.
std::vector<std::size_t> ranking(const CompareResult& result) {
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < result.rows.size(); ++i)
    if (result.rows[i].summary.served > 0) left.push_back(i);
  std::vector<std::size_t> order;
  while (!left.empty()) {
    std::vector<RunSummary> summaries;
    for (const std::size_t i : left) summaries.push_back(result.rows[i].summary);
    const auto at = static_cast<std::ptrdiff_t>(hybridmem_simulator::best_of(summaries));
    order.push_back(left[static_cast<std::size_t>(at)]);
    left.erase(left.begin() + at);
  }
  return order;
}

std::vector<Reason> reasons_of(const CompareRow& best, const CompareRow& other) {
  std::vector<Reason> reasons;
  const auto consider = [&](const char* counter, double ours, double theirs, bool more_is_better,
                            const std::string& text) {
    if (ours == theirs) return;
    if (std::abs(ours - theirs) < worth_saying * std::max(ours, theirs)) return;
    reasons.push_back({counter, ours, theirs, (ours > theirs) == more_is_better, text});
  };
  const auto count = [&](const char* counter, std::uint64_t ours, std::uint64_t theirs,
                         bool more_is_better, const char* format) {
    consider(counter, static_cast<double>(ours), static_cast<double>(theirs), more_is_better,
             fmt::format(fmt::runtime(format), grouped(ours), grouped(theirs)));
  };
  const RunSummary& a = best.summary;
  const RunSummary& b = other.summary;
  count("saved_tokens", a.saved_tokens, b.saved_tokens, true,
        "it reused {} prompt tokens against {}");
  count("prefill_tokens", a.prefill_tokens, b.prefill_tokens, false,
        "it computed {} prompt tokens against {}");
  count("preemptions", a.preemptions, b.preemptions, false, "it preempted {} times against {}");
  consider("running_mean", rounded(best.run.running_mean), rounded(other.run.running_mean), true,
           fmt::format("{:.1f} requests ran at once against {:.1f}", best.run.running_mean,
                       other.run.running_mean));
  consider("stranded_fraction", rounded(best.run.stranded_fraction),
           rounded(other.run.stranded_fraction), false,
           fmt::format("{} of its memory lay idle beside a waiting request against {}",
                       percent(best.run.stranded_fraction), percent(other.run.stranded_fraction)));
  count("cross_invalidations", best.run.metrics.cross_invalidations,
        other.run.metrics.cross_invalidations, false,
        "it lost {} checkpoints to reassigned slabs against {}");
  return reasons;
}

std::string first_sentence(const CompareRow& best, const CompareRow& other) {
  const double ours = best.summary.output_tokens_per_s;
  const double theirs = other.summary.output_tokens_per_s;
  const std::string names = fmt::format("{} is best: ", row_name(best));
  const double ahead = theirs > 0.0 ? ours / theirs - 1.0 : 0.0;
  if (ahead >= hybridmem_simulator::rate_tie || theirs == 0.0)
    return names + fmt::format("{} output tokens/s, {} more than {} with {}", rate_text(ours),
                               percent(ahead), row_name(other), rate_text(theirs));
  return names + fmt::format(
                     "with {} output tokens/s it is within 1% of {}, and its TTFT p99 is "
                     "{} s against {} s",
                     rate_text(ours), row_name(other), seconds_text(best.summary.ttft_p99_s),
                     seconds_text(other.summary.ttft_p99_s));
}

std::string units_text(const CompareRow& row) {
  const hybridmem::PoolUnits& units = row.contender.options.cache.units;
  return row.contender.layout.pools == 2 ? grouped(units[0]) + "+" + grouped(units[1])
                                         : grouped(units[0]);
}

std::string checkpoints_rule(const hybridmem::CacheOptions& cache) {
  return cache.checkpoints_yield ? "yielding" : "required";
}

std::string engine_text(const ChosenEngine& engine) {
  const hybridmem_simulator::EngineOptions& options = engine.options;
  const hybridmem::CacheOptions& cache = options.cache;
  std::string text = row(
      "engine", fmt::format("at most {} at once, {} tokens a step; headroom {:g}, retention {}, "
                            "pinning {}",
                            grouped(options.running_cap), grouped(options.token_budget),
                            cache.headroom, cache.retention, cache.preemption_pinning));
  text += row("", fmt::format("checkpoints {}{}", checkpoints_rule(cache),
                              engine.paper_rules ? "; one unit of each pool is the engine's" : ""));
  text += row("orders",
              fmt::format("free {}, slabs {}, slots {}", name_of(cache.organization.free_order),
                          name_of(cache.organization.slab_order),
                          name_of(cache.organization.slot_placement)));
  return text;
}

std::string requests_text(const CompareContext& context) {
  const auto& workload = context.result.workload;
  const double span = hybridmem_simulator::arrival_span_s(workload);
  std::string text = row(
      "requests", fmt::format("{} of {}", grouped(workload.requests.size()),
                              printable(std::filesystem::path(workload.name).filename().string())));
  text += row("", fmt::format("{} prompt and {} output tokens", grouped(sum(workload, true)),
                              grouped(sum(workload, false))));
  std::string rate = span > 0.0
                         ? fmt::format("arriving over {} s, {:.3g} a second", seconds_text(span),
                                       static_cast<double>(workload.requests.size()) / span)
                         : "all at once";
  if (context.result.rate_scale != 1.0 || context.chosen.auto_rate)
    rate += fmt::format("; rate scale {:.4g}{}", context.result.rate_scale,
                        context.chosen.auto_rate ? " (found: 0.8 of the best)" : "");
  return text + row("", rate);
}

std::string table_text(const CompareResult& result) {
  using enum Table::Align;
  Table table({{"  organization"},
               {"units", right},
               {"tok/s", right},
               {"TTFT p50", right},
               {"p99", right},
               {"E2E p99", right},
               {"saved", right},
               {"depth", right},
               {"att/rec", right},
               {"preempt", right},
               {"cross", right}});
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const CompareRow& one = result.rows[i];
    const RunSummary& summary = one.summary;
    const double prompt = static_cast<double>(summary.saved_tokens + summary.prefill_tokens);
    std::string name = i == result.best ? "* " : "  ";
    name += one.half ? "  split at 0.5" : row_name(one);
    table.add({name, units_text(one), rate_text(summary.output_tokens_per_s),
               seconds_text(summary.ttft_p50_s), seconds_text(summary.ttft_p99_s),
               seconds_text(summary.e2e_p99_s),
               percent(prompt > 0.0 ? static_cast<double>(summary.saved_tokens) / prompt : 0.0),
               grouped(static_cast<std::uint64_t>(std::llround(summary.joint_depth_mean))),
               fmt::format("{}/{}", summary.limited_by_attention, summary.limited_by_recurrent),
               grouped(summary.preemptions), grouped(one.run.metrics.cross_invalidations)});
  }
  return table.text();
}

std::string loads_text(const CompareResult& result) {
  std::string text;
  for (const CompareRow& one : result.rows) {
    if (!one.load) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{:.2f} {}", *one.load, row_name(one));
  }
  if (text.empty()) return {};
  return sentences(
      fmt::format("Load, offered against what each can do ({}): {}.",
                  result.load_requests == 0
                      ? std::string("from the runs, which were saturated")
                      : fmt::format("from {} at once", counted(result.load_requests, "request")),
                  text));
}

std::string splits_text(const CompareResult& result) {
  for (const CompareRow& one : result.rows) {
    if (!one.split || one.half) continue;
    const std::string share = percent(one.split->attention_fraction());
    switch (result.split_source) {
      case SplitSource::paper:
        return fmt::format("static_dual_pool: {} for attention, the paper's split.\n", share);
      case SplitSource::given:
        return fmt::format("static_dual_pool: {} for attention, as given.\n", share);
      case SplitSource::no_attention:
        return "static_dual_pool: all of it for checkpoints; the model has no attention layers.\n";
      case SplitSource::searched:
        return sentences(
            fmt::format("static_dual_pool: {} for attention, the best of nine splits on the first "
                        "{}.",
                        share, counted(result.split_requests, "request")));
    }
  }
  return {};
}

}  // namespace

std::string row_name(const CompareRow& row) {
  const std::string name = hybridmem::name_of(row.contender.layout.kind);
  return row.half ? name + " at 0.5" : name;
}

Verdict verdict_of(const CompareResult& result) {
  Verdict verdict;
  const std::vector<std::size_t> order = ranking(result);
  verdict.other = result.best;
  if (order.empty()) {
    verdict.sentence = "No request was served that all organizations could serve.";
    return verdict;
  }
  const CompareRow& best = result.rows[order.front()];
  if (order.size() == 1) {
    verdict.sentence = fmt::format("{} is the only one that serves: {} output tokens/s.",
                                   row_name(best), rate_text(best.summary.output_tokens_per_s));
    return verdict;
  }
  verdict.other = order[1];
  const CompareRow& other = result.rows[verdict.other];
  verdict.reasons = reasons_of(best, other);
  std::vector<std::string> helped;
  std::vector<std::string> hurt;
  for (const Reason& reason : verdict.reasons)
    (reason.favours_best ? helped : hurt).push_back(reason.text);
  verdict.sentence = first_sentence(best, other);
  verdict.sentence +=
      helped.empty() ? "; no counter speaks for it by 2% or more" : ": " + listed(helped);
  if (!hurt.empty()) verdict.sentence += ", although " + listed(hurt);
  verdict.sentence += ".";
  return verdict;
}

std::vector<std::string> warnings_of(const CompareContext& context) {
  const CompareResult& result = context.result;
  std::vector<std::string> warnings;
  if (result.interrupted)
    warnings.emplace_back("interrupted: the rows are of the requests that all had served by then");
  std::vector<std::string> over;
  double least = 0.0;
  for (const CompareRow& one : result.rows) {
    if (!one.load) continue;
    if (*one.load > 1.0) over.push_back(row_name(one));
    least = least == 0.0 ? *one.load : std::min(least, *one.load);
  }
  if (!over.empty())
    warnings.push_back(fmt::format(
        "overload: the requests offer more than {} can do ({:.1f} times what the best can); queues "
        "grow while they come, and times to first token tell the length of the workload; "
        "--rate-scale auto aims at 0.8",
        listed(over), least));
  for (const CompareRow& one : result.rows)
    if (one.summary.unservable > 0)
      warnings.push_back(fmt::format("{} can never hold {} of {}, even alone", row_name(one),
                                     counted(one.summary.unservable, "request"),
                                     grouped(result.workload.requests.size())));
  if (result.ranked_requests < result.workload.requests.size() && !result.interrupted)
    warnings.push_back(fmt::format("ranked on the {} that all can serve",
                                   counted(result.ranked_requests, "request")));
  if (!result.workload.has_sharing)
    warnings.emplace_back("the trace says nothing of prefixes: replayed without sharing");
  for (const CompareRow& one : result.rows)
    if (one.run.audit_findings > 0)
      warnings.push_back(
          fmt::format("{}: the audit at the end found {}; this is a fault of the "
                      "library, please report it",
                      row_name(one), counted(one.run.audit_findings, "problem")));
  return warnings;
}

Json engine_json(const ChosenEngine& engine) {
  const hybridmem::CacheOptions& cache = engine.options.cache;
  return {{"paper_rules", engine.paper_rules},
          {"running_cap", engine.options.running_cap},
          {"token_budget", engine.options.token_budget},
          {"headroom", cache.headroom},
          {"retention", cache.retention},
          {"pinning", cache.preemption_pinning},
          {"checkpoints", checkpoints_rule(cache)},
          {"units_kept_by_engine", engine.paper_rules ? 1 : 0},
          {"free_order", name_of(cache.organization.free_order)},
          {"slab_order", name_of(cache.organization.slab_order)},
          {"slot_placement", name_of(cache.organization.slot_placement)}};
}

Json compare_row_json(const CompareRow& row) {
  const RunSummary& summary = row.summary;
  const hybridmem_simulator::RunResult& run = row.run;
  const hybridmem::PoolUnits& units = row.contender.options.cache.units;
  Json json{{"organization", run.organization}};
  json["pages"] = units[0] + units[1];
  if (row.split) {
    json["attention_pages"] = units[0];
    json["recurrent_pages"] = units[1];
    json["attention_fraction"] = row.split->attention_fraction();
  }
  json["block_tokens"] = row.contender.layout.block_tokens;
  json["unused_bytes"] =
      static_cast<std::int64_t>(row.budget_bytes) - static_cast<std::int64_t>(row.unit_bytes);
  json["output_tokens_per_s"] = rounded(summary.output_tokens_per_s);
  json["ttft_p50_s"] = rounded(summary.ttft_p50_s);
  json["ttft_p99_s"] = rounded(summary.ttft_p99_s);
  json["e2e_p99_s"] = rounded(summary.e2e_p99_s);
  json["tpot_p99_s"] = rounded(summary.tpot_p99_s);
  json["prefill_tokens"] = summary.prefill_tokens;
  json["saved_tokens"] = summary.saved_tokens;
  json["sharing_bound_tokens"] = row.bound_tokens;
  json["joint_depth_mean"] = rounded(summary.joint_depth_mean);
  json["limited_by"] = {{"attention", summary.limited_by_attention},
                        {"recurrent", summary.limited_by_recurrent},
                        {"none", summary.limited_by_none}};
  json["preemptions"] = summary.preemptions;
  json["cross_invalidations"] = run.metrics.cross_invalidations;
  json["stranded_fraction"] = rounded(run.stranded_fraction);
  json["running_mean"] = rounded(run.running_mean);
  json["waiting_mean"] = rounded(run.waiting_mean);
  json["served"] = summary.served;
  json["unservable"] = summary.unservable;
  json["load"] = row.load ? Json(rounded(*row.load)) : Json();
  json["run"] = {{"steps", run.steps},
                 {"span_s", rounded(run.end_s - run.start_s)},
                 {"busy_s", rounded(run.busy_s)},
                 {"prefill_tokens", run.prefill_tokens},
                 {"output_tokens", run.output_tokens},
                 {"checkpoints_saved", run.metrics.checkpoints_saved},
                 {"checkpoints_skipped", run.metrics.checkpoints_skipped},
                 {"checkpoints_evicted", run.metrics.checkpoints_evicted},
                 {"blocks_evicted", run.metrics.blocks_evicted},
                 {"audit_findings", run.audit_findings}};
  return json;
}

Json compare_json(const CompareContext& context) {
  const CompareResult& result = context.result;
  const auto& workload = result.workload;
  const double span = hybridmem_simulator::arrival_span_s(workload);
  Json report;
  report["model"] = context.model.name;
  report["budget"] = context.request.budget_text;
  report["budget_bytes"] = context.request.budget.bytes;
  report["budget_scope"] = name_of(context.request.budget.scope);
  report["page_bytes"] = context.layout.page_bytes;
  report["checkpoint_interval_tokens"] = context.layout.checkpoint_interval_tokens;
  report["workload"] = {{"name", workload.name},
                        {"source", context.chosen.source},
                        {"requests", workload.requests.size()},
                        {"input_tokens", sum(workload, true)},
                        {"output_tokens", sum(workload, false)},
                        {"arrival_span_s", rounded(span)},
                        {"has_sharing", workload.has_sharing},
                        {"rate_scale", rounded(result.rate_scale)},
                        {"ranked_requests", result.ranked_requests}};
  if (context.chosen.source == "generated") report["workload"]["seed"] = context.chosen.seed;
  report["cost_model"] = context.cost_model;
  report["engine"] = engine_json(context.request.engine);
  report["load_basis"] =
      result.load_requests == 0 ? Json("runs") : Json{{"requests_at_once", result.load_requests}};
  report["rows"] = Json::array();
  for (const CompareRow& one : result.rows) report["rows"].push_back(compare_row_json(one));
  if (!result.splits.empty()) {
    Json trials = Json::array();
    for (const SplitTrial& trial : result.splits)
      trials.push_back({{"attention_fraction", trial.split.attention_fraction()},
                        {"served", trial.summary.served},
                        {"output_tokens_per_s", rounded(trial.summary.output_tokens_per_s)},
                        {"ttft_p99_s", rounded(trial.summary.ttft_p99_s)}});
    report["split_search"] = {{"requests", result.split_requests}, {"candidates", trials}};
  }
  report["split"] = name_of(result.split_source);
  const Verdict verdict = verdict_of(result);
  report["best"] = result.rows[result.best].run.organization;
  report["best_row"] = result.best;
  report["compared_with_row"] = verdict.other;
  report["why"] = verdict.sentence;
  report["reasons"] = Json::array();
  for (const Reason& reason : verdict.reasons)
    report["reasons"].push_back({{"counter", reason.counter},
                                 {"best", number(reason.best)},
                                 {"other", number(reason.other)},
                                 {"favours_best", reason.favours_best}});
  report["warnings"] = warnings_of(context);
  report["interrupted"] = result.interrupted;
  return report;
}

std::string compare_text(const CompareContext& context) {
  std::string text = model_title(context.model);
  text += row("budget", context.request.budget_text);
  text += requests_text(context);
  text += row("step cost", context.cost_text);
  text += engine_text(context.request.engine) + "\n";
  text += table_text(context.result);
  text += "Times in seconds. att/rec: admissions limited by attention blocks, by checkpoints.\n";
  text += "cross: checkpoints lost with a reassigned slab.\n";
  text += splits_text(context.result) + loads_text(context.result) + "\n";
  text += sentences(verdict_of(context.result).sentence);
  for (const std::string& warning : warnings_of(context)) text += sentences("Warning: " + warning);
  return text;
}

std::string compare_csv_header() {
  return "organization,attention_fraction,attention_pages,recurrent_pages,output_tokens_per_s,"
         "ttft_p50_s,ttft_p99_s,e2e_p99_s,tpot_p99_s,prefill_tokens,saved_tokens,"
         "joint_depth_mean,limited_by_attention,limited_by_recurrent,limited_by_none,preemptions,"
         "cross_invalidations,stranded_fraction,running_mean,waiting_mean,served,unservable,load";
}

std::string compare_csv_row(const CompareRow& row) {
  const RunSummary& summary = row.summary;
  const hybridmem_simulator::RunResult& run = row.run;
  const hybridmem::PoolUnits& units = row.contender.options.cache.units;
  return fmt::format(
      "{},{},{},{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{},{},{:.6g},{},{},{},{},{},{:.6g},{:.6g},"
      "{:.6g},{},{},{}",
      run.organization, row.split ? fmt::format("{:g}", row.split->attention_fraction()) : "",
      units[0], row.split ? fmt::format("{}", units[1]) : "", summary.output_tokens_per_s,
      summary.ttft_p50_s, summary.ttft_p99_s, summary.e2e_p99_s, summary.tpot_p99_s,
      summary.prefill_tokens, summary.saved_tokens, summary.joint_depth_mean,
      summary.limited_by_attention, summary.limited_by_recurrent, summary.limited_by_none,
      summary.preemptions, run.metrics.cross_invalidations, run.stranded_fraction, run.running_mean,
      run.waiting_mean, summary.served, summary.unservable,
      row.load ? fmt::format("{:.4g}", *row.load) : "");
}

}  // namespace hybridmem_tool
