// StateCache, room for a chunk: what is available, what makes way, and taking units.
#pragma once

#include "hybridmem/cache/state_cache.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

template <MemoryOrganization Organization, class Events>
bool StateCache<Organization, Events>::fits(const StateDemand& demand) const {
  const PoolUnits needed = organization_.needed(demand, PoolUnits{}, CheckpointId::absent());
  for (std::uint8_t pool = 0; pool < layout().pools; ++pool) {
    const PoolCounts counts = organization_.counts(pool);
    if (needed[pool] > std::uint64_t{counts.free} + counts.cached) return false;
  }
  return true;
}

/// The ticket with which `units` more of a pool become available: those of ended sequences, and of
/// checkpoints that `index` (negative: none) could let go but for a step in flight. `none` if they
/// are too few. Linear in the steps times the ended sequences.
template <MemoryOrganization Organization, class Events>
Ticket StateCache<Organization, Events>::coming(std::uint8_t pool, std::uint64_t units,
                                                std::int32_t index) const {
  std::uint64_t sum = 0;
  std::uint64_t completes = steps_.completed();  // the newest step so far that can complete
  for (std::uint64_t at = steps_.completed() + 1; at <= steps_.last(); ++at) {
    if (!steps_.at(at).failed) completes = at;
    for (const std::int32_t row : closing_)
      if (fence(rows_[row]) == at) sum += releasable_units(row)[pool];
    if (index >= 0 && pool == layout().pool_of(StateKind::recurrent))
      for (const Held& held : rows_.held(index))
        if (held.used == at && organization_.references(held.state) == 1 &&
            (options_.checkpoints_yield || states_.published(held.state)))
          sum += layout().units_per_checkpoint();
    if (sum >= units) return Ticket{completes};
  }
  return Ticket::none;
}

/// The ticket with which the last ended sequence lets go. Precondition: one waits.
template <MemoryOrganization Organization, class Events>
Ticket StateCache<Organization, Events>::coming_last() const {
  std::uint64_t last = 0;
  for (const std::int32_t row : closing_) last = std::max(last, fence(rows_[row]));
  while (last > steps_.completed() + 1 && steps_.at(last).failed) --last;
  return Ticket{last};
}

template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::note_shortage(std::int32_t index, const StateDemand& demand,
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
  batch.wait_for = coming(batch.pool, batch.units_short, index);
}

/// Makes a held checkpoint available before it is certain that its sequence advances.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::let_go(Held& held) {
  organization_.release(held.state, true);
  held.leaving = true;
}

/// Takes back what was let go, which puts everything where it was.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::take_back(std::int32_t index) {
  for (Held& held : rows_.held(index)) {
    if (!held.leaving) continue;
    organization_.reference(held.state);
    held.leaving = false;
  }
}

/// Completes what `let_go` began: the sequence no longer holds what it let go of.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::part_with(std::int32_t index) {
  for (std::size_t i = 0; i < rows_.held(index).size();) {
    const Held held = rows_.held(index)[i];
    if (!held.leaving) {
      ++i;
      continue;
    }
    rows_.unhold(index, i);
    settle_released(held.state);
  }
}

/// Whether a held checkpoint that is not let go yet may be when units are short: one retained, or
/// where checkpoints yield any that no step in flight uses.
template <MemoryOrganization Organization, class Events>
bool StateCache<Organization, Events>::may_go(const Row& row, const Held& held) const {
  if (held.leaving) return false;
  if (done_with(row, held)) return true;
  return options_.checkpoints_yield &&
         (options_.reuse == Reuse::stream || held.used <= steps_.completed());
}

/// Lets go of what stands in the way until a chunk fits: the sequence's retained checkpoints,
/// oldest first, then those whose keys may still come; what others would let go at their next
/// advance, or hold for such a key (rule L8: no saved checkpoint makes a chunk fail); and with
/// nothing else running, pins, oldest first (rule L13). False if all of it would not do: then no
/// pin was dropped. Linear in the sequences.
template <MemoryOrganization Organization, class Events>
bool StateCache<Organization, Events>::make_way(std::int32_t index, ChunkNeed& need) {
  for (const bool retained_only : {true, false}) {
    for (Held& held : rows_.held(index)) {
      if (!may_go(rows_[index], held) || (retained_only && !done_with(rows_[index], held)))
        continue;
      let_go(held);
      if (fits(need.demand)) return true;
    }
  }
  for (const std::int32_t other : rows_.by_slot()) {
    if (other < 0 || other == index || rows_[other].damaged) continue;
    for (Held& held : rows_.held(other)) {
      const bool read_now = held.used == steps_.last();
      if (read_now || !may_go(rows_[other], held) ||
          (done_with(rows_[other], held) && retained(held)))
        continue;
      let_go(held);
      if (fits(need.demand)) return true;
    }
  }
  if (running_ > 1 || pinned_units_ == 0) return false;
  const auto rows = static_cast<std::int32_t>(rows_.size());
  for (std::int32_t i = 0; i < rows; ++i)
    if (rows_[i].pin.present()) organization_.release(rows_[i].pin, true);
  settle_need(index, need);  // a state that only a pin shares can be written in place
  const bool would_do = fits(need.demand);
  for (std::int32_t i = 0; i < rows; ++i)
    if (rows_[i].pin.present()) organization_.reference(rows_[i].pin);
  while (would_do && drop_oldest_pin()) {
    settle_need(index, need);
    if (fits(need.demand)) return true;
  }
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

/// A new state; `later` is what is taken next without asking again.
template <MemoryOrganization Organization, class Events>
CheckpointId StateCache<Organization, Events>::take_state(const StateDemand& later) {
  const CheckpointId id = organization_.allocate_checkpoint(
      [this](const Eviction& eviction) { on_evicted(eviction); }, later);
  HYBRIDMEM_CHECK(1, id.present(), "units counted are units had");
  ++live_states_;
  return id;
}

/// Whether others may be given the running state of a sequence: not while its prompt is reserved
/// and it could then not go on for lack of another. Takes that other one.
template <MemoryOrganization Organization, class Events>
bool StateCache<Organization, Events>::may_lend(std::int32_t index) {
  Row& row = rows_[index];
  if (!options_.reserve_prompt || row.placed >= row.prompt_tokens || row.spare.present())
    return true;
  if (!fits({0, 1})) return false;
  row.spare = take_state({});
  return true;
}

/// How many more checkpoints the byte budget allows besides the running states, counting the cached
/// ones and the `leaving` that could make way.
template <MemoryOrganization Organization, class Events>
std::uint32_t StateCache<Organization, Events>::checkpoint_room(
    std::uint32_t leaving) const noexcept {
  if (options_.checkpoint_units == 0) return ~0U;
  const std::uint64_t most =
      options_.checkpoint_units / std::max(layout().units_per_checkpoint(), 1U);
  const std::uint64_t kept = live_states_ - std::min(live_states_, running_);
  const std::uint64_t fixed = kept - std::min<std::uint64_t>(kept, kept_.size() + leaving);
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

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
