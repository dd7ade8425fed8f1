// StepRing: the steps in flight, what each did to which sequence, and the work lists it hands out.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "hybridmem/cache/cache_types.hpp"
#include "hybridmem/core/contract.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// A state that a chunk writes, in order of position.
struct Segment {
  CheckpointId state{};
  Tokens position = 0;
  bool saved = false;      ///< kept as a checkpoint, or standing on a boundary at the chunk's end
  bool allocated = false;  ///< taken for this chunk
};

/// What one chunk did, and what is needed to undo it.
struct StepEntry {
  Sequence sequence{};
  std::int32_t row = -1;
  bool withdrawn = false;  ///< the sequence left the open step again
  bool overwrote = false;  ///< went on in place in a published state
  Tokens from = 0;
  Tokens to = 0;
  CheckpointId source{};  ///< absent: the sequence starts from nothing
  std::uint32_t first_segment = 0;
  std::uint32_t segment_count = 0;
  std::uint32_t first_block = 0;  ///< blocks before this chunk
  std::uint32_t block_count = 0;  ///< blocks after it
  std::uint64_t previous_ticket = 0;
  std::uint32_t previous_entry = 0;
  std::uint32_t previous_listed = 0;
  Tokens previous_published_state = 0;
  std::uint64_t previous_current_ticket = 0;
  std::uint32_t previous_clean = 0;
  CheckpointId previous_spare{};
  Key overwritten_key{};  ///< where it overwrote: what the state was published with
  Key overwritten_parent{};
  std::uint64_t overwritten_ticket = 0;
};

/// A fork, and its partial last block: copied if the child still has it when the step closes.
struct TailCopy {
  Sequence child{};
  std::uint32_t block_index = 0;
  BlockId source{};
  BlockId destination{};
};

/// One step in flight.
struct StepRecord {
  std::uint64_t ticket = 0;
  bool closed = false;
  bool failed = false;
  std::pmr::vector<StepEntry> entries;
  std::pmr::vector<TailCopy> tails;
  std::pmr::vector<Segment> segments;
  std::pmr::vector<UnitCopy> copies;
  std::pmr::vector<UnitZero> zeros;
  std::pmr::vector<BlockAppend> appends;
  std::pmr::vector<StateWrite> writes;

  explicit StepRecord(std::pmr::memory_resource* memory)
      : entries(memory),
        tails(memory),
        segments(memory),
        copies(memory),
        zeros(memory),
        appends(memory),
        writes(memory) {}

  void clear(std::uint64_t new_ticket) {
    ticket = new_ticket;
    closed = false;
    failed = false;
    entries.clear();
    tails.clear();
    segments.clear();
    copies.clear();
    zeros.clear();
    appends.clear();
    writes.clear();
  }

  std::span<const Segment> segments_of(const StepEntry& entry) const {
    return std::span(segments).subspan(entry.first_segment, entry.segment_count);
  }

  StepWork work() const noexcept { return {Ticket{ticket}, copies, zeros, appends, writes}; }
};

/// How much a step may hold; beyond it a chunk is refused with `capacity`.
struct StepSizes {
  std::uint32_t entries = 0;
  std::uint32_t segments = 0;
  std::uint32_t copies = 0;
  std::uint32_t zeros = 0;
};

/// Tickets completed() + 1 to last(), at most `steps` of them. Step memory comes from the caller's
/// resource at construction; nothing allocates afterwards.
class StepRing {
 public:
  StepRing(std::uint32_t steps, const StepSizes& sizes, std::pmr::memory_resource* memory)
      : sizes_(sizes), records_(memory) {
    records_.reserve(steps);
    for (std::uint32_t i = 0; i < steps; ++i) {
      StepRecord& record = records_.emplace_back(memory);
      record.entries.reserve(sizes.entries);
      record.tails.reserve(sizes.entries);
      record.segments.reserve(sizes.segments);
      record.copies.reserve(sizes.copies);
      record.zeros.reserve(sizes.zeros);
      record.appends.reserve(std::size_t{2} * sizes.entries);
      record.writes.reserve(sizes.segments);
    }
  }

  const StepSizes& sizes() const noexcept { return sizes_; }
  std::uint64_t last() const noexcept { return last_; }
  std::uint64_t completed() const noexcept { return completed_; }
  std::uint64_t in_flight() const noexcept { return last_ - completed_; }
  bool full() const noexcept { return in_flight() == records_.size(); }
  /// Whether the newest step still takes chunks.
  bool is_open() const noexcept { return in_flight() > 0 && !at(last_).closed; }
  /// The step that a call happens in: the open one, or the next.
  std::uint64_t now() const noexcept { return is_open() ? last_ : last_ + 1; }
  bool contains(std::uint64_t ticket) const noexcept {
    return ticket > completed_ && ticket <= last_;
  }

  /// Precondition: contained.
  StepRecord& at(std::uint64_t ticket) { return records_[ticket % records_.size()]; }
  const StepRecord& at(std::uint64_t ticket) const { return records_[ticket % records_.size()]; }

  StepRecord& open() {
    ++last_;
    at(last_).clear(last_);
    return at(last_);
  }
  void complete_oldest() noexcept { ++completed_; }
  void drop_newest() noexcept { --last_; }
  /// Ends all steps in flight; their numbers are not used again.
  void end_all() noexcept { completed_ = last_; }
  void reset() noexcept { last_ = completed_ = 0; }

 private:
  StepSizes sizes_;
  std::pmr::vector<StepRecord> records_;
  std::uint64_t last_ = 0;
  std::uint64_t completed_ = 0;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
