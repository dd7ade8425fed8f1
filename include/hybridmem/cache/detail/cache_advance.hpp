// StateCache, advancing a sequence by a chunk: rules L7, L8 and L10.
#pragma once

#include "hybridmem/cache/state_cache.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// Whether a checkpoint is kept at `position` of a sequence (rule L9).
template <MemoryOrganization Organization, class Events>
bool StateCache<Organization, Events>::boundary(const Row& row, Tokens position) const noexcept {
  if (position == 0) return false;
  if (position % layout().checkpoint_interval_tokens == 0) return true;
  if (!options_.prompt_anchors) return false;
  const Tokens block = layout().block_tokens;
  return position == (row.prompt_tokens - 1) / block * block ||
         position == row.prompt_tokens / block * block;
}

/// The first position after `after` where a checkpoint is kept.
template <MemoryOrganization Organization, class Events>
Tokens StateCache<Organization, Events>::next_boundary(const Row& row,
                                                       Tokens after) const noexcept {
  const Tokens grid = layout().checkpoint_interval_tokens;
  Tokens next = (after / grid + 1) * grid;
  if (!options_.prompt_anchors) return next;
  const Tokens block = layout().block_tokens;
  for (const Tokens anchor :
       {(row.prompt_tokens - 1) / block * block, row.prompt_tokens / block * block})
    if (anchor > after) next = std::min(next, anchor);
  return next;
}

/// Whether the prefill kernel can write a state at `position` of a chunk that starts at `from`.
template <MemoryOrganization Organization, class Events>
bool StateCache<Organization, Events>::writable(Tokens from, Tokens position) const noexcept {
  if (options_.interior == Interior::on_grid) return true;
  if (options_.interior == Interior::none) return false;
  return options_.kernel_chunk_tokens == 0 || (position - from) % options_.kernel_chunk_tokens == 0;
}

template <MemoryOrganization Organization, class Events>
Tokens StateCache<Organization, Events>::next_stop(Sequence sequence, Tokens want) const {
  const std::int32_t index = rows_.find(sequence);
  if (index < 0) return 0;
  const Row& row = rows_[index];
  want = std::min({want, options_.max_chunk_tokens, options_.max_sequence_tokens - row.placed});
  const Tokens to = row.placed + want;
  for (Tokens at = next_boundary(row, row.placed); at < to; at = next_boundary(row, at))
    if (!writable(row.placed, at)) return at - row.placed;
  return want;
}

/// Whether a sequence that advances again no longer needs a held checkpoint (rule L10).
template <MemoryOrganization Organization, class Events>
bool StateCache<Organization, Events>::done_with(const Row& row, const Held& held) const {
  const Tokens grid = layout().checkpoint_interval_tokens;
  if (held.position >= round_up(row.placed, grid)) return false;
  if (options_.reuse == Reuse::ticket && held.used > steps_.completed()) return false;
  const bool key_may_come = !states_.published(held.state) && held.saved != 0 &&
                            boundary(row, held.position) && row.epoch == epoch_ &&
                            steps_.now() <= held.saved + options_.max_steps_in_flight;
  return !key_may_come;
}

/// Whether producer retention keeps a checkpoint that its sequence is done with.
template <MemoryOrganization Organization, class Events>
bool StateCache<Organization, Events>::retained(const Held& held) const {
  return options_.retention > 0 && held.saved != 0 && states_.published(held.state) &&
         demand_.count(states_.index().key_of(held.state)) >= options_.retention;
}

template <MemoryOrganization Organization, class Events>
bool StateCache<Organization, Events>::fits(const StateDemand& demand) const {
  const PoolUnits needed = organization_.needed(demand, PoolUnits{}, CheckpointId::absent());
  for (std::uint8_t pool = 0; pool < layout().pools; ++pool) {
    const PoolCounts counts = organization_.counts(pool);
    if (needed[pool] > std::uint64_t{counts.free} + counts.cached) return false;
  }
  return true;
}

template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::note_shortage(const StateDemand& demand,
                                                     Batch& batch) const {
  const PoolUnits needed = organization_.needed(demand, PoolUnits{}, CheckpointId::absent());
  for (std::uint8_t pool = 0; pool < layout().pools; ++pool) {
    const PoolCounts counts = organization_.counts(pool);
    const std::uint64_t available = std::uint64_t{counts.free} + counts.cached;
    if (needed[pool] <= available) continue;
    batch.pool = pool;
    batch.units_short = needed[pool] - available;
    break;
  }
  std::uint64_t coming = 0;
  for (const std::int32_t row : closing_) {
    coming += releasable_units(row)[batch.pool];
    if (coming < batch.units_short) continue;
    batch.wait_for = Ticket{fence(rows_[row])};
    return;
  }
}

/// Releases what the sequence may still do without: its retained checkpoints, oldest first, and
/// with nothing else running, pins, oldest first (rule L13). True as soon as `demand` fits.
template <MemoryOrganization Organization, class Events>
bool StateCache<Organization, Events>::make_way(std::int32_t index, const StateDemand& demand) {
  for (std::size_t i = 0; i < rows_.held(index).size();) {
    const Held held = rows_.held(index)[i];
    if (!done_with(rows_[index], held)) {
      ++i;
      continue;
    }
    rows_.unhold(index, i);
    release_state(held.state);
    if (fits(demand)) return true;
  }
  if (running_ > 1) return false;
  while (drop_oldest_pin())
    if (fits(demand)) return true;
  return false;
}

template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::take_blocks(std::int32_t index, std::uint32_t count) {
  Row& row = rows_[index];
  const std::span<BlockId> blocks = rows_.all_blocks(index);
  for (std::uint32_t i = 0; i < count; ++i) {
    const BlockId id =
        organization_.allocate_block([this](const Eviction& eviction) { on_evicted(eviction); });
    HYBRIDMEM_CHECK(1, id.present(), "units counted are units had");
    blocks[row.block_count++] = id;
  }
}

template <MemoryOrganization Organization, class Events>
CheckpointId StateCache<Organization, Events>::take_state() {
  const CheckpointId id =
      organization_.allocate_checkpoint([this](const Eviction& eviction) { on_evicted(eviction); });
  HYBRIDMEM_CHECK(1, id.present(), "units counted are units had");
  ++live_states_;
  return id;
}

/// How many more checkpoints the byte budget allows besides the running states, the cached ones
/// that could make way included.
template <MemoryOrganization Organization, class Events>
std::uint32_t StateCache<Organization, Events>::checkpoint_room() const noexcept {
  if (options_.checkpoint_units == 0) return ~0U;
  const std::uint64_t most =
      options_.checkpoint_units / std::max(layout().units_per_checkpoint(), 1U);
  const std::uint64_t kept = live_states_ - std::min(live_states_, running_);
  const std::uint64_t fixed = kept - std::min<std::uint64_t>(kept, kept_.size());
  return static_cast<std::uint32_t>(most - std::min(most, fixed));
}

/// Evicts cached checkpoints, oldest first, until `more` fit under the byte budget.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::keep_checkpoint_budget(std::uint32_t more) {
  if (options_.checkpoint_units == 0) return;
  const std::uint64_t most =
      options_.checkpoint_units / std::max(layout().units_per_checkpoint(), 1U);
  while (!kept_.empty() && live_states_ - std::min(live_states_, running_) + more > most) {
    const CheckpointId oldest = kept_.front();
    on_evicted({StateKind::recurrent, oldest.value(), false});
    organization_.invalidate(oldest);
  }
}

/// Extends one sequence, or changes nothing but what `make_way` gave up.
template <MemoryOrganization Organization, class Events>
Error StateCache<Organization, Events>::advance_one(const Chunk& chunk, Advanced& result,
                                                    Batch& batch) {
  const std::int32_t index = rows_.find(chunk.sequence);
  if (index < 0) return Error::stale_handle;
  Row& row = rows_[index];
  const std::uint64_t now = steps_.now();
  if (row.state != RowState::running) return Error::wrong_state;
  if (row.damaged) return Error::damaged;
  if (row.last_ticket == now && open_entry(index) != nullptr) return Error::wrong_state;
  if (chunk.tokens == 0) return Error::bad_argument;
  if (chunk.tokens > options_.max_chunk_tokens ||
      chunk.tokens > options_.max_sequence_tokens - row.placed)
    return Error::capacity;
  StepRecord& step = steps_.at(now);
  if (step.entries.size() == steps_.sizes().entries) return Error::capacity;

  const Tokens from = row.placed;
  const Tokens to = from + chunk.tokens;
  StateDemand demand;
  if (layout().units_per_block > 0) {
    const std::uint32_t whole = divide_up(to, layout().block_tokens);
    demand.blocks = whole > row.block_count ? whole - row.block_count : 0;
  }

  // The states to write: one to leave the present state behind, and one for each boundary inside.
  const bool fresh = !row.current.present();
  const bool shared = !fresh && organization_.references(row.current) > 1;
  const bool leaves = !fresh && (boundary(row, from) || states_.published(row.current));
  std::uint32_t inside = 0;
  std::uint32_t skipped = 0;
  for (Tokens at = next_boundary(row, from); at < to; at = next_boundary(row, at))
    ++(writable(from, at) ? inside : skipped);
  const bool required = !options_.checkpoints_yield && from < row.prompt_tokens;
  const std::uint32_t least =
      (fresh || shared ? 1 : 0) + (required ? inside + (leaves && !shared ? 1 : 0) : 0);
  std::uint32_t most = (fresh || shared || leaves ? 1 : 0) + inside;

  // Checkpoints behind the sequence become reclaimable now; should the chunk be refused, they are
  // taken back, which puts everything where it was.
  std::size_t kept = 0;
  for (const Held& held : rows_.held(index)) {
    if (done_with(row, held) && !retained(held))
      organization_.release(held.state, true);
    else
      ++kept;
  }
  const auto room = static_cast<std::uint32_t>(rows_.max_held() - kept) + (fresh ? 1 : 0);
  most = std::max(least, std::min(most, room));
  const std::uint32_t saves_allowed = checkpoint_room();
  const std::uint32_t base = fresh || shared ? 1 : 0;
  if (most > base && most - base > saves_allowed) most = std::max(least, base + saves_allowed);

  demand.checkpoints = most;
  while (demand.checkpoints > least && !fits(demand)) --demand.checkpoints;
  const bool table_room = demand.checkpoints <= room &&
                          step.segments.size() + demand.checkpoints + 1 <= steps_.sizes().segments;
  if (!table_room || !fits(demand)) {
    for (const Held& held : rows_.held(index))
      if (done_with(row, held) && !retained(held)) organization_.reference(held.state);
    if (!table_room) return Error::capacity;
    if (!make_way(index, demand)) {
      note_shortage(demand, batch);
      ++counters_.refusals;
      return Error::shortfall;
    }
    for (const Held& held : rows_.held(index))
      if (done_with(row, held) && !retained(held)) organization_.release(held.state, true);
  }
  for (std::size_t i = 0; i < rows_.held(index).size();) {
    const Held held = rows_.held(index)[i];
    if (!done_with(row, held)) {
      ++i;
    } else if (retained(held)) {
      ++counters_.retained;
      ++i;
    } else {
      rows_.unhold(index, i);
      settle_released(held.state);
    }
  }

  StepEntry entry;
  entry.sequence = chunk.sequence;
  entry.row = index;
  entry.from = from;
  entry.to = to;
  entry.first_segment = static_cast<std::uint32_t>(step.segments.size());
  entry.first_block = row.block_count;
  entry.held_before = row.held_count;
  entry.previous_ticket = row.last_ticket;
  entry.previous_entry = row.last_entry;
  entry.previous_listed = row.listed_blocks;
  entry.previous_current_ticket = row.current_ticket;
  entry.previous_published_state = row.published_state;
  entry.source = row.current;

  const bool departs = fresh || shared || (leaves && demand.checkpoints > 0);
  const std::uint32_t saved_inside = demand.checkpoints - (departs ? 1 : 0);
  skipped += inside - saved_inside + (leaves && !departs ? 1 : 0);
  keep_checkpoint_budget(saved_inside + (departs && !fresh ? 1 : 0));
  take_blocks(index, demand.blocks);
  entry.block_count = row.block_count;

  if (!departs && states_.published(row.current)) {
    forget_state(row.current, LossCause::overwritten);
    entry.overwrote = true;
  }
  CheckpointId destination = row.current;
  bool allocated = false;
  if (departs) {
    destination = take_state();
    allocated = true;
    if (!fresh) rows_.hold(index, {row.current, from, row.current_ticket, now});
  }
  std::uint32_t pass = inside - saved_inside;  // boundaries skipped: the shallowest
  for (Tokens at = next_boundary(row, from); at < to && saved_inside > 0;
       at = next_boundary(row, at)) {
    if (!writable(from, at)) continue;
    if (pass > 0) {
      --pass;
      continue;
    }
    step.segments.push_back({destination, at, true, allocated});
    rows_.hold(index, {destination, at, now, now});
    destination = take_state();
    allocated = true;
  }
  step.segments.push_back({destination, to, boundary(row, to), allocated});
  entry.segment_count = static_cast<std::uint32_t>(step.segments.size()) - entry.first_segment;

  row.current = destination;
  row.current_ticket = now;
  row.placed = to;
  row.last_ticket = now;
  row.last_entry = static_cast<std::uint32_t>(step.entries.size());
  step.entries.push_back(entry);
  const std::uint32_t saved = saved_inside + (departs && leaves ? 1 : 0);
  result = {from, to, static_cast<std::uint16_t>(saved), static_cast<std::uint16_t>(skipped)};
  ++counters_.advances;
  counters_.checkpoints_saved += saved_inside + (boundary(row, to) ? 1 : 0);
  counters_.checkpoints_skipped += skipped;
  return Error::none;
}

template <MemoryOrganization Organization, class Events>
Batch StateCache<Organization, Events>::advance(std::span<const Chunk> chunks,
                                                std::span<Advanced> results) {
  Batch batch;
  if (!steps_.is_open()) {
    batch.error = Error::no_step;
    return batch;
  }
  if (results.size() < chunks.size()) {
    batch.error = Error::bad_argument;
    return batch;
  }
  for (; batch.done < chunks.size(); ++batch.done) {
    batch.error = advance_one(chunks[batch.done], results[batch.done], batch);
    changed(4, static_cast<std::uint64_t>(chunks[batch.done].tokens) << 32U |
                   static_cast<std::uint64_t>(batch.error));
    if (batch.error != Error::none) break;
  }
  return batch;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
