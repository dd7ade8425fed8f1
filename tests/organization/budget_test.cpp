// From bytes to units: the paper's planned bytes and splits, and that no budget is ever exceeded.
#include "hybridmem/organization/budget.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "support/csv.hpp"
#include "support/geometries.hpp"

using namespace hybridmem;
using namespace hybridmem_test;

namespace {

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

Budget label(const std::string& text) {
  const auto budget = parse_budget(text);
  REQUIRE(budget);
  return *budget;
}

UnitBudget plan(const OrganizationLayout& layout, const Budget& budget,
                const PoolSplit& split = {}) {
  const auto units = plan_units(layout, budget, split);
  if (!units) FAIL(describe(units.error()));
  return *units;
}

PoolSplit split_of(const CsvRow& row) {
  const PoolSplit split{
      static_cast<std::uint32_t>(std::llround(row.real("attention_fraction") * PoolSplit::whole))};
  CHECK(split.attention_fraction() == doctest::Approx(row.real("attention_fraction")));
  CHECK(1 - split.attention_fraction() == doctest::Approx(row.real("recurrent_fraction")));
  return split;
}

PoolSplit paper_split() {
  return {paper_settings(geometry_of(falcon_numbers)).dual_attention_millionths};
}

}  // namespace

TEST_CASE_FIXTURE(Falcon, "table B-2: nominal bytes, pages and bytes of every organization") {
  std::size_t checked = 0;
  for (const CsvRow& row : read_paper_csv("table_b2_budget_bytes.csv")) {
    CAPTURE(row.place());
    const Budget budget = label(row.text("budget"));
    CHECK(budget.bytes == row.number("nominal_bytes"));
    CHECK(budget.scope == BudgetScope::per_layer);
    CHECK(budget.nearest);
    // The planner's label for D0 is the budget in steps of the nominal unit.
    CHECK(budget.bytes == row.number("override_d0") * paper_label_bytes);

    const UnitBudget s0 = plan(organization_of(OrganizationKind::coarse_pages), budget);
    CHECK(s0.units == PoolUnits{row.number("override_s0"), 0});
    CHECK(s0.bytes == row.number("s0_bytes"));
    const UnitBudget s1 = plan(organization_of(OrganizationKind::paged_recurrent), budget);
    CHECK(s1.units == PoolUnits{row.number("override_s1"), 0});
    CHECK(s1.bytes == row.number("s1_s2_bytes"));
    const UnitBudget s2 = plan(slabs, budget);
    CHECK(s2.units == PoolUnits{row.number("override_s2"), 0});
    CHECK(s2.bytes == row.number("s1_s2_bytes"));
    const UnitBudget d0 = plan(dual, budget, paper_split());
    CHECK(d0.units == PoolUnits{row.number("derived_d0_attention_pages"),
                                row.number("derived_d0_recurrent_pages")});
    CHECK(d0.units[0] * 16'384 == row.number("d0_attention_bytes"));
    CHECK(d0.units[1] * 1'594'368 == row.number("d0_recurrent_bytes"));
    CHECK(d0.bytes == row.number("d0_total_bytes"));
    ++checked;
  }
  CHECK(checked == 3);
}

TEST_CASE("table B-3: the splits and the pages they divide") {
  const auto rows = read_paper_csv("table_b3_split_params.csv");
  const auto check = [](const CsvRow& row, const GeometryNumbers& numbers) {
    CAPTURE(row.place());
    const PaperSettings paper = paper_settings(geometry_of(numbers));
    CHECK(paper.dual_attention_millionths == split_of(row).attention_millionths);
    const OrganizationLayout layout = organization_of(OrganizationKind::static_dual_pool, numbers);
    CHECK(layout.unit_bytes[0] == row.number("attention_page_bytes"));
    CHECK(layout.unit_bytes[1] == row.number("recurrent_page_bytes"));
  };
  check(find_row(rows, "model", "Falcon"), falcon_numbers);
  check(find_row(rows, "model", "Granite"), granite_numbers);
}

TEST_CASE_FIXTURE(Falcon,
                  "splits of the paper: pages, bytes and their change against the default") {
  std::size_t checked = 0;
  std::size_t stated = 0;
  for (const CsvRow& row : read_paper_csv("split_ratios.csv")) {
    CAPTURE(row.place());
    const PoolSplit split = split_of(row);
    if (row.empty("budget")) continue;
    const Budget budget = label(row.text("budget"));
    const UnitBudget units = plan(dual, budget, split);
    CHECK(units.units ==
          PoolUnits{row.number("derived_attention_pages"), row.number("derived_recurrent_pages")});
    CHECK(units.bytes == row.number("derived_total_bytes"));
    const auto standard = static_cast<double>(plan(dual, budget, paper_split()).bytes);
    const double change = 100 * (static_cast<double>(units.bytes) - standard) / standard;
    CHECK(std::abs(change - row.real("derived_total_change_vs_default_pct")) < 0.00051);
    if (!row.empty("stated_total_change_vs_default_pct")) {
      CHECK(std::abs(change - row.real("stated_total_change_vs_default_pct")) < 0.00051);
      ++stated;
    }
    CHECK(row.flag("is_default") == (split.attention_millionths == 527'383));
    ++checked;
  }
  CHECK(checked == 11);
  CHECK(stated == 2);
}

TEST_CASE(
    "a byte size covers all layers and rounds down, a label covers one and rounds to nearest") {
  const auto bytes = parse_budget("40 GiB");
  REQUIRE(bytes);
  CHECK(bytes->bytes == 40_GiB);
  CHECK(bytes->scope == BudgetScope::total);
  CHECK_FALSE(bytes->nearest);
  CHECK(label("1").bytes == 1);
  CHECK(label("1.5KiB").bytes == 1'536);
  CHECK(label("2MB").bytes == 2'000'000);
  CHECK(label("b63").bytes == 63 * 1'605'632);
  CHECK(label("b83").bytes == 133'267'456);
  CHECK(label("b108").bytes == 173'408'256);
  CHECK(std::string(name_of(BudgetScope::total)) == "total");
  CHECK(std::string(name_of(BudgetScope::per_layer)) == "per_layer");
}

TEST_CASE("a budget that is no quantity of bytes is refused") {
  const auto error_of = [](const char* text) {
    CAPTURE(text);
    const auto budget = parse_budget(text);
    REQUIRE_FALSE(budget);
    return budget.error();
  };
  for (const char* text : {"", "b", "b64", "B63", "b63 ", " b63", "b063", "b63b", "-1", "+1", "GiB",
                           " 1GiB", ".5GiB", "1.GiB", "x"})
    CHECK(error_of(text) == Error::bad_argument);
  for (const char* text :
       {"1 gib", "1G", "1  GiB", "1GiB ", "1,5GiB", "1e3", "0x10", "63b", "1.5.5B"})
    CHECK(error_of(text) == Error::unknown_name);
  for (const char* text : {"0", "0 GiB", "0.0KiB", "0.5B", "0.0001KiB"})
    CHECK(error_of(text) == Error::bad_argument);
  for (const char* text : {"18446744073709551616", "16384PiB", "99999999999999999999 B"})
    CHECK(error_of(text) == Error::overflow);
}

TEST_CASE_FIXTURE(Falcon, "a budget of one unit, of a byte less, and of nothing") {
  for (const BudgetScope scope : {BudgetScope::total, BudgetScope::per_layer}) {
    CAPTURE(name_of(scope));
    const std::uint64_t layers = scope == BudgetScope::total ? 44 : 1;
    for (const OrganizationKind kind : organization_kinds) {
      CAPTURE(name_of(kind));
      if (kind == OrganizationKind::static_dual_pool) continue;
      const OrganizationLayout layout = organization_of(kind);
      const std::uint64_t unit = layout.unit_bytes[0] * layers;
      CHECK(plan(layout, {unit, scope, false}).units == PoolUnits{1, 0});
      CHECK(plan(layout, {unit, scope, false}).bytes == unit);
      CHECK(plan(layout, {unit - 1, scope, false}).units == PoolUnits{0, 0});
      CHECK(plan(layout, {2 * unit - 1, scope, false}).units == PoolUnits{1, 0});
      CHECK(plan(layout, {0, scope, false}).units == PoolUnits{0, 0});
      CHECK(plan(layout, {0, scope, false}).bytes == 0);
      // Nearest: halves upwards.
      CHECK(plan(layout, {unit / 2, scope, true}).units == PoolUnits{1, 0});
      CHECK(plan(layout, {unit / 2 - 1, scope, true}).units == PoolUnits{0, 0});
      CHECK(plan(layout, {unit + unit / 2 - 1, scope, true}).units == PoolUnits{1, 0});
      CHECK(plan(layout, {unit + unit / 2, scope, true}).bytes == 2 * unit);
    }
    const std::uint64_t attention = 16'384 * layers;
    const std::uint64_t recurrent = 1'594'368 * layers;
    const PoolSplit all{PoolSplit::whole};
    const PoolSplit none{0};
    CHECK(plan(dual, {attention, scope, false}, all).units == PoolUnits{1, 0});
    CHECK(plan(dual, {attention - 1, scope, false}, all).units == PoolUnits{0, 0});
    CHECK(plan(dual, {recurrent, scope, false}, none).units == PoolUnits{0, 1});
    CHECK(plan(dual, {recurrent - 1, scope, false}, none).units == PoolUnits{0, 0});
    CHECK(plan(dual, {2 * recurrent, scope, false}).units[1] == 1);
    CHECK(plan(dual, {2 * recurrent - 2, scope, false}).units[1] == 0);
    CHECK(plan(dual, {0, scope, false}).bytes == 0);
  }
}

TEST_CASE_FIXTURE(Falcon, "two pools round down even where a shared pool would round to nearest") {
  const PoolSplit none{0};
  CHECK(plan(dual, {2 * 1'594'368 - 1, BudgetScope::per_layer, true}, none).units[1] == 1);
  const PoolSplit all{PoolSplit::whole};
  CHECK(plan(dual, {2 * 16'384 - 1, BudgetScope::per_layer, true}, all).units[0] == 1);
}

TEST_CASE_FIXTURE(Falcon, "splits of nothing and of everything leave one pool empty") {
  const Budget budget{100_MiB, BudgetScope::per_layer, false};
  CHECK(plan(dual, budget, PoolSplit{0}).units == PoolUnits{0, 65});
  CHECK(plan(dual, budget, PoolSplit{PoolSplit::whole}).units == PoolUnits{6'400, 0});
  CHECK(plan(dual, budget).units == PoolUnits{3'200, 32});
  const auto beyond = plan_units(dual, budget, PoolSplit{PoolSplit::whole + 1});
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().code == Error::bad_argument);
  CHECK(std::string(beyond.error().field) == "split");
  CHECK(beyond.error().value == 1'000'001);
}

TEST_CASE_FIXTURE(Falcon, "the largest budgets do not wrap around") {
  const std::uint64_t half = std::uint64_t{1} << 63U;
  for (const std::uint64_t bytes : {half, half - 1, half + 1, most}) {
    CAPTURE(bytes);
    for (const OrganizationKind kind : organization_kinds) {
      CAPTURE(name_of(kind));
      const OrganizationLayout layout = organization_of(kind);
      for (const std::uint32_t millionths : {0U, 1U, 500'000U, 527'383U, 1'000'000U}) {
        const UnitBudget units = plan(layout, {bytes, BudgetScope::total, false}, {millionths});
        CHECK(units.bytes <= bytes);
        CHECK(bytes - units.bytes <= layout.stack_unit_bytes(StateKind::attention) +
                                         layout.stack_unit_bytes(StateKind::recurrent));
      }
    }
  }
  // Exact shares of 2^63 bytes: half is a power of two, a millionth is 9223372036854.775808.
  CHECK(plan(dual, {half, BudgetScope::per_layer, false}).units[0] == (half / 2) / 16'384);
  CHECK(plan(dual, {half, BudgetScope::per_layer, false}, PoolSplit{1}).units[0] ==
        std::uint64_t{9'223'372'036'854} / 16'384);
}

TEST_CASE("no attention layers: the attention pool is empty whatever its share") {
  GeometryNumbers numbers = falcon_numbers;
  numbers.attention_layers = 0;
  const OrganizationLayout layout = organization_of(OrganizationKind::static_dual_pool, numbers);
  const UnitBudget units = plan(layout, {100_MiB, BudgetScope::per_layer, false});
  CHECK(units.units == PoolUnits{0, 32});
  CHECK(units.bytes == 32 * 1'594'368);
}

TEST_CASE("any byte budget is used up to less than one unit, and never exceeded") {
  CHECK(rc::check("both scopes, all organizations", [] {
    const LayoutCase c = *any_layout_case();
    const OrganizationLayout layout =
        organization_layout(layout_or_discard(c), *any_organization());
    const auto scope = *rc::gen::element(BudgetScope::total, BudgetScope::per_layer);
    const std::uint64_t bytes =
        *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << *rc::gen::inRange(1, 43));
    const PoolSplit split{*rc::gen::inRange<std::uint32_t>(0, PoolSplit::whole + 1)};
    const auto units = plan_units(layout, {bytes, scope, false}, split);
    RC_ASSERT(units.has_value());
    const std::uint64_t layers = scope == BudgetScope::total ? layout.stack_layers : 1;
    const std::uint64_t attention = layout.unit_bytes[0] * layers;
    const std::uint64_t recurrent = layout.unit_bytes[1] * layers;
    RC_ASSERT(units->bytes <= bytes);
    if (layout.pools == 1) {
      RC_ASSERT(units->units[1] == 0U);
      RC_ASSERT(units->bytes == units->units[0] * recurrent);
      RC_ASSERT((units->units[0] + 1) * recurrent > bytes);
      return;
    }
    RC_ASSERT(units->bytes == units->units[0] * attention + units->units[1] * recurrent);
    // In millionths of bytes, so that the shares are exact: at most 2^43 * 10^6 < 2^63.
    const std::uint64_t whole = PoolSplit::whole;
    const std::uint64_t attention_share = bytes * split.attention_millionths;
    const std::uint64_t recurrent_share = bytes * whole - attention_share;
    if (attention == 0) {
      RC_ASSERT(units->units[0] == 0U);
    } else {
      RC_ASSERT(units->units[0] * attention * whole <= attention_share);
      RC_ASSERT((units->units[0] + 1) * attention > attention_share / whole);
    }
    RC_ASSERT(units->units[1] * recurrent * whole <= recurrent_share);
    RC_ASSERT((units->units[1] + 1) * recurrent > recurrent_share / whole);
  }));
}

TEST_CASE("a larger budget buys no fewer units of either pool") {
  CHECK(rc::check("monotone", [] {
    const LayoutCase c = *any_layout_case();
    const OrganizationLayout layout =
        organization_layout(layout_or_discard(c), *any_organization());
    const PoolSplit split{*rc::gen::inRange<std::uint32_t>(0, PoolSplit::whole + 1)};
    const bool nearest = *rc::gen::arbitrary<bool>();
    const std::uint64_t bytes = *rc::gen::inRange<std::uint64_t>(0, 1U << 30U);
    const std::uint64_t more = bytes + *rc::gen::inRange<std::uint64_t>(0, 1U << 24U);
    const auto small = plan_units(layout, {bytes, BudgetScope::total, nearest}, split);
    const auto large = plan_units(layout, {more, BudgetScope::total, nearest}, split);
    RC_ASSERT(small->units[0] <= large->units[0]);
    RC_ASSERT(small->units[1] <= large->units[1]);
    RC_ASSERT(small->bytes <= large->bytes);
  }));
}

TEST_CASE_FIXTURE(Falcon, "the split search tries a tenth to nine tenths and keeps the best") {
  const Budget budget{100_MiB, BudgetScope::per_layer, false};
  const auto search = search_split(dual, budget, {32, 1});
  REQUIRE(search);
  for (std::size_t i = 0; i < search->candidates.size(); ++i) {
    const SplitCandidate& candidate = search->candidates[i];
    CHECK(candidate.split.attention_millionths == 100'000 * (i + 1));
    const UnitBudget units = plan(dual, budget, candidate.split);
    CHECK(candidate.repetitions == std::min(units.units[0] / 32, units.units[1]));
    CHECK(candidate.repetitions <= search->candidates[search->best].repetitions);
  }
  // 32 blocks of 16 KiB and one checkpoint of 1557 KiB: a share of 512 / 2069 is even.
  CHECK(search->best == 2);
  CHECK(search->candidates[1].repetitions == 40);
  CHECK(search->candidates[2].repetitions == 46);
  CHECK(search->candidates[SplitSearch::half].split.attention_millionths == 500'000);
  CHECK(search->candidates[SplitSearch::half].repetitions == 32);
}

TEST_CASE_FIXTURE(
    Falcon,
    "the split search decides ties by the room of the scarcer pool, then the smaller share") {
  // Demand of one kind: the pool of that kind should be as large as possible.
  const Budget budget{100_MiB, BudgetScope::per_layer, false};
  CHECK(search_split(dual, budget, {0, 1})->best == 0);
  CHECK(search_split(dual, budget, {1, 0})->best == 8);
  // Nothing fits anywhere: the share that comes closest.
  const auto none = search_split(dual, budget, {320'000, 10'000});
  CHECK(none->candidates[none->best].repetitions == 0);
  CHECK(none->best == 2);
  // A budget of nothing is as good everywhere.
  CHECK(search_split(dual, {0, BudgetScope::total, false}, {1, 1})->best == 0);
  const auto refused = search_split(dual, budget, {0, 0});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Error::bad_argument);
}

TEST_CASE("the split search agrees with trying every candidate") {
  CHECK(rc::check("best of nine", [] {
    const LayoutCase c = *any_layout_case();
    const OrganizationLayout layout =
        organization_layout(layout_or_discard(c), OrganizationKind::static_dual_pool);
    const Budget budget{*rc::gen::inRange<std::uint64_t>(0, 1U << 31U), BudgetScope::total, false};
    const StateMix mix{*rc::gen::inRange<std::uint64_t>(0, 40),
                       *rc::gen::inRange<std::uint64_t>(1, 4)};
    const auto search = search_split(layout, budget, mix);
    RC_ASSERT(search.has_value());
    const auto room = [&](std::size_t i) {
      const auto units = plan_units(layout, budget, search->candidates[i].split)->units;
      const auto per = [](std::uint64_t have, std::uint64_t need) {
        return need == 0 ? std::numeric_limits<double>::max()
                         : static_cast<double>(have) / static_cast<double>(need);
      };
      return std::min(per(units[0], mix.attention_blocks * layout.units_per_block),
                      per(units[1], mix.checkpoints * layout.units_per_checkpoint()));
    };
    std::size_t best = 0;
    for (std::size_t i = 0; i < 9; ++i) {
      const SplitCandidate& candidate = search->candidates[i];
      const auto units = plan_units(layout, budget, candidate.split);
      RC_ASSERT(candidate.repetitions == mix_capacity(layout, mix, units->units)->repetitions);
      const std::uint64_t held = search->candidates[best].repetitions;
      if (candidate.repetitions > held || (candidate.repetitions == held && room(i) > room(best)))
        best = i;
    }
    RC_ASSERT(search->best == best);
  }));
}
