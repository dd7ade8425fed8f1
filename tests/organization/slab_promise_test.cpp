// What `needed` promises of slabs: room that an eviction makes on an idle slab is not worth a page.
#include <doctest/doctest.h>

#include <vector>

#include "hybridmem/organization/slab_packed.hpp"

using namespace hybridmem;

TEST_CASE("an eviction on the way does not make a checkpoint take pages promised to blocks") {
  OrganizationLayout layout;
  layout.kind = OrganizationKind::slab_packed;
  layout.block_tokens = 16;
  layout.units_per_block = 1;
  layout.member_units = 1;
  layout.lines_per_checkpoint = layout.slots_per_checkpoint = 2;
  layout.slots_per_slab = 3;
  OrganizationOptions options;
  options.slab_order = SlabOrder::creation;
  options.slot_placement = SlotPlacement::fifo;
  SlabPacked organization(layout, {5, 0}, options, std::pmr::get_default_resource());
  const auto ignore = [](const Eviction&) {};
  std::vector<CheckpointId> states;
  for (int i = 0; i < 3; ++i) states.push_back(organization.allocate_checkpoint(ignore));
  for (const CheckpointId id : states) {
    REQUIRE(id.present());
    CHECK(organization.release(id, true) == Released::cached);
  }
  // Two slabs hold three states of two slots each; the second state lies on both.
  REQUIRE(organization.counts(0).cached == 5);
  REQUIRE(organization.needed({3, 1}, PoolUnits{}, CheckpointId::absent())[0] == 5);
  CHECK(organization.allocate_checkpoint(ignore, {3, 0}).present());
  for (int i = 0; i < 3; ++i) CHECK(organization.allocate_block(ignore).present());
  CHECK(organization.counts(0).free == 0);
}
