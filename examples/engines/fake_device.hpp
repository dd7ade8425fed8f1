// The fake device: memory of bytes, one queue of launches, and kernels that go through the tables
// and work lists which a cache filled. A launch runs only when somebody waits for it.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "fake_model.hpp"
#include "hybridmem/cache/cache_types.hpp"
#include "hybridmem/organization/organization_layout.hpp"

namespace fake {

using hybridmem::OrganizationKind;
using hybridmem::OrganizationLayout;
using hybridmem::StateKind;
using hybridmem::Ticket;

/// The page table of one attention stack: those of row r begin at `ids[begin[r]]`.
struct AttentionTable {
  std::vector<std::int32_t> ids;
  std::vector<std::size_t> begin;
  Tokens tokens_per_id = 0;
  std::uint64_t bytes_per_id = 0;
};

/// The state tables of one recurrent stack, as `hybridmem::StateTablesOut` describes them.
struct StateTable {
  std::uint32_t members = 0;
  std::vector<std::int32_t> sources, destinations;  // `members` ids a row
  std::vector<std::int32_t> source_lines, destination_lines;
  std::vector<std::uint32_t> write_begin;
  std::vector<Tokens> write_positions;
  std::vector<std::uint8_t> fresh;
};

/// One row of a batch. Tokens that the host does not know yet are the row's last sample.
struct LaunchRow {
  std::int32_t slot = -1;  // negative: padding
  Tokens from = 0, to = 0;
  std::vector<Token> known;  // of the positions from `from` on
  bool samples = false;
};

/// What a step hands to the device: copies of everything, so the host may go on.
struct Launch {
  Ticket ticket = Ticket::none;
  std::vector<hybridmem::UnitCopy> copies;
  std::vector<hybridmem::UnitZero> zeros;
  std::vector<LaunchRow> rows;
  std::vector<AttentionTable> attention;
  std::vector<StateTable> states;
};

class Device {
 public:
  /// With `eager_zeros` the zero list is worked off at launch, on a stream beside the queue, which
  /// only `Reuse::ticket` allows.
  Device(const hybridmem::PageLayout& pages, const OrganizationLayout& layout,
         const hybridmem::PoolUnits& units, std::uint32_t slots, bool eager_zeros)
      : pages_(pages), layout_(layout), sampled_(slots, -1), eager_zeros_(eager_zeros) {
    for (std::size_t pool = 0; pool < layout.pools; ++pool)
      tensors_[pool].assign(layout.stack_layers,
                            std::vector<std::byte>(units[pool] * layout.unit_bytes[pool],
                                                   std::byte{0xff}));  // not a number
  }

  void launch(Launch launch) {
    if (eager_zeros_) zero(launch);
    queue_.push_back(std::move(launch));
  }
  bool idle() const { return queue_.empty(); }
  Ticket oldest() const { return queue_.front().ticket; }

  /// Runs the oldest launch. The token of each row, negative for a row that samples none.
  std::vector<Token> wait() {
    const Launch launch = std::move(queue_.front());
    queue_.pop_front();
    return run(launch, false);
  }

  /// Runs everything in the queue, wrongly: what a fault leaves behind.
  void crash() {
    for (; !queue_.empty(); queue_.pop_front()) run(queue_.front(), true);
  }

 private:
  using Tensors = std::vector<std::vector<std::byte>>;

  Tensors& attention() { return tensors_[layout_.pool_of(StateKind::attention)]; }
  Tensors& recurrent() { return tensors_[layout_.pool_of(StateKind::recurrent)]; }

  /// Reading beyond the memory, as through an absent id, yields what is not a number.
  static Cell load(const std::vector<std::byte>& tensor, std::uint64_t at) {
    Cell cell = ~Cell{0};
    if (at + sizeof cell <= tensor.size()) std::memcpy(&cell, tensor.data() + at, sizeof cell);
    return cell;
  }
  static void store(std::vector<std::byte>& tensor, std::uint64_t at, Cell cell) {
    if (at + sizeof cell <= tensor.size()) std::memcpy(tensor.data() + at, &cell, sizeof cell);
  }

  void zero(const Launch& launch) {
    const std::uint64_t bytes = layout_.unit_bytes[0];
    for (const hybridmem::UnitZero& unit : launch.zeros)
      for (auto& tensor : attention())
        std::memset(tensor.data() + static_cast<std::uint64_t>(unit.id) * bytes, 0, bytes);
  }

  void copy(const Launch& launch) {
    const std::uint64_t bytes = layout_.unit_bytes[0];
    for (const hybridmem::UnitCopy& unit : launch.copies)
      for (auto& tensor : attention())
        std::memcpy(tensor.data() + static_cast<std::uint64_t>(unit.destination) * bytes,
                    tensor.data() + static_cast<std::uint64_t>(unit.source) * bytes, bytes);
  }

  std::vector<Token> run(const Launch& launch, bool faulty) {
    if (!eager_zeros_) zero(launch);
    copy(launch);
    std::vector<std::size_t> order(launch.rows.size());  // rows of one launch run in any order
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<Token> out(launch.rows.size(), -1);
    for (const std::size_t row : order)
      if (launch.rows[row].slot >= 0) out[row] = run_row(launch, row, faulty);
    return out;
  }

  Token run_row(const Launch& launch, std::size_t r, bool faulty) {
    const LaunchRow& row = launch.rows[r];
    std::vector<Token> tokens = row.known;
    Token& last = sampled_[static_cast<std::size_t>(row.slot)];
    tokens.resize(row.to - row.from, last);
    if (faulty) std::ranges::generate(tokens, [this] { return static_cast<Token>(random_() % 9); });
    Cell digest = 0;
    for (std::uint32_t layer = 0; layer < attention_layers; ++layer)
      digest = mix(digest, attend(launch, r, layer, tokens));
    for (std::uint32_t layer = 0; layer < recurrent_layers; ++layer)
      digest = mix(digest,
                   recur(launch.states[layer / layout_.stack_layers], r, layer, row.from, tokens));
    if (!row.samples) return -1;
    return last = sample(digest);
  }

  /// Writes the KV of `tokens` and attends to everything up to the last of them. Places of a page
  /// that hold no token yet count nothing, but spoil the result unless they are numbers.
  Cell attend(const Launch& launch, std::size_t r, std::uint32_t layer,
              std::span<const Token> tokens) {
    const AttentionTable& table = launch.attention[layer / layout_.stack_layers];
    std::vector<std::byte>& tensor = attention()[layer % layout_.stack_layers];
    const LaunchRow& row = launch.rows[r];
    const auto place = [&](Tokens position) {
      const std::int32_t id = table.ids.at(table.begin[r] + position / table.tokens_per_id);
      return static_cast<std::uint64_t>(id) * table.bytes_per_id +
             position % table.tokens_per_id * kv_bytes;
    };
    for (Tokens at = row.from; at < row.to; ++at)
      store(tensor, place(at), kv_cell(layer, tokens[at - row.from]));
    if (!row.samples) return 0;
    Cell sum = 0;
    const Tokens whole = hybridmem::round_up(row.to, table.tokens_per_id);
    for (Tokens at = 0; at < whole; ++at) {
      const Cell cell = load(tensor, place(at));
      if (at < row.to) sum += attended(cell, at);
      if (!is_number(cell)) sum ^= 0xbad;
    }
    return sum;
  }

  /// Takes the state from its source, or from nothing, through `tokens`, and writes it wherever the
  /// table wants it.
  Cell recur(const StateTable& table, std::size_t r, std::uint32_t layer, Tokens from,
             std::span<const Token> tokens) {
    LayerState state;
    if (table.fresh[r] == 0)
      each_cell(
          table, table.sources, table.source_lines, r, state,
          [&](auto& tensor, std::uint64_t at, Cell& cell) { cell = load(tensor, at); }, layer);
    std::uint32_t write = table.write_begin[r];
    for (Tokens done = 0; done < tokens.size(); ++done) {
      state.absorb(layer, tokens[done]);
      if (write == table.write_begin[r + 1] || table.write_positions[write] != from + done + 1)
        continue;
      each_cell(
          table, table.destinations, table.destination_lines, write, state,
          [&](auto& tensor, std::uint64_t at, Cell& cell) { store(tensor, at, cell); }, layer);
      ++write;
    }
    return state.digest();
  }

  /// Calls `visit(tensor, byte, cell)` for the cells of one table row. Member m of a state holds
  /// its bytes from m * member_bytes on; a line is a slot of a page, with the offset that the
  /// organization gives it.
  template <class Visit>
  void each_cell(const StateTable& table, const std::vector<std::int32_t>& ids,
                 const std::vector<std::int32_t>& lines, std::size_t r, LayerState& state,
                 Visit&& visit, std::uint32_t layer) {
    std::vector<std::byte>& tensor = recurrent()[layer % layout_.stack_layers];
    const std::uint64_t unit = layout_.unit_bytes[1];
    const std::uint64_t member_bytes = recurrent_bytes / table.members;
    for (std::size_t i = 0; i < recurrent_cells; ++i) {
      const std::uint64_t byte = i * (recurrent_bytes / recurrent_cells);
      const std::int32_t id = ids[r * table.members + byte / member_bytes];
      visit(tensor, static_cast<std::uint64_t>(id) * unit + byte % member_bytes,
            state.recurrent[i]);
    }
    const bool behind = layout_.kind == OrganizationKind::coarse_pages ||
                        layout_.kind == OrganizationKind::static_dual_pool;
    const std::uint64_t slots = layout_.has_slabs() ? layout_.slots_per_slab : 1;
    const auto line = static_cast<std::uint64_t>(lines[r]);
    const std::uint64_t first =
        line / slots * unit + line % slots * pages_.slot_bytes + (behind ? recurrent_bytes : 0);
    for (std::size_t i = 0; i < conv_cells; ++i) visit(tensor, first + i * 96, state.window[i]);
  }

  hybridmem::PageLayout pages_;
  OrganizationLayout layout_;
  std::array<Tensors, 2> tensors_;  // of each pool: one for each layer of a stack
  std::vector<Token> sampled_;      // of each slot
  std::deque<Launch> queue_;
  bool eager_zeros_;
  std::mt19937 random_{1};
};

}  // namespace fake
