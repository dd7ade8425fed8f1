// How many repetitions of a mix fit: the paper's figures, and a loop that adds one at a time.
#include "hybridmem/organization/capacity.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <limits>
#include <string>

#include "hybridmem/organization/budget.hpp"
#include "support/csv.hpp"
#include "support/geometries.hpp"

using namespace hybridmem;
using namespace hybridmem_test;

namespace {

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

PoolUnits units_of(const OrganizationLayout& layout, std::uint64_t layer_bytes,
                   const PoolSplit& split = {}) {
  const auto plan = plan_units(layout, {layer_bytes, BudgetScope::per_layer, false}, split);
  REQUIRE(plan);
  return plan->units;
}

MixCapacity capacity_of(const OrganizationLayout& layout, const StateMix& mix,
                        const PoolUnits& units) {
  const auto capacity = mix_capacity(layout, mix, units);
  if (!capacity) FAIL(describe(capacity.error()));
  return *capacity;
}

double mib(std::uint64_t bytes_of_44_layers) {
  return static_cast<double>(bytes_of_44_layers) / 44 / 1024 / 1024;
}

}  // namespace

TEST_CASE("100 MiB hold 32, 40 and 49 pairs of one block and one checkpoint") {
  const auto pairs = [](OrganizationKind kind) {
    const OrganizationLayout layout = organization_of(kind);
    const MixCapacity capacity = capacity_of(layout, {1, 1}, units_of(layout, 100_MiB));
    CHECK(capacity.limited_by == Limit::shared_pool);
    return capacity.repetitions;
  };
  CHECK(pairs(OrganizationKind::coarse_pages) == 32);
  CHECK(pairs(OrganizationKind::paged_recurrent) == 40);
  CHECK(pairs(OrganizationKind::slab_packed) == 49);
}

TEST_CASE("table A-2: two pools refuse a set whose sum would fit, one pool accepts it") {
  for (const CsvRow& row : read_paper_csv("table_a2_feasibility_100mib.csv")) {
    CAPTURE(row.place());
    const auto kind = parse_organization(row.text("org"));
    REQUIRE(kind);
    const OrganizationLayout layout = organization_of(*kind);
    const StateMix mix{row.number("attention_objects"), row.number("recurrent_checkpoints")};
    const StateSet set = ideal_set(layout, mix.attention_blocks, mix.checkpoints);
    const StorageCost cost = storage_cost(layout, set);
    CHECK(mib(cost.attention_bytes) == row.real("attention_alloc_mib"));
    CHECK(mib(cost.recurrent_bytes) == row.real("recurrent_conv_alloc_mib"));
    CHECK(mib(cost.bytes()) == row.real("total_alloc_mib"));
    CHECK(mib(cost.bytes()) < 100);
    const PoolUnits units = units_of(layout, 100_MiB);
    const bool feasible = row.flag("feasible");
    CHECK(fits(layout, mix, 1, units) == feasible);
    const MixCapacity capacity = capacity_of(layout, mix, units);
    CHECK(capacity.repetitions == (feasible ? 1 : 0));
    if (*kind == OrganizationKind::static_dual_pool) {
      CHECK(units[0] * 16_KiB == row.number("attention_budget_mib") * 1_MiB);
      CHECK(units[1] * 1'594'368 <= row.number("recurrent_budget_mib") * 1_MiB);
      CHECK(capacity.limited_by == Limit::attention);
      CHECK(row.real("binding_need_mib") == mib(cost.attention_bytes));
    } else {
      CHECK(set.slabs == row.number("conv_slabs"));
      CHECK(row.real("binding_need_mib") == mib(cost.bytes()));
      CHECK(row.real("binding_limit_mib") == row.real("shared_budget_mib"));
    }
  }
}

TEST_CASE("two pools say which of them is full, and a kind without demand sets no limit") {
  const OrganizationLayout dual = organization_of(OrganizationKind::static_dual_pool);
  MixCapacity capacity = capacity_of(dual, {10, 1}, {100, 20});
  CHECK(capacity.repetitions == 10);
  CHECK(capacity.limited_by == Limit::attention);
  capacity = capacity_of(dual, {10, 3}, {100, 20});
  CHECK(capacity.repetitions == 6);
  CHECK(capacity.limited_by == Limit::recurrent);
  capacity = capacity_of(dual, {0, 3}, {0, 20});
  CHECK(capacity.repetitions == 6);
  CHECK(capacity.limited_by == Limit::recurrent);
  capacity = capacity_of(dual, {7, 0}, {100, 0});
  CHECK(capacity.repetitions == 14);
  CHECK(capacity.limited_by == Limit::attention);
  CHECK(fits(dual, {0, 3}, 6, {0, 18}));
  CHECK_FALSE(fits(dual, {0, 3}, 6, {most, 17}));
  CHECK(fits(dual, {7, 0}, 14, {98, 0}));
  CHECK_FALSE(fits(dual, {7, 0}, 14, {97, most}));
}

TEST_CASE("units of one pool never serve the other") {
  const OrganizationLayout dual = organization_of(OrganizationKind::static_dual_pool);
  CHECK(capacity_of(dual, {1, 1}, {most, 0}).repetitions == 0);
  CHECK(capacity_of(dual, {1, 1}, {0, most}).repetitions == 0);
  CHECK(capacity_of(dual, {2, 1}, {6, 9}).repetitions == 3);
}

TEST_CASE("a mix that takes no storage is refused") {
  for (const OrganizationKind kind : organization_kinds) {
    CAPTURE(name_of(kind));
    const auto nothing = mix_capacity(organization_of(kind), {0, 0}, {10, 10});
    REQUIRE_FALSE(nothing);
    CHECK(nothing.error().code == Error::bad_argument);
    CHECK(std::string(nothing.error().field) == "mix");
    GeometryNumbers numbers = falcon_numbers;
    numbers.attention_layers = 0;
    const OrganizationLayout recurrent_only = organization_of(kind, numbers);
    CHECK_FALSE(mix_capacity(recurrent_only, {5, 0}, {10, 10}));
    const auto both = mix_capacity(recurrent_only, {5, 1}, {10, 10});
    REQUIRE(both);
    CHECK(both->repetitions == capacity_of(recurrent_only, {0, 1}, {10, 10}).repetitions);
  }
}

TEST_CASE("a window alone is packed by its slots") {
  GeometryNumbers numbers = falcon_numbers;
  numbers.recurrent_bytes_layer = 0;
  numbers.conv_bytes_layer = 8'192;
  const OrganizationLayout layout = organization_of(OrganizationKind::slab_packed, numbers);
  CHECK(layout.units_per_checkpoint() == 0);
  CHECK(layout.slots_per_slab == 64);
  CHECK(capacity_of(layout, {0, 1}, {3, 0}).repetitions == 3 * 64);
  CHECK(capacity_of(layout, {0, 5}, {3, 0}).repetitions == 38);
  CHECK(capacity_of(layout, {0, 1}, {0, 0}).repetitions == 0);
}

TEST_CASE("a mix restated in the blocks of another organization keeps its tokens") {
  const OrganizationLayout dual = organization_of(OrganizationKind::static_dual_pool);
  CHECK(native_mix(dual, {3, 2}, 512).attention_blocks == 96);
  CHECK(native_mix(dual, {3, 2}, 512).checkpoints == 2);
  CHECK(native_mix(dual, {1, 0}, 17).attention_blocks == 2);
  CHECK(native_mix(dual, {0, 2}, 512).attention_blocks == 0);
  const OrganizationLayout slabs = organization_of(OrganizationKind::slab_packed);
  CHECK(native_mix(slabs, {3, 2}, 512).attention_blocks == 3);
  CHECK(native_mix(OrganizationLayout{}, {3, 2}, 512).attention_blocks == 0);
}

TEST_CASE("counts beyond 64 bits do not fit, whatever they wrap around to") {
  const OrganizationLayout slabs = organization_of(OrganizationKind::slab_packed);
  const OrganizationLayout dual = organization_of(OrganizationKind::static_dual_pool);
  for (const OrganizationLayout& layout : {slabs, dual}) {
    CHECK_FALSE(fits(layout, {1, 2}, most, {most, most}));
    CHECK_FALSE(fits(layout, {most, 0}, 2, {most, most}));
    CHECK_FALSE(fits(layout, {0, most}, 2, {most, most}));
    CHECK_FALSE(fits(layout, {std::uint64_t{1} << 63U, 1}, 2, {most, most}));
  }
  CHECK_FALSE(fits(slabs, {1, 1}, most, {most, most}));
  CHECK(fits(dual, {1, 1}, most, {most, most}));
  CHECK_FALSE(fits(slabs, {most, 1}, 1, {most, 0}));
  CHECK(fits(dual, {most, 0}, 1, {most, 0}));
  CHECK(capacity_of(slabs, {most, 1}, {most, 0}).repetitions == 0);
}

TEST_CASE("pools as large as the range of a number") {
  const OrganizationLayout slabs = organization_of(OrganizationKind::slab_packed);
  CHECK(capacity_of(slabs, {1, 0}, {std::uint64_t{1} << 63U, 0}).repetitions == std::uint64_t{1}
                                                                                    << 63U);
  CHECK(capacity_of(slabs, {1, 0}, {most - 1, 0}).repetitions == most - 1);
  CHECK(capacity_of(slabs, {1, 0}, {most, 0}).repetitions == most);
  CHECK(capacity_of(slabs, {2, 0}, {most, 0}).repetitions == most / 2);
  CHECK(capacity_of(organization_of(OrganizationKind::static_dual_pool), {1, 0}, {most, 0})
            .repetitions == most);
}

TEST_CASE("names of limits") {
  CHECK(std::string(name_of(Limit::attention)) == "attention");
  CHECK(std::string(name_of(Limit::recurrent)) == "recurrent");
  CHECK(std::string(name_of(Limit::shared_pool)) == "shared_pool");
  CHECK(std::string(name_of(static_cast<Limit>(9))) == "unknown");
}

namespace {

// Whether `blocks` and `checkpoints` objects fit, counted with no cleverness.
bool naive_fits(const OrganizationLayout& layout, std::uint64_t blocks, std::uint64_t checkpoints,
                const PoolUnits& units) {
  const std::uint64_t attention = blocks * layout.units_per_block;
  std::uint64_t recurrent = checkpoints * (layout.member_units + layout.conv_units);
  if (layout.kind == OrganizationKind::slab_packed && layout.slots_per_slab > 0) {
    const std::uint64_t slots = checkpoints * layout.slots_per_checkpoint;
    std::uint64_t slabs = slots / layout.slots_per_slab;
    if (slabs * layout.slots_per_slab < slots) ++slabs;
    recurrent += slabs;
  }
  return layout.kind == OrganizationKind::static_dual_pool
             ? attention <= units[0] && recurrent <= units[1]
             : attention + recurrent <= units[0];
}

struct CapacityCase {
  OrganizationLayout layout;
  StateMix mix;
  PoolUnits units;
};

CapacityCase any_capacity_case() {
  const LayoutCase c = *any_layout_case();
  const OrganizationLayout layout = organization_layout(layout_or_discard(c), *any_organization());
  const StateMix mix{*rc::gen::inRange<std::uint64_t>(0, 6),
                     *rc::gen::inRange<std::uint64_t>(0, 6)};
  // Enough for a few repetitions, whatever an object takes.
  const std::uint64_t scale =
      1 + mix.attention_blocks * layout.units_per_block +
      mix.checkpoints * (layout.units_per_checkpoint() + layout.least_slabs(1));
  return {layout,
          mix,
          {*rc::gen::inRange<std::uint64_t>(0, 20 * scale),
           *rc::gen::inRange<std::uint64_t>(0, 20 * scale)}};
}

}  // namespace

TEST_CASE("capacity is what a loop that adds one repetition at a time finds") {
  CHECK(rc::check("fits(n) and not fits(n + 1)", [] {
    const CapacityCase c = any_capacity_case();
    const auto capacity = mix_capacity(c.layout, c.mix, c.units);
    if (!capacity) {
      RC_ASSERT(c.mix.checkpoints == 0U);
      RC_ASSERT(c.mix.attention_blocks == 0U || c.layout.units_per_block == 0U);
      return;
    }
    const auto fit = [&](std::uint64_t n) {
      return naive_fits(c.layout, n * c.mix.attention_blocks, n * c.mix.checkpoints, c.units);
    };
    const std::uint64_t n = capacity->repetitions;
    for (std::uint64_t i = 0; i <= std::min<std::uint64_t>(n, 3'000); ++i) {
      RC_ASSERT(fit(i));
      RC_ASSERT(fits(c.layout, c.mix, i, c.units));
    }
    RC_ASSERT(fit(n));
    RC_ASSERT(!fit(n + 1));
    RC_ASSERT(!fits(c.layout, c.mix, n + 1, c.units));
    // The pool that is named is one that is full.
    const std::uint64_t blocks = (n + 1) * c.mix.attention_blocks * c.layout.units_per_block;
    const std::uint64_t states = (n + 1) * c.mix.checkpoints * c.layout.units_per_checkpoint();
    if (c.layout.pools == 1) RC_ASSERT(capacity->limited_by == Limit::shared_pool);
    if (c.layout.pools == 2)
      RC_ASSERT(
          (capacity->limited_by == Limit::attention ? blocks > c.units[0] : states > c.units[1]));
  }));
}

TEST_CASE("more units never hold less, and fewer objects never hold less often") {
  CHECK(rc::check("monotone", [] {
    const CapacityCase c = any_capacity_case();
    const auto capacity = mix_capacity(c.layout, c.mix, c.units);
    RC_PRE(capacity.has_value());
    const PoolUnits more{c.units[0] + *rc::gen::inRange<std::uint64_t>(0, 500),
                         c.units[1] + *rc::gen::inRange<std::uint64_t>(0, 500)};
    RC_ASSERT(mix_capacity(c.layout, c.mix, more)->repetitions >= capacity->repetitions);
    const StateMix larger{c.mix.attention_blocks + *rc::gen::inRange<std::uint64_t>(0, 3),
                          c.mix.checkpoints + *rc::gen::inRange<std::uint64_t>(0, 3)};
    RC_ASSERT(mix_capacity(c.layout, larger, c.units)->repetitions <= capacity->repetitions);
  }));
}
