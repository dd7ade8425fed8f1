// StateCache, publishing and losing: rules L2, L11 and L12, and the events of both.
#pragma once

#include "hybridmem/cache/state_cache.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// Why `publish` would refuse, `none` if it would not. `upto` is clamped already.
template <MemoryOrganization Organization, class Events>
Error StateCache<Organization, Events>::publish_error(std::int32_t index, Tokens upto,
                                                      std::span<const Key> keys) const {
  const Row& row = rows_[index];
  if (row.state != RowState::running) return Error::wrong_state;
  if (row.damaged) return Error::damaged;
  if (row.epoch != epoch_) return Error::old_epoch;
  const Tokens whole = upto / options_.key_tokens;
  if (keys.size() < whole) return Error::keys_short;
  if (boundary(row, upto) && upto < row.placed && upto > row.published_state) {
    const std::span<const Held> held = rows_.held(index);
    if (std::none_of(held.begin(), held.end(),
                     [upto](const Held& one) { return one.position == upto; }))
      return Error::position_mismatch;
  }
  return Error::none;
}

/// Publishes one state of `row` unless it is published.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::publish_state(std::int32_t index, CheckpointId state,
                                                     Tokens position, std::span<const Key> keys) {
  Row& row = rows_[index];
  if (states_.published(state)) return;
  const Key key = key_at(row.root, keys, position);
  const Key parent = key_at(row.root, keys, position - options_.key_tokens);
  if (states_.index().find(key, parent, epoch_).present()) ++counters_.duplicates_published;
  publish_as(state, key, parent, position, publication_ticket(), row.requester);
  row.published_state = std::max(row.published_state, position);
  ++counters_.checkpoints_published;
  remember(index, state, position);
}

/// Enters a state in the catalog as published in step `ticket`.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::publish_as(CheckpointId state, const Key& key,
                                                  const Key& parent, Tokens position,
                                                  std::uint64_t ticket, std::uint64_t requester) {
  states_.publish(state, key, parent, epoch_, position, ticket, ticket > steps_.completed());
  if (position % layout().checkpoint_interval_tokens != 0) ++off_grid_states_;
  emit({.ticket = ticket,
        .key_high = key.high,
        .key_low = key.low,
        .parent_high = parent.high,
        .parent_low = parent.low,
        .requester = requester,
        .object = state.value(),
        .epoch = epoch_,
        .begin = 0,
        .end = position,
        .units = layout().units_per_checkpoint(),
        .kind = EventKind::published,
        .object_kind = EventObject::checkpoint});
}

/// Publishes what `row` holds up to `upto`. Precondition: `publish_error` finds nothing. With
/// `tail`, a running state exactly there is published on the block grid too.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::publish_all(std::int32_t index, Tokens upto,
                                                   std::span<const Key> keys, bool tail) {
  Row& row = rows_[index];
  const Tokens block = layout().block_tokens;
  if (layout().units_per_block > 0) {
    while ((row.published_blocks + 1) * block <= upto) {
      const std::uint32_t i = row.published_blocks++;
      const BlockId id = rows_.blocks(index)[i];
      if (blocks_.published(id)) continue;
      const Key key = key_at(row.root, keys, (i + 1) * block);
      const Key parent = key_at(row.root, keys, i * block);
      if (blocks_.index().find(key, parent, epoch_).present()) ++counters_.duplicates_published;
      blocks_.publish(id, key, parent, epoch_, (i + 1) * block, publication_ticket(),
                      publication_ticket() > steps_.completed());
      ++counters_.blocks_published;
      emit({.key_high = key.high,
            .key_low = key.low,
            .parent_high = parent.high,
            .parent_low = parent.low,
            .requester = row.requester,
            .object = id.value(),
            .epoch = epoch_,
            .begin = i * block,
            .end = (i + 1) * block,
            .units = layout().units_per_block,
            .kind = EventKind::published,
            .object_kind = EventObject::attention_block});
    }
  }
  for (const Held& held : rows_.held(index))
    if (held.position <= upto && boundary(row, held.position))
      publish_state(index, held.state, held.position, keys);
  const bool on_grid = boundary(row, row.placed) ||
                       (tail && options_.keep_tail && row.placed > 0 && row.placed % block == 0);
  if (row.current.present() && row.placed <= upto && on_grid &&
      (states_.published(row.current) || may_lend(index)))
    publish_state(index, row.current, row.placed, keys);
}

template <MemoryOrganization Organization, class Events>
Result<Tokens> StateCache<Organization, Events>::publish(Sequence sequence, Tokens upto,
                                                         std::span<const Key> keys) {
  const std::int32_t index = rows_.find(sequence);
  if (index < 0) return Error::stale_handle;
  const Tokens clamped = std::min(upto, rows_[index].placed);
  const Error error = publish_error(index, clamped, keys);
  if (error != Error::none) return error;
  publish_all(index, clamped, keys, false);
  changed(9, static_cast<std::uint64_t>(sequence.slot) << 32U | clamped);
  return clamped;
}

template <MemoryOrganization Organization, class Events>
template <class Id>
void StateCache<Organization, Events>::lost(const Catalog<Id>& catalog, Id id, EventObject kind,
                                            LossCause cause) {
  if constexpr (Events::enabled) {
    const Key key = catalog.index().key_of(id);
    const Key parent = catalog.index().parent_of(id);
    const Tokens end = catalog.end(id);
    const bool block = kind == EventObject::attention_block;
    emit({.key_high = key.high,
          .key_low = key.low,
          .parent_high = parent.high,
          .parent_low = parent.low,
          .object = id.value(),
          .epoch = catalog.index().epoch_of(id),
          .begin = block ? end - layout().block_tokens : 0,
          .end = end,
          .units = block ? layout().units_per_block : layout().units_per_checkpoint(),
          .kind = EventKind::lost,
          .object_kind = kind,
          .cause = cause});
  } else {
    static_cast<void>(catalog);
    static_cast<void>(id);
    static_cast<void>(kind);
    static_cast<void>(cause);
  }
}

template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::forget_block(BlockId id, LossCause cause) {
  lost(blocks_, id, EventObject::attention_block, cause);
  blocks_.forget(id);
}

template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::forget_state(CheckpointId id, LossCause cause) {
  lost(states_, id, EventObject::checkpoint, cause);
  if (states_.end(id) % layout().checkpoint_interval_tokens != 0) --off_grid_states_;
  states_.forget(id);
}

/// An object is about to lose its units: nothing finds it any more (rule P3).
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::on_evicted(const Eviction& eviction) {
  const LossCause cause =
      eviction.cross_invalidated ? LossCause::cross_invalidated : LossCause::evicted;
  if (eviction.kind == StateKind::attention) {
    const BlockId id{eviction.index};
    ++counters_.blocks_evicted;
    if (blocks_.published(id)) forget_block(id, cause);
    return;
  }
  const CheckpointId id{eviction.index};
  ++counters_.checkpoints_evicted;
  counters_.cross_invalidations += eviction.cross_invalidated ? 1 : 0;
  if (states_.published(id)) forget_state(id, cause);
  unkeep(id);
  --live_states_;
}

template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::unkeep(CheckpointId id) {
  if (options_.checkpoint_units > 0 && kept_links_[id.index()].linked())
    kept_.remove(kept_links_, id);
}

template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::reference_state(CheckpointId id) {
  unkeep(id);
  organization_.reference(id);
}

template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::release_block(BlockId id) {
  organization_.release(id, blocks_.published(id));
}

template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::release_state(CheckpointId id) {
  const Released outcome = organization_.release(id, states_.published(id));
  if (outcome == Released::dropped) --live_states_;
  if (outcome == Released::cached && options_.checkpoint_units > 0)
    kept_.push_back(kept_links_, id);
}

/// Finishes a release that was made as if the state could be found.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::settle_released(CheckpointId id) {
  if (!organization_.cached(id)) return;  // another sequence holds it
  const bool queued = options_.organization.free_order == FreeOrder::release_order &&
                      layout().units_per_checkpoint() > 0;
  if (!states_.published(id) && !queued) {
    organization_.invalidate(id);
    --live_states_;
  } else if (options_.checkpoint_units > 0 && !kept_links_[id.index()].linked()) {
    kept_.push_back(kept_links_, id);  // once, where several sequences let go of it together
  }
}

template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::emit(Event event) {
  if constexpr (Events::enabled) {
    event.number = ++event_number_;
    if (event.ticket == 0) event.ticket = publication_ticket();
    ++counters_.events;
    events_(event);
  } else {
    static_cast<void>(event);
  }
}

template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::end_events() {
  emit({.kind = EventKind::end_of_stream});
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
