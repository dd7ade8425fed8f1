// CacheMemory: the device memory that a cache hands out, played through on the host. Each step's
// work lists are carried out as kernels would, and everything a step reads must be what its
// sequence's tokens say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "hybridmem/cache/cache_types.hpp"
#include "hybridmem/organization/organization_layout.hpp"

namespace hybridmem_test {

/// A running digest of a text: what a recurrent state knows of the tokens before it.
constexpr std::uint64_t digest(std::uint64_t state, std::uint64_t word) {
  state = (state ^ word) * 0xd6e8feb86659fd93U + 0x9e3779b97f4a7c15U;
  return state ^ state >> 31U;
}
inline std::uint64_t digest_of(std::span<const std::uint32_t> text) {
  std::uint64_t state = 1;
  for (const std::uint32_t token : text) state = digest(state, token);
  return state;
}

class CacheMemory {
 public:
  /// One chunk as a kernel sees it: where it reads and writes, by unit.
  struct Launch {
    std::vector<std::uint32_t> text;  ///< tokens up to `to`
    hybridmem::Tokens from = 0;
    hybridmem::Tokens to = 0;
    std::vector<std::vector<std::int32_t>> blocks;  ///< the units of each block
    std::vector<std::int32_t> source;               ///< cells of the state at `from`; none if fresh
    std::vector<std::pair<hybridmem::Tokens, std::vector<std::int32_t>>> writes;
  };
  struct Step {
    std::uint64_t ticket = 0;
    bool launched = false;
    std::vector<hybridmem::UnitCopy> copies;
    std::vector<hybridmem::UnitZero> zeros;
    std::vector<Launch> chunks;
  };

  explicit CacheMemory(const hybridmem::OrganizationLayout& layout)
      : layout_(layout), cells_(std::max(layout.block_tokens, layout.slots_per_slab)) {}

  /// The cells that hold a checkpoint: one in each member page, one for each slot.
  std::vector<std::int32_t> cells_of(std::span<const std::int32_t> pages,
                                     std::span<const std::int32_t> lines) const {
    std::vector<std::int32_t> cells;
    for (const std::int32_t page : pages) cells.push_back(page * stride());
    if (layout_.slots_per_slab > 0)
      for (const std::int32_t line : lines) {
        const auto slots = static_cast<std::int32_t>(layout_.slots_per_slab);
        cells.push_back(line / slots * stride() + line % slots);
      }
    return cells;
  }

  void add(Step step) {
    check_lists(step);
    steps_.push_back(std::move(step));
  }
  bool any_waiting() const { return !steps_.empty() && !steps_.back().launched; }
  bool launched(std::uint64_t ticket) const {
    return std::any_of(steps_.begin(), steps_.end(),
                       [&](const Step& step) { return step.ticket == ticket && step.launched; });
  }

  /// Launches the steps up to `ticket`, in order.
  void launch(std::uint64_t ticket) {
    for (Step& step : steps_)
      if (!step.launched && step.ticket <= ticket) run(step);
  }
  void drop(std::uint64_t ticket) {
    if (!steps_.empty() && steps_.back().ticket == ticket) steps_.pop_back();
  }
  /// The oldest step is done. With `intact`, nobody may have written where it reads.
  void complete(std::uint64_t ticket, bool intact) {
    while (!steps_.empty() && steps_.front().ticket <= ticket) {
      if (intact && steps_.front().ticket == ticket)
        for (const Launch& chunk : steps_.front().chunks) check_blocks(chunk, chunk.to);
      steps_.pop_front();
    }
  }
  /// Steps from `ticket` on failed: whatever they had to write is anything now.
  void fail(std::uint64_t ticket) {
    while (!steps_.empty() && steps_.back().ticket >= ticket) {
      if (steps_.back().launched)
        for (const Launch& chunk : steps_.back().chunks) write(chunk, 0xbadbadU);
      steps_.pop_back();
    }
  }
  void forget_all() { steps_.clear(); }

 private:
  std::int32_t stride() const { return static_cast<std::int32_t>(cells_); }
  // Attention pages and state pages are one space where they share a pool.
  std::uint64_t& attention(std::int32_t unit, std::size_t cell) {
    return attention_[unit * stride() + static_cast<std::int32_t>(cell)];
  }
  std::uint64_t& state(std::int32_t cell) {
    return layout_.pools == 2 ? states_[cell] : attention_[cell];
  }
  static void expect(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(what);
  }

  /// Copy destinations and zeros are disjoint and none is a source (rule L5).
  static void check_lists(const Step& step) {
    std::vector<std::int32_t> targets;
    for (const auto& zero : step.zeros) targets.push_back(zero.id);
    for (const auto& copy : step.copies) targets.push_back(copy.destination);
    std::sort(targets.begin(), targets.end());
    expect(std::adjacent_find(targets.begin(), targets.end()) == targets.end(),
           "a unit is cleared or copied to twice in one step");
    for (const auto& copy : step.copies)
      expect(!std::binary_search(targets.begin(), targets.end(), copy.source),
             "a unit is the source of a copy and the target of another");
  }

  void check_blocks(const Launch& chunk, hybridmem::Tokens upto) {
    if (layout_.units_per_block == 0) return;
    for (hybridmem::Tokens at = 0; at < upto; ++at)
      for (const std::int32_t unit : chunk.blocks.at(at / layout_.block_tokens))
        expect(attention(unit, at % layout_.block_tokens) == chunk.text[at] + 1,
               "a block does not hold its sequence's tokens");
  }

  void write(const Launch& chunk, std::uint64_t garbage) {
    if (layout_.units_per_block > 0)
      for (hybridmem::Tokens at = chunk.from; at < chunk.to; ++at)
        for (const std::int32_t unit : chunk.blocks.at(at / layout_.block_tokens))
          attention(unit, at % layout_.block_tokens) = garbage != 0 ? garbage : chunk.text[at] + 1;
    for (const auto& [position, cells] : chunk.writes)
      for (const std::int32_t cell : cells)
        state(cell) = garbage != 0 ? garbage : digest_of(std::span(chunk.text).first(position));
  }

  void run(Step& step) {
    step.launched = true;
    for (const hybridmem::UnitCopy& copy : step.copies)
      for (std::size_t cell = 0; cell < cells_; ++cell)
        attention(copy.destination, cell) = attention(copy.source, cell);
    for (const hybridmem::UnitZero& zero : step.zeros)
      for (std::size_t cell = 0; cell < cells_; ++cell) attention(zero.id, cell) = 0;
    // Every chunk reads before any writes: the order of rows in a launch is not fixed.
    for (const Launch& chunk : step.chunks) {
      check_blocks(chunk, chunk.from);
      if (layout_.units_per_block > 0)  // no stale numbers behind the tokens either (rule L15)
        for (hybridmem::Tokens at = chunk.from; at < chunk.to; ++at)
          if (at % layout_.block_tokens == 0)
            for (const std::int32_t unit : chunk.blocks.at(at / layout_.block_tokens))
              expect(attention(unit, 0) == 0, "a block enters use without being cleared");
      expect(chunk.source.empty() == (chunk.from == 0), "a state is missing, or not needed");
      for (const std::int32_t cell : chunk.source)
        expect(state(cell) == digest_of(std::span(chunk.text).first(chunk.from)),
               "a sequence goes on from a state that is not its own");
    }
    for (const Launch& chunk : step.chunks) write(chunk, 0);
  }

  hybridmem::OrganizationLayout layout_;
  std::size_t cells_;
  std::map<std::int32_t, std::uint64_t> attention_;
  std::map<std::int32_t, std::uint64_t> states_;
  std::deque<Step> steps_;
};

}  // namespace hybridmem_test
