// StateCache, advancing a sequence by a chunk: rules L7, L8 and L10.
#pragma once

#include <utility>

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
         states_.index().epoch_of(held.state) == epoch_ &&
         demand_.count(states_.index().key_of(held.state)) >= options_.retention;
}

/// What a chunk to `to` needs that does not depend on who shares the running state.
template <MemoryOrganization Organization, class Events>
auto StateCache<Organization, Events>::need_of(std::int32_t index, Tokens to) const -> ChunkNeed {
  const Row& row = rows_[index];
  ChunkNeed need;
  need.to = to;
  if (layout().units_per_block > 0) {
    const std::uint32_t whole = divide_up(to, layout().block_tokens);
    need.demand.blocks = whole > row.block_count ? whole - row.block_count : 0;
  }
  need.fresh = !row.current.present();
  need.leaves = !need.fresh && (boundary(row, row.placed) || states_.published(row.current));
  for (Tokens at = next_boundary(row, row.placed); at < to; at = next_boundary(row, at))
    ++(writable(row.placed, at) ? need.inside : need.skipped);
  return need;
}

/// Decides how many states a chunk writes: one to leave the present state behind, and one for each
/// boundary inside, as many as are required and as fit.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::settle_need(std::int32_t index, ChunkNeed& need) const {
  const Row& row = rows_[index];
  const bool required = !options_.checkpoints_yield && row.placed < row.prompt_tokens;
  const std::uint32_t one = row.spare.present() ? 0 : 1;
  need.shared = !need.fresh && organization_.references(row.current) > 1;
  const bool must_depart = need.fresh || need.shared;
  const std::uint32_t base = must_depart ? one : 0;
  need.least = base + (required ? need.inside + (need.leaves && !must_depart ? one : 0) : 0);

  std::uint32_t kept = 0;
  std::uint32_t leaving = 0;
  for (const Held& held : rows_.held(index)) ++(organization_.cached(held.state) ? leaving : kept);
  // A state that is left behind is held; one that starts from nothing leaves none.
  const std::uint32_t places = rows_.max_held() - std::min(rows_.max_held(), kept) + one;
  need.room = places - std::min(places, need.fresh ? 0U : 1U);
  need.table_full = !need.fresh && must_depart && kept == rows_.max_held();
  std::uint32_t most = (must_depart || need.leaves ? one : 0) + need.inside;
  most = std::max(need.least, std::min(most, need.room));
  const std::uint32_t saves_allowed = checkpoint_room(leaving);
  if (most > base && most - base > saves_allowed) most = std::max(need.least, base + saves_allowed);
  need.demand.checkpoints = most;
  while (need.demand.checkpoints > need.least && !fits(need.demand)) --need.demand.checkpoints;
}

/// Extends one sequence, or changes nothing.
template <MemoryOrganization Organization, class Events>
Error StateCache<Organization, Events>::advance_one(const Chunk& chunk, Advanced& result,
                                                    Batch& batch) {
  const std::int32_t index = rows_.find(chunk.sequence);
  if (index < 0) return Error::stale_handle;
  Row& row = rows_[index];
  if (row.state != RowState::running) return Error::wrong_state;
  if (row.damaged) return Error::damaged;
  if (open_entry(index) != nullptr) return Error::wrong_state;
  if (chunk.tokens == 0) return Error::bad_argument;
  if (chunk.tokens > options_.max_chunk_tokens ||
      chunk.tokens > options_.max_sequence_tokens - row.placed)
    return Error::capacity;
  StepRecord& step = steps_.at(steps_.last());
  if (step.entries.size() == steps_.sizes().entries) return Error::capacity;

  ChunkNeed need = need_of(index, row.placed + chunk.tokens);
  // Checkpoints behind the sequence become available now; should the chunk be refused, they are
  // taken back.
  for (Held& held : rows_.held(index))
    if (done_with(row, held) && !retained(held)) let_go(held);
  settle_need(index, need);
  if (need.table_full || need.demand.checkpoints > need.room ||
      step.segments.size() + need.demand.checkpoints + 1 > steps_.sizes().segments) {
    take_back(index);
    return Error::capacity;
  }
  const bool crowded = !fits(need.demand);
  if (crowded && !make_way(index, need)) {
    for (const std::int32_t other : rows_.by_slot())
      if (other >= 0) take_back(other);
    note_shortage(index, need.demand, batch);
    ++counters_.refusals;
    return Error::shortfall;
  }
  part_with(index);
  if (crowded)
    for (const std::int32_t other : rows_.by_slot())
      if (other >= 0) part_with(other);
  for (const Held& held : rows_.held(index)) counters_.retained += done_with(row, held) ? 1U : 0U;
  result = place_chunk(index, need);
  return Error::none;
}

/// Allocates and records a chunk that fits.
template <MemoryOrganization Organization, class Events>
Advanced StateCache<Organization, Events>::place_chunk(std::int32_t index, const ChunkNeed& need) {
  Row& row = rows_[index];
  StepRecord& step = steps_.at(steps_.last());
  const std::uint64_t now = steps_.last();
  const Tokens from = row.placed;
  StepEntry entry;
  entry.sequence = rows_.handle(index);
  entry.row = index;
  entry.from = from;
  entry.to = need.to;
  entry.first_segment = static_cast<std::uint32_t>(step.segments.size());
  entry.first_block = row.block_count;
  entry.previous_ticket = row.last_ticket;
  entry.previous_entry = row.last_entry;
  entry.previous_listed = row.listed_blocks;
  entry.previous_clean = row.clean_blocks;
  entry.previous_spare = row.spare;
  entry.previous_current_ticket = row.current_ticket;
  entry.previous_published_state = row.published_state;
  entry.source = row.current;

  const bool spare = row.spare.present();
  const bool departs =
      need.fresh || need.shared || (need.leaves && (spare || need.demand.checkpoints > 0));
  const std::uint32_t wanted = need.demand.checkpoints - (departs && !spare ? 1 : 0);
  keep_checkpoint_budget(wanted + (departs && !need.fresh ? 1 : 0));
  if (!departs && states_.published(row.current)) {
    entry.overwrote = true;
    entry.overwritten_key = states_.index().key_of(row.current);
    entry.overwritten_parent = states_.index().parent_of(row.current);
    entry.overwritten_ticket = states_.ticket(row.current);
    forget_state(row.current, LossCause::overwritten);
  }

  // States before blocks: each allocation is told what follows, so that all of it succeeds. Without
  // member pages that holds of one state only (`needed`): the others are asked for one by one.
  const bool promised = layout().units_per_checkpoint() > 0;
  StateDemand rest = need.demand;
  const auto next_state = [&] {
    --rest.checkpoints;
    return take_state(promised ? rest : StateDemand{rest.blocks, 0});
  };
  CheckpointId destination = row.current;
  bool allocated = departs;
  if (departs) {
    destination = spare ? std::exchange(row.spare, CheckpointId::absent()) : next_state();
    if (!need.fresh) rows_.hold(index, {row.current, from, row.current_ticket, now});
  }
  std::uint32_t pass = need.inside - wanted;  // boundaries skipped: the shallowest
  std::uint32_t saved_inside = 0;
  for (Tokens at = next_boundary(row, from); at < need.to && saved_inside < wanted;
       at = next_boundary(row, at)) {
    if (!writable(from, at)) continue;
    if (pass > 0) {
      --pass;
      continue;
    }
    if (!promised && !fits({rest.blocks, 1})) break;
    ++saved_inside;
    step.segments.push_back({destination, at, true, allocated});
    rows_.hold(index, {destination, at, now, now});
    destination = next_state();
    allocated = true;
  }
  step.segments.push_back({destination, need.to, boundary(row, need.to), allocated});
  entry.segment_count = static_cast<std::uint32_t>(step.segments.size()) - entry.first_segment;
  take_blocks(index, need.demand.blocks);
  entry.block_count = row.block_count;

  row.current = destination;
  row.current_ticket = now;
  row.placed = need.to;
  row.last_ticket = now;
  row.last_entry = static_cast<std::uint32_t>(step.entries.size());
  step.entries.push_back(entry);
  const std::uint32_t saved = saved_inside + (departs && need.leaves ? 1 : 0);
  const std::uint32_t skipped =
      need.skipped + need.inside - saved_inside + (need.leaves && !departs ? 1 : 0);
  ++counters_.advances;
  counters_.checkpoints_saved += saved_inside + (boundary(row, need.to) ? 1 : 0);
  counters_.checkpoints_skipped += skipped;
  return {from, need.to, static_cast<std::uint16_t>(saved), static_cast<std::uint16_t>(skipped)};
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
