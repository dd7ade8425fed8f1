#include "hybridmem/pool/pool_options.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <type_traits>

using namespace hybridmem;

TEST_CASE("every choice of a pool has its name") {
  CHECK(std::string_view(name_of(FreeOrder::unpublished_first)) == "unpublished_first");
  CHECK(std::string_view(name_of(FreeOrder::release_order)) == "release_order");
  CHECK(std::string_view(name_of(SlabOrder::last_release)) == "last_release");
  CHECK(std::string_view(name_of(SlabOrder::creation)) == "creation");
  CHECK(std::string_view(name_of(SlotPlacement::fullest)) == "fullest");
  CHECK(std::string_view(name_of(SlotPlacement::fifo)) == "fifo");
}

TEST_CASE("counts are plain data, alike only if all four are") {
  static_assert(std::is_trivially_copyable_v<PoolCounts>);
  const PoolCounts counts{.units = 6, .free = 3, .cached = 2, .referenced = 1};
  CHECK(counts == PoolCounts{6, 3, 2, 1});
  CHECK(counts != PoolCounts{7, 3, 2, 1});
  CHECK(counts != PoolCounts{6, 4, 2, 1});
  CHECK(counts != PoolCounts{6, 3, 1, 1});
  CHECK(counts != PoolCounts{6, 3, 2, 0});
  CHECK(PoolCounts{} == PoolCounts{0, 0, 0, 0});
}
