// StateCache, ends and turns: rules L12 to L14.
#pragma once

#include "hybridmem/cache/state_cache.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// The chunk of a sequence in the open step, null without one.
template <MemoryOrganization Organization, class Events>
StepEntry* StateCache<Organization, Events>::open_entry(std::int32_t index) {
  const Row& row = rows_[index];
  if (!steps_.is_open() || row.last_ticket != steps_.last()) return nullptr;
  StepRecord& step = steps_.at(steps_.last());
  if (row.last_entry >= step.entries.size()) return nullptr;
  StepEntry& entry = step.entries[row.last_entry];
  return entry.row == index && !entry.withdrawn ? &entry : nullptr;
}

/// Takes a sequence out of the open step, if it is in it.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::withdraw(std::int32_t index) {
  if (StepEntry* const entry = open_entry(index)) undo_entry(steps_.at(steps_.last()), *entry);
}

/// What the steps in flight did to a row no longer concerns it. Linear in their entries.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::leave_steps(std::int32_t index) {
  for (std::uint64_t at = steps_.completed() + 1; at <= rows_[index].last_ticket; ++at)
    for (StepEntry& entry : steps_.at(at).entries)
      if (entry.row == index) entry.withdrawn = true;
}

/// A sequence is no longer the fork of a step in flight: the open step does not copy its last
/// block, and it does not end with a step that is dropped. Linear in the forks.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::leave_tails(std::int32_t index) {
  const Sequence child = rows_.handle(index);
  for (std::uint64_t at = steps_.completed() + 1; at <= steps_.last(); ++at)
    for (TailCopy& tail : steps_.at(at).tails) {
      if (tail.child != child) continue;
      tail.child = Sequence{};
      if (!steps_.at(at).closed) rows_[index].lent_ticket = 0;
    }
}

/// Whether a sequence that goes on from `to` writes in no block of another.
template <MemoryOrganization Organization, class Events>
bool StateCache<Organization, Events>::tail_private(std::int32_t index, Tokens to) const {
  const Tokens block = layout().block_tokens;
  return layout().units_per_block == 0 || to % block == 0 ||
         organization_.references(rows_.blocks(index)[to / block]) == 1;
}

/// Releases everything a row holds but its pin: blocks deepest first, then checkpoints deepest
/// first (rule P7).
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::release_holdings(std::int32_t index) {
  Row& row = rows_[index];
  const std::span<const BlockId> blocks = rows_.blocks(index);
  for (std::size_t i = blocks.size(); i-- > 0;) release_block(blocks[i]);
  row.block_count = row.published_blocks = row.listed_blocks = row.clean_blocks = 0;
  if (row.spare.present()) release_state(row.spare);
  if (row.current.present()) release_state(row.current);
  row.current = row.spare = CheckpointId::absent();
  const std::span<const Held> held = rows_.held(index);
  for (std::size_t i = held.size(); i-- > 0;) release_state(held[i].state);
  row.held_count = 0;
}

/// Lets a row's holdings go: now, or in a closing row once no step touches them. Errors:
/// `capacity`.
template <MemoryOrganization Organization, class Events>
Error StateCache<Organization, Events>::retire(std::int32_t index) {
  Row& row = rows_[index];
  if (fence_passed(row)) {
    release_holdings(index);
    return Error::none;
  }
  if (!rows_.row_free()) return Error::capacity;
  const std::int32_t closing = rows_.open_closing();
  Row& rest = rows_[closing];
  rest.last_ticket = row.last_ticket;
  rest.lent_ticket = row.lent_ticket;
  rest.current = row.current;
  rest.spare = row.spare;
  rest.block_count = row.block_count;
  std::ranges::copy(std::as_const(rows_).blocks(index), rows_.all_blocks(closing).begin());
  for (const Held& held : rows_.held(index)) rows_.hold(closing, held);
  row.block_count = row.published_blocks = row.listed_blocks = row.clean_blocks = 0;
  row.held_count = 0;
  row.current = row.spare = CheckpointId::absent();
  closing_.push_back(closing);
  return Error::none;
}

/// Ends a sequence: its handle is stale, its row is free or closing.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::end_row(std::int32_t index) {
  drop_pin(index, false);
  if (rows_[index].state == RowState::running) --running_;
  emit({.requester = rows_[index].requester,
        .object = rows_[index].slot,
        .epoch = rows_[index].epoch,
        .end = rows_[index].placed,
        .kind = EventKind::ended});
  const bool free_now = fence_passed(rows_[index]);
  rows_.drop_handle(index);
  if (free_now) {
    release_holdings(index);
    rows_.close(index);
  } else {
    closing_.push_back(index);
  }
}

template <MemoryOrganization Organization, class Events>
Status StateCache<Organization, Events>::finish(Sequence sequence, Tokens valid,
                                                std::span<const Key> keys) {
  const std::int32_t index = rows_.find(sequence);
  if (index < 0) return Error::stale_handle;
  const Row& row = rows_[index];
  const StepEntry* const entry = open_entry(index);
  const Tokens upto = std::min(valid, entry == nullptr ? row.placed : entry->from);
  const bool publishes = row.state == RowState::running && !row.damaged && row.epoch == epoch_;
  if (publishes) {
    const Error error = publish_error(index, upto, keys);
    if (error != Error::none && error != Error::position_mismatch) return error;
  }
  withdraw(index);
  leave_tails(index);
  if (publishes) publish_all(index, upto, keys, row.placed <= valid);
  end_row(index);
  changed(10, static_cast<std::uint64_t>(sequence.slot) << 32U | valid);
  return Ok::ok;
}

template <MemoryOrganization Organization, class Events>
Status StateCache<Organization, Events>::abort(Sequence sequence) {
  const std::int32_t index = rows_.find(sequence);
  if (index < 0) return Error::stale_handle;
  withdraw(index);
  leave_tails(index);
  end_row(index);
  changed(11, static_cast<std::uint64_t>(sequence.slot));
  return Ok::ok;
}

template <MemoryOrganization Organization, class Events>
Status StateCache<Organization, Events>::preempt(Sequence sequence) {
  const std::int32_t index = rows_.find(sequence);
  if (index < 0) return Error::stale_handle;
  Row& row = rows_[index];
  if (row.state != RowState::running) return Error::wrong_state;
  // Withdrawing may only pull the fence back, so a row that is needed afterwards is needed now.
  if (!rows_.row_free() && !fence_passed(row)) return Error::capacity;
  withdraw(index);
  leave_tails(index);
  if (!row.damaged && row.epoch == epoch_) pin_rightmost(index);
  const Error error = retire(index);
  HYBRIDMEM_CHECK(1, error == Error::none, "a free row was found before");
  static_cast<void>(error);
  emit({.requester = row.requester,
        .object = row.slot,
        .epoch = row.epoch,
        .end = row.placed,
        .kind = EventKind::preempted});
  leave_steps(index);
  row.state = RowState::preempted;
  row.damaged = false;
  row.placed = row.settled = row.published_state = 0;
  row.depends_on = row.lent_ticket = row.current_ticket = 0;
  --running_;
  ++counters_.preemptions;
  changed(12, static_cast<std::uint64_t>(sequence.slot));
  return Ok::ok;
}

template <MemoryOrganization Organization, class Events>
Result<Sequence> StateCache<Organization, Events>::fork(Sequence sequence) {
  const std::int32_t index = rows_.find(sequence);
  if (index < 0) return Error::stale_handle;
  Row& parent = rows_[index];
  if (!steps_.is_open() || parent.state != RowState::running || open_entry(index) != nullptr)
    return Error::wrong_state;
  if (parent.damaged) return Error::damaged;
  StepRecord& step = steps_.at(steps_.last());
  if (!rows_.slot_free() || step.tails.size() == steps_.sizes().entries) return Error::capacity;
  const Tokens block = layout().block_tokens;
  const bool blocks = layout().units_per_block > 0;
  const std::uint32_t whole = blocks ? parent.placed / block : 0;
  const bool tail = blocks && parent.placed % block != 0;
  // While its prompt is reserved, the parent must be able to leave the shared state behind.
  const bool lends = parent.current.present() && options_.reserve_prompt &&
                     parent.placed < parent.prompt_tokens && !parent.spare.present();
  if (!fits({tail ? 1U : 0U, lends ? 1U : 0U})) return Error::shortfall;
  if (lends) parent.spare = take_state({tail ? 1U : 0U, 0});

  const std::int32_t made = rows_.open();
  Row& child = rows_[made];
  child.epoch = parent.epoch;
  child.requester = parent.requester;
  child.root = parent.root;
  child.prompt_tokens = parent.prompt_tokens;
  child.max_tokens = parent.max_tokens;
  child.placed = parent.placed;
  child.settled = parent.settled;
  child.published_state = parent.published_state;
  child.current_ticket = parent.current_ticket;
  child.depends_on = std::max(parent.depends_on, parent.last_ticket);
  child.last_ticket = parent.last_ticket;
  child.last_entry = ~0U;
  ++running_;
  for (std::uint32_t i = 0; i < whole; ++i) {
    const BlockId id = rows_.blocks(index)[i];
    organization_.reference(id);
    rows_.all_blocks(made)[child.block_count++] = id;
  }
  child.published_blocks = std::min(parent.published_blocks, whole);
  forget_recent(made);
  if (parent.current.present()) {
    organization_.reference(parent.current);
    child.current = parent.current;
  }
  TailCopy copy{rows_.handle(made), whole, BlockId::absent(), BlockId::absent()};
  if (tail) {
    take_blocks(made, 1);
    copy.source = rows_.blocks(index)[whole];
    for (const TailCopy& other : step.tails)  // no copy reads what another of the step writes
      if (other.destination == copy.source) copy.source = other.source;
    copy.destination = rows_.blocks(made)[whole];
    parent.lent_ticket = child.lent_ticket = child.depends_on = steps_.last();
  }
  child.clean_blocks = child.block_count;
  step.tails.push_back(copy);
  emit({.requester = child.requester,
        .object = child.slot,
        .epoch = child.epoch,
        .end = child.placed,
        .kind = EventKind::admitted});
  changed(13, static_cast<std::uint64_t>(child.slot));
  return rows_.handle(made);
}

template <MemoryOrganization Organization, class Events>
Status StateCache<Organization, Events>::truncate(Sequence sequence, Tokens to) {
  const std::int32_t index = rows_.find(sequence);
  if (index < 0) return Error::stale_handle;
  Row& row = rows_[index];
  if (row.state != RowState::running || open_entry(index) != nullptr) return Error::wrong_state;
  if (to == row.placed && !row.damaged) return Ok::ok;
  const std::span<const Held> held = rows_.held(index);
  const auto place =
      std::find_if(held.begin(), held.end(), [to](const Held& one) { return one.position == to; });
  if (to > row.placed || (to != 0 && place == held.end()) || !tail_private(index, to))
    return Error::no_state;
  if (!fence_passed(row)) return Error::ticket_order;

  const std::uint32_t blocks =
      layout().units_per_block == 0 ? 0 : divide_up(to, layout().block_tokens);
  while (row.block_count > blocks) {
    const BlockId id = rows_.blocks(index)[row.block_count - 1];
    --row.block_count;
    release_block(id);
  }
  // What it writes on in is found no longer.
  if (blocks > 0 && to % layout().block_tokens != 0) {
    const BlockId id = rows_.blocks(index)[blocks - 1];
    if (blocks_.published(id)) forget_block(id, LossCause::overwritten);
  }
  if (row.current.present()) release_state(row.current);
  row.current = CheckpointId::absent();
  row.current_ticket = 0;
  for (std::size_t i = rows_.held(index).size(); i-- > 0;) {
    const Held one = rows_.held(index)[i];
    if (one.position < to) continue;
    rows_.unhold(index, i);
    if (one.position == to && !row.current.present()) {
      row.current = one.state;
      row.current_ticket = one.saved;
    } else {
      release_state(one.state);
    }
  }
  row.placed = to;
  row.settled = std::min(row.settled, to);
  row.published_blocks = std::min(row.published_blocks, to / layout().block_tokens);
  row.listed_blocks = std::min(row.listed_blocks, row.block_count);
  row.clean_blocks = std::min(row.clean_blocks, row.block_count);
  row.published_state = std::min(row.published_state, to);
  row.damaged = false;
  if (to == 0) row.depends_on = 0;
  leave_steps(index);
  changed(14, static_cast<std::uint64_t>(sequence.slot) << 32U | to);
  return Ok::ok;
}

template <MemoryOrganization Organization, class Events>
Tokens StateCache<Organization, Events>::restart_at_or_below(Sequence sequence, Tokens at) const {
  const std::int32_t index = rows_.find(sequence);
  if (index < 0 || rows_[index].state != RowState::running) return 0;
  const Row& row = rows_[index];
  if (!row.damaged && row.placed <= at) return row.placed;
  Tokens best = 0;
  for (const Held& held : rows_.held(index))
    if (held.position <= at && tail_private(index, held.position))
      best = std::max(best, held.position);
  return best;
}

template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::advance_epoch() {
  ++epoch_;
  while (drop_oldest_pin()) {
  }
  emit({.epoch = epoch_, .kind = EventKind::epoch});
  changed(15, epoch_);
}

template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::clear() {
  while (drop_oldest_pin()) {
  }
  for (std::uint32_t i = 0; i < organization_.block_capacity(); ++i) {
    const BlockId id{static_cast<std::int32_t>(i)};
    if (blocks_.published(id)) forget_block(id, LossCause::evicted);
    if (organization_.cached(id)) organization_.invalidate(id);
  }
  for (std::uint32_t i = 0; i < organization_.checkpoint_capacity(); ++i) {
    const CheckpointId id{static_cast<std::int32_t>(i)};
    if (states_.published(id)) forget_state(id, LossCause::evicted);
    if (!organization_.cached(id)) continue;
    unkeep(id);
    organization_.invalidate(id);
    --live_states_;
  }
  for (std::uint64_t at = steps_.completed() + 1; at <= steps_.last(); ++at)
    for (StepEntry& entry : steps_.at(at).entries) entry.overwrote = false;
  recount_published();
  changed(16, 0);
}

template <MemoryOrganization Organization, class Events>
Status StateCache<Organization, Events>::reset() {
  if (steps_.in_flight() > 0) return Error::wrong_state;
  while (!kept_.empty()) kept_.pop_front(kept_links_);
  blocks_.clear();
  states_.clear();
  rows_.reset();
  organization_.reset();
  steps_.reset();
  demand_.clear();
  closing_.clear();
  counters_ = Metrics{};
  pinned_units_ = pin_clock_ = 0;
  live_states_ = off_grid_states_ = running_ = 0;
  fingerprint_ = 0;
  emit({.epoch = ++epoch_, .kind = EventKind::reset});
  changed(17, 0);
  return Ok::ok;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
