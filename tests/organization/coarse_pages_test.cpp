// What is particular to CoarsePages: one unit for whatever it is, line = page.
#include "hybridmem/organization/coarse_pages.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "support/organization_audit.hpp"
#include "support/organization_harness.hpp"

using namespace hybridmem;
using namespace hybridmem_test;

TEST_CASE("a block and a checkpoint take one coarse page each, in any mix (eq. 1)") {
  for (std::uint32_t blocks = 0; blocks <= 5; ++blocks) {
    Harness<CoarsePages> h(5, 0);
    for (std::uint32_t i = 0; i < blocks; ++i) CHECK(h.block().present());
    for (std::uint32_t i = blocks; i < 5; ++i) CHECK(h.checkpoint().present());
    CHECK_FALSE(h.block().present());
    CHECK_FALSE(h.checkpoint().present());
    CHECK(h.o.counts(0) == PoolCounts{5, 0, 0, 5});
    CHECK(h.o.slab_pool() == nullptr);
  }
}

TEST_CASE("a convolution line is the checkpoint's own page, behind its recurrent state") {
  Harness<CoarsePages> h(3, 3);
  const BlockId block = h.block();
  CHECK(h.o.pages(block)[0] == 0);
  for (std::int32_t i = 1; i < 4; ++i) {
    const CheckpointId id = h.checkpoint();
    REQUIRE(h.o.pages(id).size() == 1);
    REQUIRE(h.o.lines(id).size() == 1);
    CHECK(h.o.pages(id)[0] == i);
    CHECK(h.o.lines(id)[0] == i);
  }
}

TEST_CASE("a block makes way for a checkpoint, and the other way round") {
  Harness<CoarsePages> h(0, 1);
  const CheckpointId state = h.cached(h.checkpoint());
  const BlockId block = h.cached(h.block());
  CHECK(block.present());
  CHECK(h.evicted == std::vector<Evicted>{evicted_checkpoint(state)});
  CHECK(h.checkpoint().present());
  CHECK(h.evicted.back() == evicted_block(block));
}

TEST_CASE("with stacks a checkpoint takes a page, and has a line, in each") {
  const OrganizationLayout layout =
      organization_of(OrganizationKind::coarse_pages, nemotron_numbers);
  Harness<CoarsePages> h(layout, units_for(layout, 2, 2));
  const CheckpointId state = h.checkpoint();
  CHECK(h.o.pages(state).size() == 23);
  CHECK(std::vector(h.o.lines(state).begin(), h.o.lines(state).end()) ==
        std::vector(h.o.pages(state).begin(), h.o.pages(state).end()));
  CHECK(h.o.pages(h.block()).size() == layout.units_per_block);
  CHECK(audit(h.o).empty());
}

TEST_CASE("a block longer than a coarse page takes several, all or none") {
  OrganizationLayout layout = organization_of(OrganizationKind::coarse_pages);
  layout.units_per_block = 3;
  Harness<CoarsePages> h(layout, {7, 0});
  CHECK(h.o.block_capacity() == 2);
  const BlockId first = h.cached(h.block());
  CHECK(h.o.pages(first).size() == 3);
  CHECK(h.block().present());
  CHECK(h.evicted.empty());
  CHECK(h.block().present());  // one page is free, two are short
  CHECK(h.evicted == std::vector<Evicted>{evicted_block(first)});
  CHECK_FALSE(h.block().present());
  CHECK(h.o.counts(0) == PoolCounts{7, 1, 0, 6});
}
