// Metrics: what the cache counts. Plain data, copied out whole; never one blended "usage".
#pragma once

#include <array>
#include <cstdint>

#include "hybridmem/core/config.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// Counters since construction, and gauges of the moment. `struct_bytes` comes first so that a
/// reader built against another version can tell what it was given.
struct Metrics {
  std::uint64_t struct_bytes = sizeof(Metrics);

  // Gauges. Units of pool 0 (shared, or attention) and pool 1 (recurrent).
  struct Pool {
    std::uint64_t units = 0;
    std::uint64_t free = 0;
    std::uint64_t cached = 0;
    std::uint64_t referenced = 0;
  };
  std::array<Pool, 2> pools{};
  std::uint64_t running = 0;            ///< sequences that hold state
  std::uint64_t preempted_waiting = 0;  ///< preempted sequences not yet resumed
  std::uint64_t closing = 0;            ///< ended sequences whose last step is in flight
  std::uint64_t published_blocks = 0;   ///< attention blocks that can be found
  std::uint64_t published_checkpoints = 0;
  std::uint64_t pinned_checkpoints = 0;
  std::uint64_t slabs = 0;
  std::uint64_t slots_taken = 0;

  // Counters.
  std::uint64_t commits = 0;  ///< first admissions
  std::uint64_t resumes = 0;
  std::uint64_t adopted_tokens = 0;        ///< by first admissions
  std::uint64_t resumed_tokens = 0;        ///< by resumes
  std::uint64_t hits = 0;                  ///< first admissions that adopted anything
  std::uint64_t limited_by_attention = 0;  ///< admissions whose depth the attention blocks limited
  std::uint64_t limited_by_recurrent = 0;  ///< admissions whose depth the checkpoints limited
  std::uint64_t advances = 0;
  std::uint64_t refusals = 0;  ///< chunks refused for lack of units
  std::uint64_t preemptions = 0;
  std::uint64_t checkpoints_saved = 0;
  std::uint64_t checkpoints_skipped = 0;  ///< yielded for lack of units, room or budget
  std::uint64_t blocks_evicted = 0;
  std::uint64_t checkpoints_evicted = 0;
  std::uint64_t cross_invalidations = 0;
  std::uint64_t blocks_published = 0;
  std::uint64_t checkpoints_published = 0;
  std::uint64_t duplicates_published = 0;  ///< published under a key that already named an object
  std::uint64_t retained = 0;              ///< releases put off by producer retention
  std::uint64_t pins = 0;
  std::uint64_t pins_dropped = 0;  ///< for lack of units
  std::uint64_t steps = 0;
  std::uint64_t failed_steps = 0;
  std::uint64_t events = 0;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
