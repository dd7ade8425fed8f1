// What is particular to StaticDualPool: two pools that never lend.
#include "hybridmem/organization/static_dual_pool.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "hybridmem/core/bytes.hpp"
#include "hybridmem/organization/slab_packed.hpp"
#include "support/organization_audit.hpp"
#include "support/organization_harness.hpp"

using namespace hybridmem;
using namespace hybridmem_test;

TEST_CASE("one pool can be full while the other has room, and nothing is lent") {
  Harness<StaticDualPool> h(2, 2);
  const CheckpointId first = h.checkpoint();
  const CheckpointId second = h.cached(h.checkpoint());
  CHECK(h.block().present());
  CHECK(h.block().present());
  CHECK_FALSE(h.predicts({1, 0}));
  CHECK(h.predicts({0, 1}));
  CHECK_FALSE(h.block().present());
  CHECK(h.evicted.empty());  // a cached checkpoint is no room for a block
  CHECK(h.o.cached(second));
  CHECK(h.checkpoint().present());
  CHECK(h.evicted == std::vector<Evicted>{evicted_checkpoint(second)});
  CHECK_FALSE(h.checkpoint().present());
  CHECK(h.o.references(first) == 1);
  CHECK(h.o.counts(0) == PoolCounts{2, 0, 0, 2});
  CHECK(h.o.counts(1) == PoolCounts{2, 0, 0, 2});
}

TEST_CASE("the two pools number their pages apart, and a line is the composite's page") {
  Harness<StaticDualPool> h(2, 2);
  CHECK(h.o.pages(h.block())[0] == 0);
  const CheckpointId state = h.checkpoint();
  CHECK(h.o.pages(state)[0] == 0);
  CHECK(h.o.lines(state)[0] == 0);
  CHECK(h.o.pages(h.block())[0] == 1);
  CHECK(audit(h.o).empty());
}

TEST_CASE("each pool has its own order of reclaim") {
  Harness<StaticDualPool> h(2, 2);
  const BlockId old_block = h.cached(h.block());
  const CheckpointId old_state = h.cached(h.checkpoint());
  const CheckpointId new_state = h.cached(h.checkpoint());
  const BlockId new_block = h.cached(h.block());
  CHECK(h.checkpoint().present());
  CHECK(h.checkpoint().present());
  CHECK(h.block().present());
  CHECK(h.evicted == std::vector<Evicted>{evicted_checkpoint(old_state),
                                          evicted_checkpoint(new_state), evicted_block(old_block)});
  CHECK(h.o.cached(new_block));
}

TEST_CASE("table A-2: D0 refuses a set that its sum would hold, S2 takes it") {
  const OrganizationLayout dual = organization_of(OrganizationKind::static_dual_pool);
  const std::uint64_t half = 50_MiB;
  Harness<StaticDualPool> d0(dual, {half / dual.unit_bytes[0], half / dual.unit_bytes[1]});
  CHECK(dual.unit_bytes[0] * 3840 + dual.unit_bytes[1] * 16 < 100_MiB);  // 84.33 MiB
  CHECK(dual.unit_bytes[0] * 3840 + dual.unit_bytes[1] * 16 == 88'424'448);
  CHECK_FALSE(d0.predicts({3840, 0}));
  CHECK_FALSE(d0.predicts({3840, 16}));
  for (int i = 0; i < 16; ++i) CHECK(d0.checkpoint().present());
  std::uint32_t blocks = 0;
  while (blocks < 3840 && d0.block().present()) ++blocks;
  CHECK(blocks == 3200);

  const OrganizationLayout slabs = organization_of(OrganizationKind::slab_packed);
  Harness<SlabPacked> s2(slabs, {100_MiB / slabs.unit_bytes[0], 0});
  CHECK(s2.predicts({120, 16}));
  for (int i = 0; i < 16; ++i) CHECK(s2.checkpoint().present());
  for (int i = 0; i < 120; ++i) CHECK(s2.block().present());
  CHECK(s2.o.slab_pool()->slabs() == 1);
  CHECK((s2.o.counts(0).units - s2.o.counts(0).free) * slabs.unit_bytes[0] ==
        24'5 * 1_MiB / 10 + 60_MiB);
  CHECK(s2.evicted.empty());
}

TEST_CASE("without attention layers the attention pool may be empty") {
  const OrganizationLayout layout =
      preset_organization(OrganizationKind::static_dual_pool, "codestral-mamba-7b");
  Harness<StaticDualPool> h(layout, {0, 2 * layout.units_per_checkpoint()});
  CHECK_FALSE(h.block().present());
  CHECK(h.checkpoint().present());
  CHECK(h.checkpoint().present());
  CHECK_FALSE(h.checkpoint().present());
  CHECK(h.o.counts(0) == PoolCounts{});
}
