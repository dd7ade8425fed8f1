// What the four organizations share beyond the rules: sizes of the tables, ids, and models of
// several stacks.
#include "hybridmem/organization/pooled_organization.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "hybridmem/organization/coarse_pages.hpp"
#include "hybridmem/organization/paged_recurrent.hpp"
#include "hybridmem/organization/slab_packed.hpp"
#include "hybridmem/organization/static_dual_pool.hpp"
#include "support/organization_audit.hpp"
#include "support/organization_harness.hpp"

using namespace hybridmem;
using namespace hybridmem_test;

TEST_CASE_TEMPLATE("there is an id for every object that the units could hold", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const GeometryNumbers& numbers : {falcon_numbers, granite_numbers, nemotron_numbers}) {
    const OrganizationLayout layout = organization_of(O::kind, numbers);
    Harness<O> only_blocks(layout, {200, 200});
    std::uint32_t blocks = 0;
    while (only_blocks.block().present()) ++blocks;
    CHECK(blocks == 200 / layout.units_per_block);
    CHECK(blocks == only_blocks.o.block_capacity());

    Harness<O> only_states(layout, {200, 200});
    std::uint32_t states = 0;
    while (only_states.checkpoint().present()) ++states;
    const auto capacity = mix_capacity(layout, {0, 1}, {200, 200});
    REQUIRE(capacity);
    CHECK(states == capacity->repetitions);
    CHECK(states <= only_states.o.checkpoint_capacity());
    CHECK(audit(only_states.o).empty());
  }
}

TEST_CASE_TEMPLATE("every allocation of one kind is told its victims oldest first, for ever", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  Harness<O> h(organization_of(O::kind, granite_numbers),
               units_for(organization_of(O::kind, granite_numbers), 4, 4));
  std::vector<std::int32_t> order;
  for (int i = 0; i < 50; ++i) {
    h.evicted.clear();
    const CheckpointId id = h.cached(h.checkpoint());
    REQUIRE(id.present());
    for (const Evicted& gone : h.evicted) {
      REQUIRE_FALSE(order.empty());
      CHECK(gone.index == order.front());
      order.erase(order.begin());
    }
    order.push_back(id.value());
  }
}

TEST_CASE("capacity told is capacity had: random mixes fill what mix_capacity says (vllm 37121)") {
  CHECK(rc::check("repetitions of a mix", [] {
    const auto kind = *any_organization();
    const auto layout_case = *any_layout_case();
    const OrganizationLayout layout = organization_layout(layout_or_discard(layout_case), kind);
    RC_PRE(layout.units_per_block < 100 && layout.units_per_checkpoint() < 500);
    const StateMix mix{layout.units_per_block == 0 ? 0 : *rc::gen::inRange<std::uint64_t>(0, 4),
                       *rc::gen::inRange<std::uint64_t>(1, 4)};
    const PoolUnits units{*rc::gen::inRange<std::uint64_t>(1, 800),
                          layout.pools == 2 ? *rc::gen::inRange<std::uint64_t>(1, 800) : 0};
    const auto capacity = mix_capacity(layout, mix, units);
    RC_PRE(capacity.has_value());
    const auto fill = [&]<class O>(Harness<O>&& h) {
      const auto repetitions = static_cast<std::uint32_t>(capacity->repetitions);
      for (std::uint32_t i = 0; i < repetitions; ++i) {
        for (std::uint64_t j = 0; j < mix.attention_blocks; ++j) RC_ASSERT(h.block().present());
        for (std::uint64_t j = 0; j < mix.checkpoints; ++j) RC_ASSERT(h.checkpoint().present());
      }
      RC_ASSERT_FALSE(h.predicts({static_cast<std::uint32_t>(mix.attention_blocks),
                                  static_cast<std::uint32_t>(mix.checkpoints)}));
      RC_ASSERT(h.evicted.empty());
      RC_ASSERT(audit(h.o).empty());
    };
    switch (kind) {
      case OrganizationKind::coarse_pages:
        return fill(Harness<CoarsePages>(layout, units));
      case OrganizationKind::paged_recurrent:
        return fill(Harness<PagedRecurrent>(layout, units));
      case OrganizationKind::slab_packed:
        return fill(Harness<SlabPacked>(layout, units));
      case OrganizationKind::static_dual_pool:
        return fill(Harness<StaticDualPool>(layout, units));
    }
  }));
}
