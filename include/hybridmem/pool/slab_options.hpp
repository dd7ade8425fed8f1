// SlabPoolOptions: the size of a slab pool and its choices; what slots cost the page pool. Plain
// data.
#pragma once

#include <cstdint>

#include "hybridmem/pool/pool_options.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// The size of a slab pool and its choices.
struct SlabPoolOptions {
  std::uint32_t slots_per_slab = 0;
  std::uint32_t max_slabs = 0;
  std::uint32_t first_object = 0;  ///< object id of slab 0 in the page pool
  SlotPlacement placement = SlotPlacement::fullest;
  SlabOrder order = SlabOrder::last_release;
};

/// Which slabs new slots may lie on. Idle slabs keep more cached states whole, but each takes a
/// page out of reclaim for the room it has left; when pages are short, whole new slabs need fewer.
/// Fewer still are needed once the cached states on referenced slabs have made way.
enum class SlabUse : std::uint8_t {
  as_placed,  ///< as `SlotPlacement` says (rule P9)
  compact,    ///< referenced slabs with room, then new pages only
  emptied,    ///< as compact, once no referenced slab holds a cached state any more
};

/// What an allocation of slots would take from the page pool's available pages.
struct SlotDemand {
  std::uint32_t activated = 0;  ///< idle slabs that adopted lines would take out of reclaim
  std::uint32_t pages = 0;      ///< idle slabs and new pages that the new slots would take

  constexpr std::uint32_t total() const noexcept { return activated + pages; }
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
