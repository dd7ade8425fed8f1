// SequenceRows: what the cache remembers of each sequence, in dense arrays; handles and
// generations.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "hybridmem/cache/cache_types.hpp"
#include "hybridmem/core/contract.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// What a row is for.
enum class RowState : std::uint8_t {
  free,
  running,
  preempted,  ///< has a handle and perhaps a pin, holds nothing else
  closing,    ///< has no handle: holds what a step in flight still touches
};

/// A checkpoint that a sequence holds besides its running state.
struct Held {
  CheckpointId state{};
  Tokens position = 0;
  std::uint64_t saved = 0;  ///< the step that wrote it; 0: adopted
  std::uint64_t used = 0;   ///< the last step that read or wrote it
  bool leaving = false;     ///< let go already, unless the chunk at hand is refused
};

/// One sequence. Its blocks and held checkpoints lie in the rows' arrays.
struct Row {
  RowState state = RowState::free;
  bool damaged = false;
  std::int32_t slot = -1;
  Epoch epoch = 0;
  std::uint64_t requester = 0;
  Key root{};
  Tokens prompt_tokens = 0;
  Tokens max_tokens = 0;
  Tokens placed = 0;
  Tokens settled = 0;
  Tokens published_state = 0;  ///< the deepest boundary it adopted or published
  std::uint32_t block_count = 0;
  std::uint32_t published_blocks = 0;  ///< leading blocks that it adopted or published
  std::uint32_t held_count = 0;
  CheckpointId current{};            ///< the running state, at `placed`
  std::uint64_t current_ticket = 0;  ///< the last step that wrote it; 0: adopted
  std::uint64_t last_ticket = 0;     ///< the newest step that touches the sequence
  std::uint64_t lent_ticket = 0;     ///< the newest step that copies from or to its last block
  std::uint64_t depends_on = 0;      ///< the newest step whose publications or copies it began with
  std::uint32_t last_entry = 0;      ///< its place in the step `last_ticket`
  std::uint32_t listed_blocks = 0;   ///< leading blocks that work lists have named
  std::uint32_t clean_blocks = 0;    ///< leading blocks adopted, copied or cleared before
  CheckpointId spare{};              ///< the next destination, where a prompt is reserved
  CheckpointId pin{};
  std::uint64_t pin_order = 0;  ///< older pins have lower numbers
};

/// Rows for `sequences` handles and as many closing ones. Rows are numbered from 0; handles are
/// slots below `sequences`. Constant time; nothing allocates after construction.
class SequenceRows {
 public:
  SequenceRows(std::uint32_t sequences, std::uint32_t blocks, std::uint32_t held,
               std::pmr::memory_resource* memory)
      : max_blocks_(blocks),
        max_held_(held),
        rows_(std::size_t{2} * sequences, Row{}, memory),
        blocks_(rows_.size() * blocks, BlockId{}, memory),
        held_(rows_.size() * held, Held{}, memory),
        free_rows_(rows_.size(), 0, memory),
        row_of_slot_(sequences, -1, memory),
        generations_(sequences, 0, memory),
        free_slots_(sequences, 0, memory) {
    reset();
  }

  /// Frees every row; all handles become stale. Linear.
  void reset() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].state != RowState::free && rows_[i].slot >= 0)
        ++generations_[static_cast<std::size_t>(rows_[i].slot)];
      rows_[i] = Row{};
      free_rows_[i] = static_cast<std::int32_t>(rows_.size() - 1 - i);
    }
    free_row_count_ = rows_.size();
    for (std::size_t i = 0; i < row_of_slot_.size(); ++i) {
      row_of_slot_[i] = -1;
      free_slots_[i] = static_cast<std::int32_t>(row_of_slot_.size() - 1 - i);
    }
    free_slot_count_ = row_of_slot_.size();
  }

  std::size_t size() const noexcept { return rows_.size(); }
  std::uint32_t max_blocks() const noexcept { return max_blocks_; }
  std::uint32_t max_held() const noexcept { return max_held_; }
  bool slot_free() const noexcept { return free_slot_count_ > 0 && free_row_count_ > 0; }
  bool row_free() const noexcept { return free_row_count_ > 0; }

  Row& operator[](std::int32_t row) { return rows_[static_cast<std::size_t>(row)]; }
  const Row& operator[](std::int32_t row) const { return rows_[static_cast<std::size_t>(row)]; }

  /// The row of a handle, -1 when it is stale.
  std::int32_t find(Sequence sequence) const noexcept {
    if (sequence.slot < 0 || static_cast<std::size_t>(sequence.slot) >= row_of_slot_.size())
      return -1;
    const auto slot = static_cast<std::size_t>(sequence.slot);
    return generations_[slot] == sequence.generation ? row_of_slot_[slot] : -1;
  }

  /// The rows of handles, by slot; -1 where none is open.
  std::span<const std::int32_t> by_slot() const noexcept { return row_of_slot_; }

  Sequence handle(std::int32_t row) const {
    const std::int32_t slot = (*this)[row].slot;
    return {slot, slot < 0 ? 0 : generations_[static_cast<std::size_t>(slot)]};
  }

  /// A row with a handle. Precondition: `slot_free()`.
  std::int32_t open() {
    const std::int32_t row = open_closing();
    const std::int32_t slot = free_slots_[--free_slot_count_];
    (*this)[row].state = RowState::running;
    (*this)[row].slot = slot;
    row_of_slot_[static_cast<std::size_t>(slot)] = row;
    return row;
  }

  /// A row without a handle. Precondition: `row_free()`.
  std::int32_t open_closing() {
    HYBRIDMEM_CHECK(1, free_row_count_ > 0, "a row is free");
    const std::int32_t row = free_rows_[--free_row_count_];
    (*this)[row] = Row{};
    (*this)[row].state = RowState::closing;
    return row;
  }

  /// Makes the handle of a row stale; the row stays, closing.
  void drop_handle(std::int32_t row) {
    const auto slot = static_cast<std::size_t>((*this)[row].slot);
    ++generations_[slot];
    row_of_slot_[slot] = -1;
    free_slots_[free_slot_count_++] = static_cast<std::int32_t>(slot);
    (*this)[row].slot = -1;
    (*this)[row].state = RowState::closing;
  }

  /// Frees a row without a handle.
  void close(std::int32_t row) {
    (*this)[row] = Row{};
    free_rows_[free_row_count_++] = row;
  }

  /// The places for a sequence's blocks; the first `block_count` are in use.
  std::span<BlockId> all_blocks(std::int32_t row) {
    return {blocks_.data() + static_cast<std::size_t>(row) * max_blocks_, max_blocks_};
  }
  std::span<const BlockId> blocks(std::int32_t row) const {
    return {blocks_.data() + static_cast<std::size_t>(row) * max_blocks_, (*this)[row].block_count};
  }
  std::span<Held> held(std::int32_t row) {
    return {held_.data() + static_cast<std::size_t>(row) * max_held_, (*this)[row].held_count};
  }
  std::span<const Held> held(std::int32_t row) const {
    return {held_.data() + static_cast<std::size_t>(row) * max_held_, (*this)[row].held_count};
  }

  /// Adds a held checkpoint behind the others. Precondition: fewer than `max_held()`.
  void hold(std::int32_t row, const Held& held) {
    Row& owner = (*this)[row];
    HYBRIDMEM_CHECK(1, owner.held_count < max_held_, "room for one more held checkpoint");
    held_[static_cast<std::size_t>(row) * max_held_ + owner.held_count++] = held;
  }

  /// Removes the held checkpoint at `index`; the others keep their order. Linear in those behind
  /// it.
  void unhold(std::int32_t row, std::size_t index) {
    const std::span<Held> all = held(row);
    for (std::size_t i = index + 1; i < all.size(); ++i) all[i - 1] = all[i];
    --(*this)[row].held_count;
  }

 private:
  std::uint32_t max_blocks_;
  std::uint32_t max_held_;
  std::pmr::vector<Row> rows_;
  std::pmr::vector<BlockId> blocks_;
  std::pmr::vector<Held> held_;
  std::pmr::vector<std::int32_t> free_rows_;
  std::pmr::vector<std::int32_t> row_of_slot_;
  std::pmr::vector<std::uint32_t> generations_;
  std::pmr::vector<std::int32_t> free_slots_;
  std::size_t free_row_count_ = 0;
  std::size_t free_slot_count_ = 0;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
