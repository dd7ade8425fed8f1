// Event: one change of what can be found, or of who holds it. Plain data, emitted by the cache.
#pragma once

#include <cstdint>

#include "hybridmem/core/ids.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// What happened. A replica that applies published, lost, epoch, reset and the events of steps in
/// order answers every match as the cache does.
enum class EventKind : std::uint8_t {
  step_opened,     ///< `ticket` was opened
  step_closed,     ///< `ticket` takes no more chunks
  step_dropped,    ///< `ticket` was undone; the next step has its number
  step_completed,  ///< `ticket` and all before it are complete
  steps_failed,    ///< `ticket` and all after it are void
  published,  ///< an object can be found under `key` from the next step on, or from completion on
  lost,       ///< an object can no longer be found; `cause` says why
  admitted,   ///< a sequence adopted the tokens up to `end`
  preempted,  ///< a sequence gave up what it held
  ended,      ///< a sequence finished or was aborted
  epoch,      ///< nothing published before can be found any more
  reset,      ///< the same, and steps count from 1 again
  end_of_stream,  ///< the stream is complete up to here
};

/// Why an object was lost.
enum class LossCause : std::uint8_t {
  none,
  evicted,            ///< its units were reassigned
  cross_invalidated,  ///< the slab under one of its slots was reassigned
  overwritten,        ///< its only holder went on in place
  unwritten,          ///< the step that would have written it failed, or was withdrawn
};

/// Which kind of object an event is about.
enum class EventObject : std::uint8_t { none, attention_block, checkpoint };

/// One event. Keys are the two halves of a `Key`; fields that do not apply are zero.
struct Event {
  std::uint64_t number = 0;  ///< 1, 2, 3, ... without gaps: a gap is a loss
  std::uint64_t ticket = 0;  ///< the step in which it happened
  std::uint64_t key_high = 0;
  std::uint64_t key_low = 0;
  std::uint64_t parent_high = 0;
  std::uint64_t parent_low = 0;
  std::uint64_t requester = 0;
  std::int32_t object = -1;  ///< the id of the block or checkpoint
  std::uint32_t epoch = 0;
  Tokens begin = 0;  ///< tokens that the object, or the change, covers
  Tokens end = 0;
  std::uint32_t units = 0;
  EventKind kind = EventKind::end_of_stream;
  EventObject object_kind = EventObject::none;
  LossCause cause = LossCause::none;
};

/// The event sink that takes nothing, at no cost. A sink is any type with `enabled` and
/// `operator()(const Event&)`; it is called from the scheduler's thread and must not call the
/// cache.
struct NoEvents {
  static constexpr bool enabled = false;
  void operator()(const Event&) const noexcept {}
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
