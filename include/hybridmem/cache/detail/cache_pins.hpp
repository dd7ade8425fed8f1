// StateCache, pins: what a preemption keeps by policy, and what letting a sequence go would give.
#pragma once

#include "hybridmem/cache/state_cache.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// Remembers a state that a sequence adopted or published, so that a preemption may pin it.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::remember(std::int32_t index, CheckpointId state,
                                                Tokens position) {
  if (options_.preemption_pinning == 0) return;
  const auto first = static_cast<std::size_t>(index) * recent_per_row;
  const std::span<Recent> recent = std::span(recent_).subspan(first, recent_per_row);
  for (std::size_t i = 1; i < recent.size(); ++i) recent[i - 1] = recent[i];
  recent.back() = {state, position, states_.index().key_of(state)};
}

template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::forget_recent(std::int32_t index) {
  if (options_.preemption_pinning == 0) return;
  const auto first = static_cast<std::size_t>(index) * recent_per_row;
  std::ranges::fill(std::span(recent_).subspan(first, recent_per_row), Recent{});
}

/// Pins the rightmost state of a sequence that enough requesters demand, if the budget allows.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::pin_rightmost(std::int32_t index) {
  if (options_.preemption_pinning == 0) return;
  const auto first = static_cast<std::size_t>(index) * recent_per_row;
  Recent best;
  for (const Recent& one : std::span(recent_).subspan(first, recent_per_row)) {
    if (!one.state.present() || one.position <= best.position) continue;
    if (!states_.published(one.state) || states_.index().key_of(one.state) != one.key) continue;
    if (demand_.count(one.key) >= options_.preemption_pinning) best = one;
  }
  const std::uint64_t units = std::max<std::uint64_t>(layout().units_per_checkpoint(), 1);
  if (!best.state.present() ||
      (options_.pinned_units != 0 && pinned_units_ + units > options_.pinned_units))
    return;
  reference_state(best.state);
  rows_[index].pin = best.state;
  rows_[index].pin_order = ++pin_clock_;
  pinned_units_ += units;
  ++counters_.pins;
}

template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::drop_pin(std::int32_t index, bool for_units) {
  Row& row = rows_[index];
  if (!row.pin.present()) return;
  release_state(row.pin);
  row.pin = CheckpointId::absent();
  pinned_units_ -= std::max<std::uint64_t>(layout().units_per_checkpoint(), 1);
  counters_.pins_dropped += for_units ? 1 : 0;
}

/// Drops the oldest pin; false without any. Linear in the rows.
template <MemoryOrganization Organization, class Events>
bool StateCache<Organization, Events>::drop_oldest_pin() {
  if (pinned_units_ == 0) return false;
  std::int32_t oldest = -1;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(rows_.size()); ++i)
    if (rows_[i].pin.present() && (oldest < 0 || rows_[i].pin_order < rows_[oldest].pin_order))
      oldest = i;
  drop_pin(oldest, true);
  ++version_;
  return true;
}

/// Units that only this row holds.
template <MemoryOrganization Organization, class Events>
PoolUnits StateCache<Organization, Events>::releasable_units(std::int32_t index) const {
  PoolUnits units{};
  const Row& row = rows_[index];
  std::uint64_t& attention = units[layout().pool_of(StateKind::attention)];
  std::uint64_t& recurrent = units[layout().pool_of(StateKind::recurrent)];
  for (const BlockId id : rows_.blocks(index))
    if (organization_.references(id) == 1) attention += layout().units_per_block;
  for (const CheckpointId id : {row.current, row.spare})
    if (id.present() && organization_.references(id) == 1)
      recurrent += layout().units_per_checkpoint();
  for (const Held& held : rows_.held(index))
    if (organization_.references(held.state) == 1) recurrent += layout().units_per_checkpoint();
  return units;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
