// The choices a pool leaves open, and what it counts. Plain data.
#pragma once

#include <cstdint>

#include "hybridmem/core/config.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// Which units an allocation takes first (rule P8).
enum class FreeOrder : std::uint8_t {
  unpublished_first,  ///< units that nothing can find go before any cached object is evicted
  release_order,      ///< one queue: what was released earlier goes earlier, findable or not
};

/// Where an idle slab stands in the reclaim order (rule P8).
enum class SlabOrder : std::uint8_t {
  last_release,  ///< where its last referenced slot was released
  creation,      ///< where the slab was created, never refreshed
};

/// Which slot a new convolution state takes (rule P9).
enum class SlotPlacement : std::uint8_t {
  fullest,  ///< the fullest referenced slab with room, then the fullest idle one, then a new page
  fifo,     ///< the slot that became free first, then a new page
};

constexpr const char* name_of(FreeOrder order) noexcept {
  return order == FreeOrder::unpublished_first ? "unpublished_first" : "release_order";
}
constexpr const char* name_of(SlabOrder order) noexcept {
  return order == SlabOrder::last_release ? "last_release" : "creation";
}
constexpr const char* name_of(SlotPlacement placement) noexcept {
  return placement == SlotPlacement::fullest ? "fullest" : "fifo";
}

/// What releasing one reference did to an object.
enum class Released : std::uint8_t {
  still_referenced,  ///< others hold it
  cached,            ///< it stays, and its pages may be reassigned at any time
  dropped,           ///< nothing can find it: the caller returns its pages now
};

/// Units of one pool by what they are doing. The four add up to `units`.
struct PoolCounts {
  std::uint32_t units = 0;
  std::uint32_t free = 0;
  std::uint32_t cached = 0;      ///< of unreferenced objects that are still whole
  std::uint32_t referenced = 0;  ///< of objects that someone holds

  friend constexpr bool operator==(const PoolCounts&, const PoolCounts&) = default;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
