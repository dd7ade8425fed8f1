// StateCache, observation: positions, metrics, capacity, the digest, and the audit.
#pragma once

#include <utility>

#include "hybridmem/cache/state_cache.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

template <MemoryOrganization Organization, class Events>
Result<Position> StateCache<Organization, Events>::position(Sequence sequence) const {
  const std::int32_t index = rows_.find(sequence);
  if (index < 0) return Error::stale_handle;
  return Position{rows_[index].settled, rows_[index].placed};
}

template <MemoryOrganization Organization, class Events>
Ticket StateCache<Organization, Events>::last_ticket(Sequence sequence) const {
  const std::int32_t index = rows_.find(sequence);
  return index < 0 ? Ticket::none : Ticket{rows_[index].last_ticket};
}

template <MemoryOrganization Organization, class Events>
PoolUnits StateCache<Organization, Events>::releasable(Sequence sequence) const {
  const std::int32_t index = rows_.find(sequence);
  return index < 0 ? PoolUnits{} : releasable_units(index);
}

template <MemoryOrganization Organization, class Events>
std::span<const BlockId> StateCache<Organization, Events>::blocks_of(Sequence sequence) const {
  const std::int32_t index = rows_.find(sequence);
  return index < 0 ? std::span<const BlockId>{} : rows_.blocks(index);
}

template <MemoryOrganization Organization, class Events>
CheckpointId StateCache<Organization, Events>::state_of(Sequence sequence) const {
  const std::int32_t index = rows_.find(sequence);
  return index < 0 ? CheckpointId::absent() : rows_[index].current;
}

template <MemoryOrganization Organization, class Events>
std::uint64_t StateCache<Organization, Events>::capacity(Tokens length, Tokens sharing) const {
  if (length == 0 || length > options_.max_sequence_tokens) return 0;
  const bool attention = layout().units_per_block > 0;
  const std::uint64_t whole = attention ? divide_up(length, layout().block_tokens) : 0;
  const Tokens interval = layout().checkpoint_interval_tokens;
  const std::uint64_t shared =
      attention ? std::min(sharing, length - 1) / interval * interval / layout().block_tokens : 0;
  PoolUnits left = options_.units;
  const std::uint64_t common = shared * layout().units_per_block;
  std::uint64_t& pool = left[layout().pool_of(StateKind::attention)];
  if (pool < common) return 0;
  pool -= common;
  const auto held = mix_capacity(layout(), {whole - shared, 1}, left);
  return held ? std::min<std::uint64_t>(held->repetitions, options_.max_sequences) : 0;
}

template <MemoryOrganization Organization, class Events>
Metrics StateCache<Organization, Events>::metrics() const {
  Metrics metrics = counters_;
  for (std::uint8_t pool = 0; pool < layout().pools; ++pool) {
    const PoolCounts counts = organization_.counts(pool);
    metrics.pools[pool] = {counts.units, counts.free, counts.cached, counts.referenced};
  }
  metrics.running = running_;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[static_cast<std::int32_t>(i)];
    metrics.preempted_waiting += row.state == RowState::preempted ? 1 : 0;
    metrics.pinned_checkpoints += row.pin.present() ? 1U : 0U;
  }
  metrics.closing = closing_.size();
  metrics.published_blocks = blocks_.index().size();
  metrics.published_checkpoints = states_.index().size();
  if (const auto* const slabs = organization_.slab_pool()) {
    metrics.slabs = slabs->slabs();
    metrics.slots_taken = slabs->taken_slots();
  }
  return metrics;
}

template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::changed(std::uint64_t what, std::uint64_t value) {
  ++version_;
  std::uint64_t state = fingerprint_ + 0x9e3779b97f4a7c15U;
  for (const std::uint64_t part :
       {what, value, std::uint64_t{organization_.counts(0).free},
        std::uint64_t{organization_.counts(0).cached}, std::uint64_t{blocks_.index().size()},
        std::uint64_t{states_.index().size()}}) {
    state = (state ^ part) * 0xd6e8feb86659fd93U;
    state ^= state >> 32U;
  }
  fingerprint_ = state;
  HYBRIDMEM_CHECK(3, audit({}) == 0, "the cache agrees with itself");
}

template <MemoryOrganization Organization, class Events>
std::size_t StateCache<Organization, Events>::audit(std::span<Finding> findings) const {
  std::size_t found = 0;
  const auto report = [&](FindingKind kind, std::uint8_t pool, std::size_t object, std::uint64_t is,
                          std::uint64_t should) {
    if (is == should) return;
    if (found < findings.size())
      findings[found] = {kind, pool, static_cast<std::int32_t>(object), is, should};
    ++found;
  };
  const auto count = [this](std::size_t size) {
    std::fill_n(audit_counts_.begin(), size, 0U);
    return std::span(audit_counts_).first(size);
  };

  // References: what rows hold, object by object.
  const auto rows = static_cast<std::int32_t>(rows_.size());
  const std::span<std::uint32_t> blocks = count(organization_.block_capacity());
  for (std::int32_t i = 0; i < rows; ++i)
    for (const BlockId id : rows_.blocks(i)) ++blocks[id.index()];
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const BlockId id{static_cast<std::int32_t>(i)};
    report(blocks[i] > 0 ? FindingKind::reference_count : FindingKind::unheld_reference, 0, i,
           organization_.references(id), blocks[i]);
    const bool present = organization_.references(id) > 0 || organization_.cached(id);
    if (blocks_.published(id)) report(FindingKind::stale_publication, 0, i, present ? 1 : 0, 1);
  }
  const std::span<std::uint32_t> states = count(organization_.checkpoint_capacity());
  for (std::int32_t i = 0; i < rows; ++i) {
    const Row& row = rows_[i];
    if (row.current.present()) ++states[row.current.index()];
    if (row.spare.present()) ++states[row.spare.index()];
    if (row.pin.present()) ++states[row.pin.index()];
    for (const Held& held : rows_.held(i)) ++states[held.state.index()];
  }
  std::uint64_t live = 0;
  std::uint64_t cached = 0;
  std::uint64_t off_grid = 0;
  std::uint64_t lines = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const CheckpointId id{static_cast<std::int32_t>(i)};
    report(states[i] > 0 ? FindingKind::reference_count : FindingKind::unheld_reference, 1, i,
           organization_.references(id), states[i]);
    const bool present = organization_.references(id) > 0 || organization_.cached(id);
    live += present ? 1 : 0;
    lines += present ? organization_.lines(id).size() : 0;
    cached += organization_.cached(id) ? 1U : 0U;
    if (!states_.published(id)) continue;
    report(FindingKind::stale_publication, 1, i, present ? 1 : 0, 1);
    off_grid += states_.end(id) % layout().checkpoint_interval_tokens != 0 ? 1U : 0U;
  }
  report(FindingKind::unit_sum, 1, 0, live_states_, live);
  if (options_.checkpoint_units > 0) report(FindingKind::unit_sum, 1, 0, kept_.size(), cached);
  report(FindingKind::index, 1, 0, off_grid_states_, off_grid);

  // Units: each is free or has one owner; a slab's page is owned by its slots together.
  constexpr std::uint32_t slab_mark = 1U << 30U;
  for (std::uint8_t pool = 0; pool < layout().pools; ++pool) {
    const PoolCounts counts = organization_.counts(pool);
    report(FindingKind::unit_sum, pool, 0,
           std::uint64_t{counts.free} + counts.cached + counts.referenced, counts.units);
    const std::span<std::uint32_t> owners = count(counts.units);
    const auto own = [&](std::int32_t unit) {
      const auto at = static_cast<std::size_t>(unit);
      if (unit >= 0 && at < owners.size()) ++owners[at];
    };
    for (const std::int32_t unit : organization_.page_pool(pool).free_list()) own(unit);
    if (pool == layout().pool_of(StateKind::attention))
      for (std::size_t i = 0; i < organization_.block_capacity(); ++i) {
        const BlockId id{static_cast<std::int32_t>(i)};
        if (organization_.references(id) > 0 || organization_.cached(id))
          for (const std::int32_t unit : organization_.pages(id)) own(unit);
      }
    if (pool == layout().pool_of(StateKind::recurrent))
      for (std::size_t i = 0; i < organization_.checkpoint_capacity(); ++i) {
        const CheckpointId id{static_cast<std::int32_t>(i)};
        if (organization_.references(id) == 0 && !organization_.cached(id)) continue;
        for (const std::int32_t unit : organization_.pages(id)) own(unit);
        if (!layout().has_slabs()) continue;
        const auto* const slabs = organization_.slab_pool();
        for (const std::int32_t line : organization_.lines(id)) {
          const std::size_t page = static_cast<std::uint32_t>(line) / layout().slots_per_slab;
          const bool known = line >= 0 && page < owners.size();
          report(FindingKind::slab, pool, i,
                 known && slabs != nullptr && slabs->owner(LineId{line}) == id.value() ? 1 : 0, 1);
          if (known) owners[page] |= slab_mark;
        }
      }
    for (std::size_t unit = 0; unit < owners.size(); ++unit)
      report(FindingKind::unit_owners, pool, unit,
             (owners[unit] & ~slab_mark) + ((owners[unit] & slab_mark) != 0 ? 1U : 0U), 1);
  }
  if (const auto* const slabs = organization_.slab_pool())
    report(FindingKind::slab, 0, 0, slabs->taken_slots(), lines);

  // Sequences.
  std::uint32_t running = 0;
  std::uint64_t pins = 0;
  for (std::int32_t i = 0; i < rows; ++i) {
    const Row& row = rows_[i];
    pins += row.pin.present() ? 1U : 0U;
    if (row.state != RowState::running) continue;
    ++running;
    if (layout().units_per_block > 0)
      report(FindingKind::position, 0, static_cast<std::size_t>(i),
             row.block_count >= divide_up(row.placed, layout().block_tokens) ? 1 : 0, 1);
    report(FindingKind::position, 1, static_cast<std::size_t>(i),
           row.settled <= row.placed && row.published_blocks <= row.block_count ? 1 : 0, 1);
    Tokens before = 0;
    for (const Held& held : rows_.held(i)) {
      report(FindingKind::held_order, 1, static_cast<std::size_t>(i),
             held.position >= before && held.position <= row.placed ? 1 : 0, 1);
      before = held.position;
    }
  }
  report(FindingKind::position, 1, 0, running_, running);
  report(FindingKind::unit_sum, 1, 0, pinned_units_,
         pins * std::max<std::uint64_t>(layout().units_per_checkpoint(), 1));
  report(FindingKind::index, 0, 0, blocks_.index().audit(), 0);
  report(FindingKind::index, 1, 0, states_.index().audit(), 0);
  const bool few = steps_.in_flight() <= options_.max_steps_in_flight;
  report(FindingKind::step_order, 0, 0, few ? 1 : 0, 1);
  for (std::uint64_t at = steps_.completed() + 1; few && at <= steps_.last(); ++at)
    report(FindingKind::step_order, 0, 0, steps_.at(at).ticket, at);
  for (std::size_t i = 0; i < organization_.block_capacity(); ++i) {
    const BlockId id{static_cast<std::int32_t>(i)};
    if (blocks_.pending(id))
      report(FindingKind::pending_order, 0, i, steps_.contains(blocks_.ticket(id)) ? 1 : 0, 1);
  }
  for (std::size_t i = 0; i < organization_.checkpoint_capacity(); ++i) {
    const CheckpointId id{static_cast<std::int32_t>(i)};
    if (states_.pending(id))
      report(FindingKind::pending_order, 1, i, steps_.contains(states_.ticket(id)) ? 1 : 0, 1);
  }
  return found;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
