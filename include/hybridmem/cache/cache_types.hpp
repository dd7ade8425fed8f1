// The values that an engine and its cache exchange: handles, prompts, matches, chunks, work lists.
#pragma once

#include <cstdint>
#include <span>

#include "hybridmem/core/error.hpp"
#include "hybridmem/core/ids.hpp"
#include "hybridmem/organization/memory_organization.hpp"
#include "hybridmem/prefix/key.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// The number of a step: 1, 2, 3, ... in launch order. `none` is no step.
enum class Ticket : std::uint64_t { none = 0 };

/// A sequence. `slot` is dense, below `max_sequences`, and fixed until the sequence ends; a handle
/// whose generation is past is refused as `stale_handle`.
struct Sequence {
  std::int32_t slot = -1;
  std::uint32_t generation = 0;

  friend constexpr bool operator==(const Sequence&, const Sequence&) = default;
};

/// What limits the depth of a joint match (rule L1).
enum class LimitedBy : std::uint8_t {
  neither,    ///< the prompt, or the caller's cap
  attention,  ///< a deeper checkpoint exists, its attention blocks do not
  recurrent,  ///< the attention blocks reach deeper than any checkpoint
};

/// A request as the cache sees it. `keys` start at token 0; key i covers tokens up to (i + 1) *
/// key_tokens. Keys beyond the full chunks of `tokens` are ignored.
struct Prompt {
  std::span<const Key> keys;
  Key root{};              ///< parent of the first key
  Tokens tokens = 0;       ///< of the prompt, at least 1
  Tokens max_tokens = 0;   ///< of prompt and output together, at least `tokens`
  Tokens match_cap = ~0U;  ///< no deeper match than this (prompt log-probabilities, a draft model)
  std::uint64_t requester = 0;  ///< who asks, for demand counts
};

/// What can be adopted (rule L1). Depths are tokens from the start.
struct Match {
  Tokens attention_depth = 0;  ///< leading whole blocks, at most tokens - 1
  Tokens recurrent_depth = 0;  ///< the deepest checkpoint, whatever the attention blocks
  Tokens joint_depth = 0;      ///< the deepest checkpoint at or below attention_depth and the cap
  Tokens pending_depth = 0;    ///< what joint_depth becomes when `pending_until` completes
  Ticket pending_until = Ticket::none;
  LimitedBy limited_by = LimitedBy::neither;
  std::uint64_t version = 0;  ///< of the cache; unchanged, the match still holds
};

enum class Verdict : std::uint8_t {
  ready,
  wait_units,   ///< `units_short` of `pool` are missing
  wait_ticket,  ///< enough units become free when `wait_for` completes
  unservable,   ///< could not run alone to max_tokens in an empty cache
};

/// Whether a request can be admitted now (rule L3).
struct Admission {
  Verdict verdict = Verdict::wait_units;
  std::uint8_t pool = 0;           ///< the pool that is short
  std::uint64_t units_needed = 0;  ///< in that pool, headroom excluded
  std::uint64_t units_short = 0;   ///< in that pool, headroom included
  Ticket wait_for = Ticket::none;
  Match match{};  ///< what a commit would adopt
};

/// Tokens to extend a sequence by in the open step.
struct Chunk {
  Sequence sequence{};
  Tokens tokens = 0;
};

/// What a chunk did.
struct Advanced {
  Tokens from = 0;
  Tokens to = 0;
  std::uint16_t states_saved = 0;
  std::uint16_t states_skipped = 0;
};

/// The outcome of a batch: chunks before `done` stand; the one at `done`, if any, changed nothing.
struct Batch {
  std::size_t done = 0;
  Error error = Error::none;
  std::uint8_t pool = 0;          ///< with `shortfall`: the pool that is short
  std::uint64_t units_short = 0;  ///< with `shortfall`
  Ticket wait_for =
      Ticket::none;  ///< with `shortfall`: enough units come with this ticket; none: a victim helps
};

/// The index space of a physical id.
enum class Place : std::uint8_t {
  attention_page,  ///< a unit of the pool that serves attention
  state_page,      ///< a unit of the pool that serves checkpoints
  conv_line,       ///< a convolution line
};

/// Copy a whole unit, in every layer tensor of its stack.
struct UnitCopy {
  Place place = Place::attention_page;
  std::int32_t source = -1;
  std::int32_t destination = -1;
};

/// Clear a whole unit, in every layer tensor of its stack.
struct UnitZero {
  Place place = Place::attention_page;
  std::int32_t id = -1;
};

/// Blocks that a sequence gained in a step: `count` from `first_block` on.
struct BlockAppend {
  Sequence sequence{};
  std::uint32_t first_block = 0;
  std::uint32_t count = 0;
};

/// A state that a step writes: at `position`, kept as a checkpoint or only as the running state.
struct StateWrite {
  Sequence sequence{};
  Tokens position = 0;
  CheckpointId state{};
  bool saved = false;
};

/// The work of a closed step (rule L5): valid until its ticket completes or fails. Copy
/// destinations and zeros are disjoint and no source is among them, so they may run in any order
/// before the kernels.
struct StepWork {
  Ticket ticket = Ticket::none;
  std::span<const UnitCopy> copies;
  std::span<const UnitZero> zeros;
  std::span<const BlockAppend> appends;
  std::span<const StateWrite> writes;
};

/// How far a sequence is: `settled` tokens are written and proven, `placed` includes steps in
/// flight.
struct Position {
  Tokens settled = 0;
  Tokens placed = 0;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
