#include "capacity_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "arguments.hpp"
#include "report_json.hpp"
#include "table.hpp"

namespace hybridmem_tool {

namespace {

using hybridmem::OrganizationKind;
using hybridmem::OrganizationLayout;
using hybridmem::PageLayout;
using hybridmem::StateKind;
using hybridmem::StateMix;

template <class T>
T value_or_throw(const hybridmem::Result<T, hybridmem::InputError>& result) {
  if (!result) throw UsageError(describe_option(result.error()));
  return *result;
}

[[noreturn]] void refuse_mix(const StateMix& mix, const hybridmem::InputError& error) {
  refuse("--mix", fmt::format("{},{}", mix.attention_blocks, mix.checkpoints), error.expected);
}

/// What one sequence takes, in the organization's own blocks.
StateMix mix_of(const OrganizationLayout& layout, const SequenceDemand& demand) {
  return {hybridmem::divide_up(demand.length_tokens, std::uint64_t{layout.block_tokens}),
          1 + demand.cached_checkpoints};
}

double attention_share(const OrganizationLayout& layout, const StateMix& mix) {
  const double attention = static_cast<double>(mix.attention_blocks) * layout.units_per_block;
  double checkpoint = layout.units_per_checkpoint();
  if (layout.has_slabs())
    checkpoint += static_cast<double>(layout.slots_per_checkpoint) / layout.slots_per_slab;
  return attention / (attention + checkpoint * static_cast<double>(mix.checkpoints));
}

PoolsPlan pools_plan(const PageLayout& page, const OrganizationLayout& layout,
                     const PlanRequest& request, const hybridmem::PoolSplit& split) {
  PoolsPlan plan;
  plan.units = value_or_throw(plan_units(layout, request.budget, split));
  if (request.mix) {
    const StateMix own = native_mix(layout, *request.mix, page.block_tokens);
    const auto capacity = mix_capacity(layout, own, plan.units.units);
    if (!capacity) refuse_mix(*request.mix, capacity.error());
    plan.mix = *capacity;
  }
  if (request.sequences) {
    const StateMix own = mix_of(layout, *request.sequences);
    const auto capacity = value_or_throw(mix_capacity(layout, own, plan.units.units));
    plan.sequences = SequenceCapacity{
        own.attention_blocks, capacity.repetitions, capacity.limited_by,
        capacity.repetitions >= request.sequences->count, attention_share(layout, own)};
  }
  return plan;
}

/// Chooses StaticDualPool's split: the user's, the paper's, or the best of nine.
void choose_split(CapacityPlan& plan, const PageLayout& page, const OrganizationLayout& dual,
                  const PlanRequest& request) {
  const std::uint32_t paper = hybridmem::paper_settings(page.geometry).dual_attention_millionths;
  if (request.split_millionths || paper != 0) {
    plan.split_source = request.split_millionths ? SplitSource::given : SplitSource::paper;
    plan.split.attention_millionths = request.split_millionths.value_or(paper);
    return;
  }
  if (!page.has_attention()) {
    plan.split_source = SplitSource::no_attention;
    plan.split.attention_millionths = 0;
    return;
  }
  plan.split_source = SplitSource::searched;
  if (request.mix) {
    plan.judge = SplitJudge::mix;
    plan.judged_mix = native_mix(dual, *request.mix, page.block_tokens);
  } else if (request.sequences) {
    plan.judge = SplitJudge::sequences;
    plan.judged_mix = mix_of(dual, *request.sequences);
  } else {
    plan.judge = SplitJudge::interval;
    const StateMix interval{page.checkpoint_interval_tokens / page.block_tokens, 1};
    plan.judged_mix = native_mix(dual, interval, page.block_tokens);
  }
  const auto search = search_split(dual, request.budget, plan.judged_mix);
  if (!search && request.mix) refuse_mix(*request.mix, search.error());
  plan.search = value_or_throw(search);
  plan.split = plan.search->candidates[plan.search->best].split;
}

/// Refuses a budget that buys no unit, and names one that is of use.
void check_budget(const CapacityPlan& plan, const PlanRequest& request, std::string_view text) {
  std::uint64_t least = 0;
  OrganizationKind kind = OrganizationKind::slab_packed;
  for (const OrganizationPlan& organization : plan.organizations) {
    if (organization.units.bytes > 0) return;
    const OrganizationLayout& layout = organization.layout;
    if (layout.pools == 2) continue;
    std::uint64_t bytes =
        storage_cost(layout, ideal_set(layout, layout.units_per_block > 0 ? 1 : 0, 1)).bytes();
    if (request.budget.scope == hybridmem::BudgetScope::per_layer) bytes /= layout.stack_layers;
    if (least != 0 && bytes >= least) continue;
    least = bytes;
    kind = layout.kind;
  }
  refuse("--budget", text,
         fmt::format(
             "at least {} bytes ({}), where {} holds one {}checkpoint", least, bytes_text(least),
             hybridmem::name_of(kind),
             plan.organizations[0].layout.units_per_block > 0 ? "attention block and one " : ""));
}

}  // namespace

const char* name_of(SplitSource source) noexcept {
  switch (source) {
    case SplitSource::paper:
      return "paper";
    case SplitSource::given:
      return "given";
    case SplitSource::searched:
      return "searched";
    case SplitSource::no_attention:
      return "no_attention";
  }
  return "unknown";
}

const char* name_of(SplitJudge judge) noexcept {
  switch (judge) {
    case SplitJudge::mix:
      return "mix";
    case SplitJudge::sequences:
      return "sequences";
    case SplitJudge::interval:
      return "interval";
  }
  return "unknown";
}

hybridmem::Budget read_budget(const Text& text) {
  if (!text)
    throw UsageError(
        "--budget is missing: expected bytes such as 8GiB, or the paper's b63, b83 or b108");
  const auto budget = hybridmem::parse_budget(*text);
  if (budget) return *budget;
  if (budget.error() == hybridmem::Error::overflow)
    refuse("--budget", *text, "less than 2^64 bytes (16 EiB)");
  refuse("--budget", *text,
         "a positive number of bytes with or without a unit (B, KiB to PiB, KB to PB), or the "
         "paper's b63, b83 or b108");
}

CapacityPlan make_plan(const PageLayout& layout, const PlanRequest& request,
                       std::string_view budget_text) {
  CapacityPlan plan;
  const auto layouts = all_organizations(layout);
  choose_split(plan, layout, layouts.back(), request);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    static_cast<PoolsPlan&>(plan.organizations[i]) =
        pools_plan(layout, layouts[i], request, plan.split);
    plan.organizations[i].layout = layouts[i];
  }
  if (plan.split_source == SplitSource::searched)
    plan.half = pools_plan(layout, layouts.back(), request, {});
  check_budget(plan, request, budget_text);
  return plan;
}

}  // namespace hybridmem_tool
