// CacheOptions: what an engine decides about its cache, fixed at construction. Plain data.
#pragma once

#include <cstdint>

#include "hybridmem/core/ids.hpp"
#include "hybridmem/organization/memory_organization.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// When a released unit may be reassigned, and a publication matched (rule L6).
enum class Reuse : std::uint8_t {
  stream,  ///< from the next step on: right for engines that launch on one stream
  ticket,  ///< only after the last step that touched it is complete
};

/// At which interior boundaries of a chunk the prefill kernel can write a state (rule L7).
enum class Interior : std::uint8_t {
  none,              ///< only at the chunk's end: `next_stop` says where a chunk should end
  from_chunk_start,  ///< at multiples of the kernel chunk counted from the chunk's start
  on_grid,           ///< at any boundary
};

/// The options of a `StateCache`. Counts are of one rank; the least over all ranks where there are
/// more.
struct CacheOptions {
  PoolUnits units{};  ///< units of each pool
  std::uint32_t max_sequences = 256;
  std::uint32_t max_steps_in_flight = 2;
  Tokens max_sequence_tokens = 131'072;
  Tokens max_chunk_tokens = 8'192;
  Tokens key_tokens = 16;          ///< tokens of one key; divides the block
  Tokens kernel_chunk_tokens = 0;  ///< quantum of `from_chunk_start`; 0: any token
  Reuse reuse = Reuse::stream;
  Interior interior = Interior::on_grid;

  /// Saving a checkpoint never refuses, waits or costs a victim: short of units it is skipped and
  /// counted. Otherwise one is required at every boundary of the prompt (the paper's preset).
  bool checkpoints_yield = true;
  bool prompt_anchors =
      false;  ///< also keep the last multiples of the block at or below n - 1 and n
  bool reserve_prompt =
      false;  ///< `commit` allocates the whole prompt's blocks, so advance cannot fail there
  bool keep_tail =
      true;  ///< `finish` publishes the running state where it stands on the block grid

  double headroom = 0.0;        ///< f: floor(f * B) units of each pool kept clear at admission
  std::uint32_t retention = 0;  ///< K: distinct requesters that keep a checkpoint held; 0: off
  std::uint32_t preemption_pinning = 0;  ///< K: distinct requesters that earn a pin; 0: off
  std::uint64_t pinned_units = 0;        ///< units that pins may hold; 0: no limit
  /// Units that checkpoints may hold, cached or held; 0: no limit. Kept to whenever one is saved;
  /// one state is taken off for each running sequence, and what ends adds its own until the next
  /// save.
  std::uint64_t checkpoint_units = 0;

  OrganizationOptions organization{};
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
