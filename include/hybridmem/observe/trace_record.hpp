// TraceRecord: one call of a cache's life, as data that can be replayed on any organization.
#pragma once

#include <cstdint>
#include <type_traits>

#include "hybridmem/core/error.hpp"
#include "hybridmem/core/ids.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// Which call a record stands for. Calls without an effect on later ones are not recorded.
enum class TraceOp : std::uint8_t {
  key,  ///< the next key of a sequence, or with `tokens` 0 its root
  commit,
  resume,
  open_step,
  advance,
  close_step,
  complete,
  drop_step,
  fail,
  publish,
  finish,
  preempt,
  abort,
  fork,  ///< `other` is the child, `tokens` where it begins
  truncate,
  epoch,
  clear,
};

/// One call. Sequences have numbers of their own, from 0 in order of admission, since handles
/// depend on the cache. `outcome` is what the recorded cache answered; a replay may answer
/// otherwise.
struct TraceRecord {
  TraceOp op = TraceOp::key;
  Error outcome = Error::none;
  std::uint32_t sequence = 0;
  std::uint32_t other = 0;
  Tokens tokens = 0;      ///< of the prompt, the chunk, the publication or the truncation
  Tokens max_tokens = 0;  ///< of the prompt
  Tokens match_cap = 0;   ///< of the prompt
  std::uint64_t requester = 0;
  std::uint64_t high = 0;  ///< of a key
  std::uint64_t low = 0;   ///< of a key; for steps, the ticket
};

static_assert(std::is_trivially_copyable_v<TraceRecord>);

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
