// IndexFinding: what an audit of a prefix index can find to be wrong.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hybridmem/core/config.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// The ways in which an index can contradict itself.
enum class IndexFault : std::uint8_t {
  slot_number,    ///< a slot names an object beyond the capacity
  slot_object,    ///< a slot names an object that is not published
  slot_newer,     ///< a slot names an object that is not the oldest of its key
  slot_place,     ///< a slot is not where the order of probing has it
  hidden_object,  ///< no slot leads to the oldest object of a key
  broken_link,    ///< the neighbour in age of an object does not link back
  mixed_keys,     ///< neighbours in age have different keys
  count,          ///< the size differs from the published objects, or from those in lists
};

/// The name of a fault, as spelled in the source.
constexpr const char* name_of(IndexFault fault) noexcept {
  switch (fault) {
    case IndexFault::slot_number:
      return "slot_number";
    case IndexFault::slot_object:
      return "slot_object";
    case IndexFault::slot_newer:
      return "slot_newer";
    case IndexFault::slot_place:
      return "slot_place";
    case IndexFault::hidden_object:
      return "hidden_object";
    case IndexFault::broken_link:
      return "broken_link";
    case IndexFault::mixed_keys:
      return "mixed_keys";
    case IndexFault::count:
      return "count";
  }
  return "unknown";
}

/// One inconsistency and where it shows.
struct IndexFinding {
  IndexFault fault;
  std::int32_t object;  ///< the object's number; -1 where the finding is about no single one
  std::int64_t slot;    ///< the slot of the table; -1 where the finding is about none

  friend constexpr bool operator==(const IndexFinding&, const IndexFinding&) noexcept = default;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
