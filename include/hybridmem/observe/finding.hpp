// Finding: one contradiction that an audit found. An intact cache has none.
#pragma once

#include <cstdint>

#include "hybridmem/core/config.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// What contradicts what.
enum class FindingKind : std::uint8_t {
  unit_sum,           ///< units by what they do, or checkpoints kept or pinned, do not add up
  unit_owners,        ///< a unit has no owner and is not free, or has two
  reference_count,    ///< an object's references are not as many as sequences and pins hold
  unheld_reference,   ///< a referenced object that nothing holds
  stale_publication,  ///< a published object whose storage is gone
  index,              ///< the prefix index contradicts itself, or what is counted of it
  position,           ///< a sequence's blocks do not cover its tokens, or it is not counted
  held_order,         ///< held checkpoints are not in order of position
  slab,               ///< a line whose slot is not its checkpoint's, or a slot without one
  pending_order,      ///< a publication waits for a step that is not in flight
  step_order,         ///< tickets in flight are not consecutive, or too many
};

constexpr const char* name_of(FindingKind kind) noexcept {
  switch (kind) {
    case FindingKind::unit_sum:
      return "unit_sum";
    case FindingKind::unit_owners:
      return "unit_owners";
    case FindingKind::reference_count:
      return "reference_count";
    case FindingKind::unheld_reference:
      return "unheld_reference";
    case FindingKind::stale_publication:
      return "stale_publication";
    case FindingKind::index:
      return "index";
    case FindingKind::position:
      return "position";
    case FindingKind::held_order:
      return "held_order";
    case FindingKind::slab:
      return "slab";
    case FindingKind::pending_order:
      return "pending_order";
    case FindingKind::step_order:
      return "step_order";
  }
  return "unknown";
}

/// One contradiction: where it is, and the two numbers that should agree.
struct Finding {
  FindingKind kind = FindingKind::unit_sum;
  std::uint8_t pool = 0;
  std::int32_t object = -1;  ///< block, checkpoint, sequence slot or unit, as the kind says
  std::uint64_t found = 0;
  std::uint64_t expected = 0;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
