// What is particular to PagedRecurrent: members, and a page of its own for the convolution state.
#include "hybridmem/organization/paged_recurrent.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "support/organization_audit.hpp"
#include "support/organization_harness.hpp"

using namespace hybridmem;
using namespace hybridmem_test;

TEST_CASE("a checkpoint of the paper's model is three members and the convolution page, 2048 KiB") {
  Harness<PagedRecurrent> h(2, 1);
  const CheckpointId state = h.checkpoint();
  REQUIRE(h.o.pages(state).size() == 4);
  REQUIRE(h.o.lines(state).size() == 1);
  CHECK(h.o.lines(state)[0] == h.o.pages(state)[3]);
  CHECK(h.layout.unit_bytes[1] * h.o.pages(state).size() == 2048 * 1024);
  CHECK(h.o.counts(0) == PoolCounts{6, 2, 0, 4});
  CHECK(h.o.slab_pool() == nullptr);
}

TEST_CASE("no two checkpoints share a page, so none invalidates another") {
  Harness<PagedRecurrent> h(0, 4);
  std::set<std::int32_t> pages;
  std::vector<CheckpointId> states;
  for (int i = 0; i < 4; ++i) {
    states.push_back(h.cached(h.checkpoint()));
    pages.insert(h.o.pages(states.back()).begin(), h.o.pages(states.back()).end());
  }
  CHECK(pages.size() == 16);
  for (int i = 0; i < 4; ++i) CHECK(h.block().present());
  CHECK(h.evicted == std::vector<Evicted>{evicted_checkpoint(states[0])});
  for (int i = 1; i < 4; ++i) CHECK(h.o.cached(states[static_cast<std::size_t>(i)]));
  CHECK(h.o.cross_invalidations() == 0);
}

TEST_CASE("a model without a common divisor: 92 members, then 23 convolution pages") {
  const OrganizationLayout layout =
      preset_organization(OrganizationKind::paged_recurrent, "nemotron-3-nano-30b-a3b");
  CHECK(layout.member_units == 92);
  CHECK(layout.conv_units == 23);
  CHECK(layout.units_per_block == 6);
  Harness<PagedRecurrent> h(layout, units_for(layout, 3, 2));
  const CheckpointId state = h.checkpoint();
  REQUIRE(h.o.pages(state).size() == 115);
  REQUIRE(h.o.lines(state).size() == 23);
  for (std::size_t i = 0; i < 23; ++i) CHECK(h.o.lines(state)[i] == h.o.pages(state)[92 + i]);
  CHECK(audit(h.o).empty());
}

TEST_CASE("convolution alone: a checkpoint is its convolution pages") {
  const OrganizationLayout layout =
      preset_organization(OrganizationKind::paged_recurrent, "lfm2-1.2b");
  CHECK(layout.member_units == 0);
  Harness<PagedRecurrent> h(layout, units_for(layout, 1, 2));
  const CheckpointId state = h.checkpoint();
  CHECK(h.o.pages(state).size() == layout.conv_units);
  CHECK(h.o.lines(state).size() == layout.conv_units);
  CHECK(h.o.lines(state).data() == h.o.pages(state).data());
}
