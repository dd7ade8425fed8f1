#include "plan_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "report_text.hpp"
#include "table.hpp"

namespace hybridmem_tool {

namespace {

using hybridmem::BudgetScope;
using hybridmem::Limit;
using hybridmem::OrganizationKind;
using hybridmem::OrganizationLayout;

bool is_dual(const OrganizationLayout& layout) {
  return layout.pools == 2;
}

void add_capacities(Json& report, const OrganizationLayout& layout, const PoolsPlan& plan) {
  if (plan.mix) {
    report["capacity"] = plan.mix->repetitions;
    report["capacity_limited_by"] = name_of(plan.mix->limited_by);
  }
  if (plan.sequences) {
    report["blocks_per_sequence"] = plan.sequences->blocks_each;
    report["servable"] = plan.sequences->servable;
    report["limited_by"] = name_of(plan.sequences->limited_by);
    report["fits"] = plan.sequences->fits;
    if (!is_dual(layout)) report["attention_share"] = plan.sequences->attention_share;
  }
}

Json shared_json(const OrganizationPlan& plan) {
  Json report{{"pages", plan.units.units[0]},
              {"unit_bytes", plan.layout.unit_bytes[0]},
              {"bytes", plan.units.bytes},
              {"block_tokens", plan.layout.block_tokens}};
  add_capacities(report, plan.layout, plan);
  return report;
}

Json dual_json(const PlanContext& context, const OrganizationPlan& own) {
  const CapacityPlan& plan = context.plan;
  Json report{{"attention_pages", own.units.units[0]},
              {"recurrent_pages", own.units.units[1]},
              {"attention_unit_bytes", own.layout.unit_bytes[0]},
              {"recurrent_unit_bytes", own.layout.unit_bytes[1]},
              {"bytes", own.units.bytes},
              {"block_tokens", own.layout.block_tokens},
              {"attention_fraction", plan.split.attention_fraction()},
              {"split", name_of(plan.split_source)}};
  add_capacities(report, own.layout, own);
  if (!plan.search) return report;
  report["judged_by"] = name_of(plan.judge);
  report["judged_mix"] = {{"attention_blocks", plan.judged_mix.attention_blocks},
                          {"checkpoints", plan.judged_mix.checkpoints}};
  report["candidates"] = Json::array();
  for (const hybridmem::SplitCandidate& candidate : plan.search->candidates)
    report["candidates"].push_back({{"attention_fraction", candidate.split.attention_fraction()},
                                    {"capacity", candidate.repetitions}});
  Json half{{"attention_fraction", 0.5},
            {"attention_pages", plan.half->units.units[0]},
            {"recurrent_pages", plan.half->units.units[1]},
            {"bytes", plan.half->units.bytes}};
  add_capacities(half, own.layout, *plan.half);
  report["half"] = half;
  return report;
}

/// The layers that the pages of a line of output cover.
std::uint64_t layers_in_scope(const PlanContext& context) {
  return context.request.budget.scope == BudgetScope::total ? context.layout.stack_layers : 1;
}

std::string budget_lines(const PlanContext& context) {
  const hybridmem::Budget& budget = context.request.budget;
  const std::uint64_t stack = context.layout.stack_layers;
  std::string text;
  if (budget.scope == BudgetScope::total) {
    text = row("budget", fmt::format("{} for the state of all layers; units are rounded down",
                                     bytes_text(budget.bytes)));
  } else {
    text = row("budget", fmt::format("{}: {} a layer, {} over the {} of a stack",
                                     context.budget_text, bytes_text(budget.bytes),
                                     bytes_text(budget.bytes * stack), counted(stack, "layer")));
    text += row("", "shared pools rounded to the nearest page, as the paper's planner does");
  }
  const hybridmem::PageLayout& layout = context.layout;
  text += row(
      "layout",
      fmt::format("pages of {} a layer, {} layers a stack{}", bytes_text(layout.page_bytes), stack,
                  layout.has_attention() ? fmt::format("; blocks of {} tokens", layout.block_tokens)
                                         : std::string{}));
  return text;
}

std::string units_table(const PlanContext& context) {
  using enum Table::Align;
  const bool total = context.request.budget.scope == BudgetScope::total;
  const std::uint64_t layers = layers_in_scope(context);
  Table table({{"organization"},
               {"units", right},
               {total ? "of" : "of (a layer)", right},
               {total ? "in all" : "in all (a layer)", right},
               {"of the budget", right}});
  const auto budget = static_cast<double>(context.request.budget.bytes);
  for (const OrganizationPlan& plan : context.plan.organizations) {
    const OrganizationLayout& layout = plan.layout;
    const bool both = is_dual(layout) && context.layout.has_attention();
    std::string units = grouped(plan.units.units[is_dual(layout) ? 1 : 0]);
    std::string of = bytes_text(layout.unit_bytes[1] * layers);
    if (both) {
      units = grouped(plan.units.units[0]) + " + " + units;
      of = bytes_text(layout.unit_bytes[0] * layers) + " | " + of;
    }
    table.add({organization_title(layout.kind), units, of, bytes_text(plan.units.bytes),
               percent(static_cast<double>(plan.units.bytes) / budget)});
  }
  return table.text();
}

std::string split_lines(const PlanContext& context) {
  const CapacityPlan& plan = context.plan;
  const std::string share = percent(plan.split.attention_fraction());
  const char* const name = name_of(OrganizationKind::static_dual_pool);
  if (plan.split_source == SplitSource::paper)
    return fmt::format("{}: {} for attention, the paper's split for this model.\n", name, share);
  if (plan.split_source == SplitSource::given)
    return fmt::format("{}: {} for attention, as given.\n", name, share);
  if (plan.split_source == SplitSource::no_attention)
    return fmt::format("{}: all of it for checkpoints; the model has no attention layers.\n", name);
  const char* judge = "one checkpoint interval";
  if (plan.judge == SplitJudge::mix) judge = "the mix";
  if (plan.judge == SplitJudge::sequences) judge = "a sequence";
  const auto& candidates = plan.search->candidates;
  return sentences(fmt::format(
      "{}: {} for attention, the best of nine splits by what they hold of {}: {} times; "
      "at 50% {} times.",
      name, share, judge, grouped(candidates[plan.search->best].repetitions),
      grouped(candidates[hybridmem::SplitSearch::half].repetitions)));
}

/// Who holds most and who least.
std::string verdict(const PlanContext& context, const char* noun,
                    const std::function<std::uint64_t(const OrganizationPlan&)>& count) {
  std::uint64_t most = 0;
  std::uint64_t least = count(context.plan.organizations[0]);
  for (const OrganizationPlan& plan : context.plan.organizations) {
    most = std::max(most, count(plan));
    least = std::min(least, count(plan));
  }
  if (most == 0) return fmt::format("No organization holds one {}.\n", noun);
  if (most == least)
    return fmt::format("All organizations hold the same: {}.\n", counted(most, noun));
  const auto with = [&](std::uint64_t wanted) {
    std::vector<std::string> names;
    for (const OrganizationPlan& plan : context.plan.organizations)
      if (count(plan) == wanted) names.emplace_back(hybridmem::name_of(plan.layout.kind));
    return names;
  };
  const auto best = with(most);
  const std::string text = fmt::format("{} hold{} most: {}", listed(best),
                                       best.size() == 1 ? "s" : "", counted(most, noun));
  if (least == 0) return sentences(fmt::format("{}; {} none.", text, listed(with(least))));
  const double ratio = static_cast<double>(most) / static_cast<double>(least);
  const std::string more =
      ratio >= 2 ? fmt::format("{:.1f} times", ratio) : percent(ratio - 1) + " more than";
  return sentences(
      fmt::format("{}, {} the {} of {}.", text, more, grouped(least), listed(with(least))));
}

std::string limit_text(Limit limit) {
  switch (limit) {
    case Limit::attention:
      return "attention pool";
    case Limit::recurrent:
      return "recurrent pool";
    case Limit::shared_pool:
      break;
  }
  return "shared pool";
}

std::string mix_section(const PlanContext& context) {
  using enum Table::Align;
  const hybridmem::StateMix& mix = *context.request.mix;
  Table table({{"organization"}, {"holds", right}, {"limited by"}});
  for (const OrganizationPlan& plan : context.plan.organizations)
    table.add({organization_title(plan.layout.kind), grouped(plan.mix->repetitions),
               limit_text(plan.mix->limited_by)});
  return fmt::format("\nMix: {} of {} tokens and {}\n{}",
                     counted(mix.attention_blocks, "attention block"), context.layout.block_tokens,
                     counted(mix.checkpoints, "checkpoint"), table.text()) +
         verdict(context, "repetition",
                 [](const OrganizationPlan& plan) { return plan.mix->repetitions; });
}

std::string sequences_section(const PlanContext& context) {
  using enum Table::Align;
  const SequenceDemand& demand = *context.request.sequences;
  Table table({{"organization"},
               {"blocks each", right},
               {"servable", right},
               {"fits"},
               {"limited by"},
               {"attention share", right}});
  for (const OrganizationPlan& plan : context.plan.organizations) {
    const SequenceCapacity& capacity = *plan.sequences;
    table.add({organization_title(plan.layout.kind),
               context.layout.has_attention() ? grouped(capacity.blocks_each) : "-",
               grouped(capacity.servable), capacity.fits ? "yes" : "no",
               limit_text(capacity.limited_by),
               is_dual(plan.layout) ? "-" : percent(capacity.attention_share)});
  }
  std::string states = "1 running state";
  if (demand.cached_checkpoints > 0)
    states += fmt::format(" and {} cached", counted(demand.cached_checkpoints, "checkpoint"));
  return "\n" +
         sentences(fmt::format("{} of {}, each with {}", counted(demand.count, "sequence"),
                               counted(demand.length_tokens, "token"), states)) +
         table.text() + verdict(context, "sequence", [](const OrganizationPlan& plan) {
           return plan.sequences->servable;
         });
}

}  // namespace

Json plan_json(const PlanContext& context) {
  const hybridmem::PageLayout& layout = context.layout;
  const PlanRequest& request = context.request;
  const auto& organizations = context.plan.organizations;
  Json report;
  report["model"] = context.model.name;
  report["family"] = context.model.family;
  report["provenance"] = context.model.provenance;
  report["tensor_parallel"] = context.model.geometry.tensor_parallel;
  report["budget"] = context.budget_text;
  report["budget_bytes"] = request.budget.bytes;
  report["budget_scope"] = name_of(request.budget.scope);
  report["budget_rounding"] = request.budget.nearest ? "nearest" : "down";
  report["block_tokens"] = layout.block_tokens;
  report["page_bytes"] = layout.page_bytes;
  report["stack_layers"] = layout.stack_layers;
  report["checkpoint_interval_tokens"] = layout.checkpoint_interval_tokens;
  report["organizations"] = by_organization([&](std::size_t i) {
    return is_dual(organizations[i].layout) ? dual_json(context, organizations[i])
                                            : shared_json(organizations[i]);
  });
  if (request.mix) {
    report["mix"] = {{"attention_blocks", request.mix->attention_blocks},
                     {"checkpoints", request.mix->checkpoints}};
    report["capacity"] =
        by_organization([&](std::size_t i) { return Json(organizations[i].mix->repetitions); });
  }
  if (request.sequences) {
    report["sequences"] = {{"count", request.sequences->count},
                           {"length_tokens", request.sequences->length_tokens},
                           {"cached_checkpoints", request.sequences->cached_checkpoints}};
    report["servable"] =
        by_organization([&](std::size_t i) { return Json(organizations[i].sequences->servable); });
  }
  return report;
}

std::string plan_text(const PlanContext& context) {
  std::string text = model_title(context.model) + budget_lines(context) + "\n" +
                     units_table(context) + split_lines(context);
  if (context.request.mix) text += mix_section(context);
  if (context.request.sequences) text += sequences_section(context);
  if (!context.request.mix && !context.request.sequences)
    text += "\nAdd --mix A,R or --sequences N --length TOKENS to see what fits.\n";
  else
    text += "\nSlabs count as ideally packed; lifetimes and packing histories come on top.\n";
  return text;
}

}  // namespace hybridmem_tool
