// StateCache, the life of a step: rules L5, L6 and L15.
#pragma once

#include <utility>

#include "hybridmem/cache/state_cache.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

template <MemoryOrganization Organization, class Events>
Result<Ticket> StateCache<Organization, Events>::open_step() {
  if (steps_.is_open()) return Error::wrong_state;
  if (steps_.full()) return Error::ticket_order;
  const std::uint64_t ticket = steps_.open().ticket;
  flush_closing();
  ++counters_.steps;
  emit({.kind = EventKind::step_opened});
  changed(3, ticket);
  return Ticket{ticket};
}

template <MemoryOrganization Organization, class Events>
Result<StepWork> StateCache<Organization, Events>::close_step() {
  if (!steps_.is_open()) return Error::no_step;
  StepRecord& step = steps_.at(steps_.last());
  for (const TailCopy& tail : step.tails) {
    const std::int32_t row = rows_.find(tail.child);
    if (row < 0 || rows_[row].block_count <= tail.block_index ||
        rows_.blocks(row)[tail.block_index] != tail.destination)
      continue;
    const auto from = organization_.pages(tail.source);
    const auto to = organization_.pages(tail.destination);
    for (std::size_t i = 0; i < from.size(); ++i)
      step.copies.push_back({Place::attention_page, from[i], to[i]});
    step.appends.push_back({tail.child, 0, rows_[row].block_count});
    rows_[row].listed_blocks = rows_[row].block_count;
  }
  for (const StepEntry& entry : step.entries) {
    if (entry.withdrawn) continue;
    Row& row = rows_[entry.row];
    const std::span<const BlockId> blocks = rows_.blocks(entry.row);
    for (; row.clean_blocks < entry.block_count; ++row.clean_blocks)
      for (const std::int32_t page : organization_.pages(blocks[row.clean_blocks]))
        step.zeros.push_back({Place::attention_page, page});
    if (entry.block_count > row.listed_blocks) {
      step.appends.push_back(
          {entry.sequence, row.listed_blocks, entry.block_count - row.listed_blocks});
      row.listed_blocks = entry.block_count;
    }
    for (const Segment& segment : step.segments_of(entry))
      step.writes.push_back({entry.sequence, segment.position, segment.state, segment.saved});
  }
  step.closed = true;
  flush_closing();
  emit({.kind = EventKind::step_closed});
  changed(5, step.writes.size());
  return step.work();
}

template <MemoryOrganization Organization, class Events>
Status StateCache<Organization, Events>::complete(Ticket ticket) {
  const auto number = static_cast<std::uint64_t>(ticket);
  if (!steps_.contains(number) || number != steps_.completed() + 1 || !steps_.at(number).closed)
    return Error::ticket_order;
  for (const StepEntry& entry : steps_.at(number).entries)
    if (!entry.withdrawn && rows_.find(entry.sequence) == entry.row)
      rows_[entry.row].settled = std::max(rows_[entry.row].settled, entry.to);
  do {  // failed steps behind it end with it, and what was published since they failed stands
    blocks_.settle(steps_.completed() + 1);
    states_.settle(steps_.completed() + 1);
    steps_.complete_oldest();
  } while (steps_.in_flight() > 0 && steps_.at(steps_.completed() + 1).failed);
  flush_closing();
  emit({.ticket = number, .kind = EventKind::step_completed});
  changed(6, number);
  return Ok::ok;
}

/// Puts a sequence back to where it was before one chunk. Its row still belongs to the sequence.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::undo_entry(StepRecord& step, StepEntry& entry) {
  const std::int32_t index = entry.row;
  Row& row = rows_[index];
  while (row.block_count > entry.first_block) {
    const BlockId id = rows_.blocks(index)[row.block_count - 1];
    --row.block_count;
    if (blocks_.published(id)) forget_block(id, LossCause::unwritten);
    release_block(id);
  }
  const Tokens block = layout().block_tokens;
  // A block begun before this chunk and filled by it may be published: it is not written after all.
  for (std::uint32_t i = entry.from / block; i < row.block_count && i < row.published_blocks; ++i) {
    const BlockId id = rows_.blocks(index)[i];
    if (blocks_.published(id) && blocks_.end(id) > entry.from)
      forget_block(id, LossCause::unwritten);
  }
  row.published_blocks = std::min(row.published_blocks, entry.from / block);
  // A later step, undone before this one, may have let go of what this one wrote or began from.
  const auto holds = [&](CheckpointId id) {
    return id == row.current || id == row.spare ||
           std::ranges::any_of(rows_.held(index),
                               [id](const Held& held) { return held.state == id; });
  };
  const bool has_source = !entry.source.present() || holds(entry.source);
  const bool has_spare = entry.previous_spare.present() && holds(entry.previous_spare);
  const std::span<const Segment> segments = step.segments_of(entry);
  for (std::size_t i = segments.size(); i-- > 0;) {
    const CheckpointId id = segments[i].state;
    if (!holds(id)) continue;
    if (states_.published(id)) forget_state(id, LossCause::unwritten);
    if (segments[i].allocated && id != entry.previous_spare) release_state(id);
  }
  if (row.spare.present() && row.spare != entry.previous_spare) release_state(row.spare);
  row.spare = has_spare ? entry.previous_spare : CheckpointId::absent();
  for (std::size_t i = rows_.held(index).size(); i-- > 0;)
    if (rows_.held(index)[i].used == step.ticket) rows_.unhold(index, i);
  row.current = has_source ? entry.source : CheckpointId::absent();
  row.damaged = row.damaged || !has_source;
  row.current_ticket = entry.previous_current_ticket;
  row.published_state = std::min(row.published_state, entry.previous_published_state);
  row.placed = entry.from;
  row.last_ticket = entry.previous_ticket;
  row.last_entry = entry.previous_entry;
  row.listed_blocks = std::min(row.listed_blocks, entry.previous_listed);
  row.clean_blocks = std::min(row.clean_blocks, entry.previous_clean);
  entry.withdrawn = true;
  if (entry.overwrote && row.epoch == epoch_)
    publish_as(row.current, entry.overwritten_key, entry.overwritten_parent, row.placed,
               entry.overwritten_ticket, row.requester);
}

/// Forgets every publication of a step; what nobody holds and nothing can find is free at once.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::revoke_step(std::uint64_t ticket) {
  blocks_.revoke(ticket, [this](BlockId id) {
    forget_block(id, LossCause::unwritten);
    if (organization_.cached(id) &&
        options_.organization.free_order == FreeOrder::unpublished_first)
      organization_.invalidate(id);
  });
  states_.revoke(ticket, [this](CheckpointId id) {
    forget_state(id, LossCause::unwritten);
    unkeep(id);
    settle_released(id);
  });
}

/// After publications were revoked: no sequence counts a block as published that is not.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::recount_published() {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Row& row = rows_[static_cast<std::int32_t>(i)];
    if (row.state != RowState::running) continue;
    const std::span<const BlockId> blocks = rows_.blocks(static_cast<std::int32_t>(i));
    while (row.published_blocks > 0 && !blocks_.published(blocks[row.published_blocks - 1]))
      --row.published_blocks;
  }
}

template <MemoryOrganization Organization, class Events>
Status StateCache<Organization, Events>::drop_step(Ticket ticket) {
  const auto number = static_cast<std::uint64_t>(ticket);
  if (!steps_.contains(number) || number != steps_.last() || steps_.at(number).failed)
    return Error::ticket_order;
  StepRecord& step = steps_.at(number);
  for (std::size_t i = step.entries.size(); i-- > 0;) {
    StepEntry& entry = step.entries[i];
    if (!entry.withdrawn && rows_.find(entry.sequence) == entry.row) undo_entry(step, entry);
  }
  revoke_step(number);
  recount_published();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    Row& row = rows_[index];
    damage(index, number);
    row.last_ticket = std::min(row.last_ticket, number - 1);
    row.lent_ticket = std::min(row.lent_ticket, number - 1);
  }
  for (std::size_t i = step.tails.size(); i-- > 0;) {  // forks of the step never happened
    const std::int32_t row = rows_.find(step.tails[i].child);
    if (row >= 0) end_row(row);
  }
  steps_.drop_newest();
  flush_closing();
  emit({.ticket = number, .kind = EventKind::step_dropped});
  changed(7, number);
  return Ok::ok;
}

template <MemoryOrganization Organization, class Events>
Result<std::size_t> StateCache<Organization, Events>::fail(Ticket ticket,
                                                           std::span<Sequence> damaged) {
  const auto number = static_cast<std::uint64_t>(ticket);
  if (!steps_.contains(number) || steps_.at(number).failed) return Error::ticket_order;
  for (std::uint64_t at = steps_.last(); at >= number; --at) {
    steps_.at(at).closed = true;
    steps_.at(at).failed = true;
    revoke_step(at);
  }
  recount_published();
  std::size_t count = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    if (!damage(index, number)) continue;
    if (count < damaged.size()) damaged[count] = rows_.handle(index);
    ++count;
  }
  if (number == steps_.completed() + 1) steps_.end_all();
  flush_closing();
  ++counters_.failed_steps;
  emit({.ticket = number, .kind = EventKind::steps_failed});
  changed(8, number);
  return count;
}

/// Marks a running sequence damaged if a step from `from` on wrote its running state, or if it
/// began with what such a step published or copied; lets go of the checkpoints that are void.
/// Whether it was marked.
template <MemoryOrganization Organization, class Events>
bool StateCache<Organization, Events>::damage(std::int32_t index, std::uint64_t from) {
  Row& row = rows_[index];
  if (row.state != RowState::running) return false;
  const bool began_void = row.depends_on >= from;
  if (row.current_ticket < from && !began_void) return false;
  for (std::size_t h = rows_.held(index).size(); h-- > 0;) {
    const Held held = rows_.held(index)[h];
    if (held.saved < from && !began_void) continue;
    rows_.unhold(index, h);
    release_state(held.state);
  }
  return !std::exchange(row.damaged, true);
}

template <MemoryOrganization Organization, class Events>
std::uint64_t StateCache<Organization, Events>::fence(const Row& row) const noexcept {
  return std::max(row.last_ticket, row.lent_ticket);
}

/// Whether what a sequence held may be reassigned (rule L6).
template <MemoryOrganization Organization, class Events>
bool StateCache<Organization, Events>::fence_passed(const Row& row) const noexcept {
  return settled_for_reuse(fence(row));
}

/// Lets go of ended sequences whose last step no longer touches them. Linear in those that wait.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::flush_closing() {
  std::size_t waiting = 0;
  for (std::size_t i = 0; i < closing_.size(); ++i) {
    const std::int32_t row = closing_[i];
    if (fence_passed(rows_[row])) {
      release_holdings(row);
      rows_.close(row);
    } else {
      closing_[waiting++] = row;
    }
  }
  closing_.resize(waiting);
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
