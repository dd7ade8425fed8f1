// Budget: from bytes, or one of the paper's labels, to whole units of each organization's pools.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "hybridmem/core/bytes.hpp"
#include "hybridmem/model/paper_geometry.hpp"
#include "hybridmem/organization/capacity.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// What the bytes of a budget cover.
enum class BudgetScope : std::uint8_t {
  total,      ///< the state of all layers
  per_layer,  ///< one layer of each stack: the paper's nominal bytes
};

constexpr const char* name_of(BudgetScope scope) noexcept {
  return scope == BudgetScope::total ? "total" : "per_layer";
}

/// A budget of state memory on one rank.
struct Budget {
  std::uint64_t bytes = 0;
  BudgetScope scope = BudgetScope::total;
  /// Shared pools round to the nearest unit, as the paper's planner did; otherwise every pool
  /// rounds down and the budget is never exceeded.
  bool nearest = false;
};

/// Bytes of one step of the paper's labels: 1,568 tokens of 1,024 bytes (appendix B.10).
inline constexpr std::uint64_t paper_label_bytes = 1'605'632;

/// Reads a budget: bytes with an optional unit (`parse_bytes`), or a label of the paper, `b63`,
/// `b83` or `b108`, which is per layer and rounds as the paper's planner did (table B-2). Errors as
/// `parse_bytes`, and `bad_argument` for zero.
inline Result<Budget> parse_budget(std::string_view text) {
  struct Label {
    std::string_view name;
    std::uint64_t steps;
  };
  constexpr std::array<Label, 3> labels{{{"b63", 63}, {"b83", 83}, {"b108", 108}}};
  for (const Label& label : labels)
    if (text == label.name)
      return Budget{label.steps * paper_label_bytes, BudgetScope::per_layer, true};
  const auto bytes = parse_bytes(text);
  if (!bytes) return bytes.error();
  if (*bytes == 0) return Error::bad_argument;
  return Budget{*bytes, BudgetScope::total, false};
}

/// How StaticDualPool's budget is divided, in millionths for attention; the rest is recurrent.
struct PoolSplit {
  static constexpr std::uint32_t whole = 1'000'000;
  std::uint32_t attention_millionths = whole / 2;

  constexpr double attention_fraction() const noexcept {
    return static_cast<double>(attention_millionths) / whole;
  }
};

/// A budget in whole units of one organization.
struct UnitBudget {
  PoolUnits units{};        ///< of each pool; one pool uses the first
  std::uint64_t bytes = 0;  ///< of all units, in the scope of the budget
};

namespace detail {

/// floor(bytes * millionths / 10^6) without leaving 64 bits.
constexpr std::uint64_t share_of(std::uint64_t bytes, std::uint32_t millionths) noexcept {
  constexpr std::uint64_t whole = PoolSplit::whole;
  return bytes / whole * millionths + bytes % whole * millionths / whole;
}

}  // namespace detail

/// The units of each pool that `budget` pays for: floor in both pools of StaticDualPool after the
/// split; floor, or nearest where the budget says so, in a shared pool. A pool may come out empty.
/// Errors: `bad_argument` for a split beyond the whole. Constant time.
constexpr Result<UnitBudget, InputError> plan_units(const OrganizationLayout& layout,
                                                    const Budget& budget,
                                                    const PoolSplit& split = {}) {
  if (split.attention_millionths > PoolSplit::whole)
    return InputError{Error::bad_argument, "split", split.attention_millionths,
                      "0 to 1000000 millionths"};
  const std::uint64_t layers = budget.scope == BudgetScope::total ? layout.stack_layers : 1;
  const std::uint64_t attention_unit = layout.unit_bytes[0] * layers;
  const std::uint64_t recurrent_unit = layout.unit_bytes[1] * layers;
  UnitBudget plan;
  if (layout.pools == 2) {
    const std::uint64_t attention = detail::share_of(budget.bytes, split.attention_millionths);
    const std::uint64_t recurrent =
        detail::share_of(budget.bytes, PoolSplit::whole - split.attention_millionths);
    plan.units = {attention_unit == 0 ? 0 : attention / attention_unit, recurrent / recurrent_unit};
  } else {
    plan.units = {budget.nearest ? divide_to_nearest(budget.bytes, recurrent_unit)
                                 : budget.bytes / recurrent_unit,
                  0};
  }
  plan.bytes = plan.units[0] * (layout.pools == 2 ? attention_unit : recurrent_unit) +
               plan.units[1] * recurrent_unit;
  return plan;
}

/// A split of StaticDualPool and what it holds.
struct SplitCandidate {
  PoolSplit split;
  std::uint64_t repetitions = 0;  ///< of the mix it was judged by
};

/// Nine splits, 0.1 to 0.9, judged by a mix.
struct SplitSearch {
  std::array<SplitCandidate, 9> candidates{};
  std::size_t best = 0;  ///< index of the split that holds most
  static constexpr std::size_t half = 4;
};

/// Tries nine splits and finds the one that holds most repetitions of `mix` (in `layout`'s own
/// blocks); among equals the one whose scarcer pool has most to spare, then the smaller attention
/// share. Errors as `mix_capacity`. `layout` is StaticDualPool's.
constexpr Result<SplitSearch, InputError> search_split(const OrganizationLayout& layout,
                                                       const Budget& budget, const StateMix& mix) {
  SplitSearch search;
  double best_room = -1;
  for (std::size_t i = 0; i < search.candidates.size(); ++i) {
    const PoolSplit split{static_cast<std::uint32_t>(100'000 * (i + 1))};
    const auto plan = plan_units(layout, budget, split);
    if (!plan) return plan.error();
    const auto capacity = mix_capacity(layout, mix, plan->units);
    if (!capacity) return capacity.error();
    search.candidates[i] = {split, capacity->repetitions};
    const auto ratio = [](std::uint64_t units, std::uint64_t demand) {
      return demand == 0 ? 1e300 : static_cast<double>(units) / static_cast<double>(demand);
    };
    const double room =
        std::min(ratio(plan->units[0], mix.attention_blocks * layout.units_per_block),
                 ratio(plan->units[1], mix.checkpoints * layout.units_per_checkpoint()));
    const std::uint64_t held = search.candidates[search.best].repetitions;
    if (i == 0 || capacity->repetitions > held ||
        (capacity->repetitions == held && room > best_room)) {
      search.best = i;
      best_room = room;
    }
  }
  return search;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
