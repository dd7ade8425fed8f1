// The fake device: memory of bytes, one queue of launches, and kernels that go through the tables
// and work lists which a cache filled. A launch runs only when somebody waits for it.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory_resource>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "fake_model.hpp"
#include "hybridmem/cache/cache_types.hpp"
#include "hybridmem/device/backing_memory.hpp"
#include "hybridmem/device/pool_view.hpp"
#include "hybridmem/organization/organization_layout.hpp"
#include "hybridmem/organization/pool_shapes.hpp"

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
      : layout_(layout),
        shapes_(hybridmem::pool_shapes(pages, layout.kind, units)),
        memory_(*std::pmr::get_default_resource(), hybridmem::backing_bytes(shapes_.span())),
        sampled_(slots, -1),
        eager_zeros_(eager_zeros) {
    hybridmem::place_pools(shapes_.span(), memory_.data(), memory_.size(), views_).value();
    std::memset(memory_.data(), 0xff, memory_.size());  // not a number
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
  const hybridmem::PoolView& pool_of(StateKind kind) const { return views_[layout_.pool_of(kind)]; }

  /// What an absent id names is not a number, and what is written there is lost.
  static Cell load(const std::byte* at) {
    Cell cell = ~Cell{0};
    if (at != nullptr) std::memcpy(&cell, at, sizeof cell);
    return cell;
  }
  static void store(std::byte* at, Cell cell) {
    if (at != nullptr) std::memcpy(at, &cell, sizeof cell);
  }

  void zero(const Launch& launch) {
    const hybridmem::PoolView& pool = pool_of(StateKind::attention);
    for (const hybridmem::UnitZero& unit : launch.zeros)
      for (std::uint32_t layer = 0; layer < pool.shape.layers; ++layer)
        std::memset(pool.page(layer, unit.id), 0, pool.shape.unit_bytes);
  }

  void copy(const Launch& launch) {
    const hybridmem::PoolView& pool = pool_of(StateKind::attention);
    for (const hybridmem::UnitCopy& unit : launch.copies)
      for (std::uint32_t layer = 0; layer < pool.shape.layers; ++layer)
        std::memcpy(pool.page(layer, unit.destination), pool.page(layer, unit.source),
                    pool.shape.unit_bytes);
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
    const hybridmem::PoolView& pool = pool_of(StateKind::attention);
    std::byte* const tensor = pool.page(layer % layout_.stack_layers, 0);
    const LaunchRow& row = launch.rows[r];
    const auto place = [&](Tokens position) -> std::byte* {
      const std::int32_t id = table.ids.at(table.begin[r] + position / table.tokens_per_id);
      return id < 0 ? nullptr
                    : tensor + static_cast<std::uint64_t>(id) * table.bytes_per_id +
                          position % table.tokens_per_id * kv_bytes;
    };
    for (Tokens at = row.from; at < row.to; ++at)
      store(place(at), kv_cell(layer, tokens[at - row.from]));
    if (!row.samples) return 0;
    Cell sum = 0;
    const Tokens whole = hybridmem::round_up(row.to, table.tokens_per_id);
    for (Tokens at = 0; at < whole; ++at) {
      const Cell cell = load(place(at));
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
      each_cell(table, table.sources, table.source_lines, r, layer, state,
                [](std::byte* at, Cell& cell) { cell = load(at); });
    std::uint32_t write = table.write_begin[r];
    for (Tokens done = 0; done < tokens.size(); ++done) {
      state.absorb(layer, tokens[done]);
      if (write == table.write_begin[r + 1] || table.write_positions[write] != from + done + 1)
        continue;
      each_cell(table, table.destinations, table.destination_lines, write, layer, state,
                [](std::byte* at, Cell& cell) { store(at, cell); });
      ++write;
    }
    return state.digest();
  }

  /// Calls `visit(place, cell)` for the cells of one table row. Member m of a state holds its bytes
  /// from m * member_bytes on; the window is at its line.
  template <class Visit>
  void each_cell(const StateTable& table, const std::vector<std::int32_t>& ids,
                 const std::vector<std::int32_t>& lines, std::size_t r, std::uint32_t layer,
                 LayerState& state, Visit&& visit) {
    const hybridmem::PoolView& pool = pool_of(StateKind::recurrent);
    layer %= layout_.stack_layers;
    const std::uint64_t member_bytes = recurrent_bytes / table.members;
    for (std::size_t i = 0; i < recurrent_cells; ++i) {
      const std::uint64_t byte = i * (recurrent_bytes / recurrent_cells);
      const std::int32_t id = ids[r * table.members + byte / member_bytes];
      visit(id < 0 ? nullptr : pool.page(layer, id) + byte % member_bytes, state.recurrent[i]);
    }
    std::byte* const window = lines[r] < 0 ? nullptr : pool.line(layer, lines[r]);
    for (std::size_t i = 0; i < conv_cells; ++i)
      visit(window == nullptr ? nullptr : window + i * 96, state.window[i]);
  }

  OrganizationLayout layout_;
  hybridmem::PoolShapes shapes_;
  hybridmem::BackingMemory<std::pmr::memory_resource> memory_;
  std::array<hybridmem::PoolView, 2> views_{};
  std::vector<Token> sampled_;  // of each slot
  std::deque<Launch> queue_;
  bool eager_zeros_;
  std::mt19937 random_{1};
};

}  // namespace fake
