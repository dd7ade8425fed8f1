// What slots cost the page pool, and the choices a slab pool starts with.
#include "hybridmem/pool/slab_options.hpp"

#include <doctest/doctest.h>

#include <type_traits>

using hybridmem::SlabOrder;
using hybridmem::SlabPoolOptions;
using hybridmem::SlotDemand;
using hybridmem::SlotPlacement;

TEST_CASE("slot demand counts activated slabs and new pages together") {
  static_assert(std::is_trivially_copyable_v<SlotDemand>);
  static_assert(SlotDemand{}.total() == 0);
  static_assert(SlotDemand{.activated = 2, .pages = 3}.total() == 5);
}

TEST_CASE("a slab pool's defaults are the recommended ones") {
  const SlabPoolOptions options;
  CHECK(options.placement == SlotPlacement::fullest);
  CHECK(options.order == SlabOrder::last_release);
  CHECK(options.slots_per_slab == 0);
}
