// StateCache, matching and admission: rules L1 to L4.
#pragma once

#include "hybridmem/cache/state_cache.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// Whether a publication made in step `ticket` can be matched (rule L6).
template <MemoryOrganization Organization, class Events>
bool StateCache<Organization, Events>::settled_for_reuse(std::uint64_t ticket) const noexcept {
  return options_.reuse == Reuse::stream ? ticket < steps_.now() : ticket <= steps_.completed();
}

template <MemoryOrganization Organization, class Events>
Key StateCache<Organization, Events>::key_at(const Key& root, std::span<const Key> keys,
                                             Tokens position) const noexcept {
  return position == 0 ? root : keys[position / options_.key_tokens - 1];
}

/// Visits the leading blocks that `accept` allows, at most to `limit` tokens; returns their tokens.
template <MemoryOrganization Organization, class Events>
template <class Accept, class Visit>
Tokens StateCache<Organization, Events>::walk_blocks(const Prompt& prompt, Tokens limit,
                                                     Accept&& accept, Visit&& visit) const {
  const Tokens block = layout().block_tokens;
  const std::uint64_t keyed = std::uint64_t{prompt.keys.size()} * options_.key_tokens;
  Tokens depth = 0;
  while (depth + block <= limit && depth + block <= keyed) {
    const BlockId id =
        blocks_.index().find(key_at(prompt.root, prompt.keys, depth + block),
                             key_at(prompt.root, prompt.keys, depth), epoch_, accept);
    if (!id.present()) break;
    visit(id);
    depth += block;
  }
  return depth;
}

/// The deepest checkpoint at or below `limit` tokens that `accept` allows. Probes the interval
/// grid, and every block boundary only while checkpoints off that grid are published.
template <MemoryOrganization Organization, class Events>
template <class Accept>
auto StateCache<Organization, Events>::deepest_state(const Prompt& prompt, Tokens limit,
                                                     Accept&& accept) const -> Found {
  const Tokens step =
      off_grid_states_ > 0 ? layout().block_tokens : layout().checkpoint_interval_tokens;
  const std::uint64_t keyed = std::uint64_t{prompt.keys.size()} * options_.key_tokens;
  if (states_.index().size() == 0) return {};
  for (Tokens at = static_cast<Tokens>(std::min<std::uint64_t>(limit, keyed)) / step * step; at > 0;
       at -= step) {
    const CheckpointId id = states_.index().find(
        key_at(prompt.root, prompt.keys, at),
        key_at(prompt.root, prompt.keys, at - options_.key_tokens), epoch_, accept);
    if (id.present()) return {id, at};
  }
  return {};
}

template <MemoryOrganization Organization, class Events>
Match StateCache<Organization, Events>::match(const Prompt& prompt) const {
  Match match;
  match.version = version_;
  if (prompt.tokens == 0) return match;
  const Tokens most = prompt.tokens - 1;  // at least one token is left to compute
  const Tokens cap = std::min(most, prompt.match_cap);
  const bool attention = layout().units_per_block > 0;
  const auto now = [this](auto id) { return this->visible(id); };
  const auto none = [](BlockId) {};
  // A whole prompt of full blocks still leaves one token, hence the block that holds it counts in
  // part.
  match.attention_depth =
      attention ? std::min(walk_blocks(prompt, prompt.tokens, now, none), most) : most;
  match.recurrent_depth = deepest_state(prompt, most, now).position;
  const Tokens limit = std::min(match.attention_depth, cap);
  match.joint_depth = match.recurrent_depth <= limit ? match.recurrent_depth
                                                     : deepest_state(prompt, limit, now).position;
  const Tokens grid = layout().checkpoint_interval_tokens;
  const Tokens alone = match.recurrent_depth <= cap ? match.recurrent_depth
                                                    : deepest_state(prompt, cap, now).position;
  if (alone > match.joint_depth)
    match.limited_by = LimitedBy::attention;
  else if (limit / grid * grid > match.joint_depth)
    match.limited_by = LimitedBy::recurrent;

  match.pending_depth = match.joint_depth;
  if (blocks_.pending_count() + states_.pending_count() == 0) return match;
  std::uint64_t newest = 0;
  const auto any = [](auto) { return true; };
  const Tokens reach = attention ? std::min(walk_blocks(prompt, cap, any, none), cap) : cap;
  const Found deeper = deepest_state(prompt, reach, any);
  if (deeper.position <= match.joint_depth) return match;
  walk_blocks(prompt, deeper.position, any,
              [&](BlockId id) { newest = std::max(newest, blocks_.ticket(id)); });
  newest = std::max(newest, states_.ticket(deeper.state));
  match.pending_depth = deeper.position;
  match.pending_until = Ticket{newest};
  return match;
}

/// Boundaries of the interval grid in (from, to].
template <MemoryOrganization Organization, class Events>
Tokens StateCache<Organization, Events>::boundaries_between(Tokens from, Tokens to) const {
  const Tokens grid = layout().checkpoint_interval_tokens;
  return to > from ? to / grid - from / grid : 0;
}

template <MemoryOrganization Organization, class Events>
bool StateCache<Organization, Events>::prompt_fits(const Prompt& prompt) const noexcept {
  return prompt.tokens > 0 && prompt.max_tokens >= prompt.tokens &&
         prompt.max_tokens <= options_.max_sequence_tokens;
}

/// Whether a prompt could run alone to its end in an empty cache.
template <MemoryOrganization Organization, class Events>
bool StateCache<Organization, Events>::servable(const Prompt& prompt) const {
  if (!prompt_fits(prompt)) return false;
  const std::uint64_t states =
      options_.checkpoints_yield ? 1 : 1 + boundaries_between(0, prompt.tokens);
  const std::uint64_t blocks =
      layout().units_per_block == 0 ? 0 : divide_up(prompt.max_tokens, layout().block_tokens);
  return hybridmem::fits(layout(), {blocks, states}, 1, options_.units);
}

template <MemoryOrganization Organization, class Events>
StateDemand StateCache<Organization, Events>::admission_demand(const Prompt& prompt, Tokens depth,
                                                               bool minimal) const {
  StateDemand demand;
  if (layout().units_per_block > 0)
    demand.blocks = divide_up(prompt.tokens, layout().block_tokens) - depth / layout().block_tokens;
  demand.checkpoints = 1;
  if (!options_.checkpoints_yield)
    demand.checkpoints += boundaries_between(depth, prompt.tokens);
  else if (!minimal)
    demand.checkpoints += boundaries_between(
        depth, depth + std::min(prompt.tokens - depth, options_.max_chunk_tokens) - 1);
  return demand;
}

template <MemoryOrganization Organization, class Events>
PoolUnits StateCache<Organization, Events>::headroom() const {
  PoolUnits units{};
  if (running_ == 0) return units;
  for (std::size_t pool = 0; pool < units.size(); ++pool)
    units[pool] =
        static_cast<std::uint64_t>(options_.headroom * static_cast<double>(options_.units[pool]));
  return units;
}

/// The admission that adopts exactly `depth` tokens, where a joint match of that depth exists.
template <MemoryOrganization Organization, class Events>
Admission StateCache<Organization, Events>::plan_at(const Match& match, const Prompt& prompt,
                                                    Tokens depth, bool minimal) const {
  Admission admission;
  admission.match = match;
  admission.match.joint_depth = depth;
  PoolUnits adopted{};
  CheckpointId state;
  if (depth > 0) {
    const auto now = [this](auto id) { return this->visible(id); };
    std::uint64_t& attention = adopted[layout().pool_of(StateKind::attention)];
    walk_blocks(prompt, depth, now, [&](BlockId id) {
      if (organization_.cached(id)) attention += layout().units_per_block;
    });
    state = deepest_state(prompt, depth, now).state;
  }
  const PoolUnits needed =
      organization_.needed(admission_demand(prompt, depth, minimal), adopted, state);
  const PoolUnits clear = headroom();
  admission.verdict = Verdict::ready;
  for (std::uint8_t pool = 0; pool < layout().pools; ++pool) {
    const PoolCounts counts = organization_.counts(pool);
    const std::uint64_t available = std::uint64_t{counts.free} + counts.cached;
    const std::uint64_t wanted = needed[pool] + clear[pool];
    if (wanted <= available) continue;
    admission.verdict = Verdict::wait_units;
    admission.pool = pool;
    admission.units_needed = needed[pool];
    admission.units_short = wanted - available;
    break;
  }
  if (admission.verdict == Verdict::ready) admission.units_needed = needed[admission.pool];
  return admission;
}

template <MemoryOrganization Organization, class Events>
Admission StateCache<Organization, Events>::plan(const Match& given, const Prompt& prompt) const {
  const Match match = given.version == version_ ? given : this->match(prompt);
  if (!servable(prompt)) {
    Admission admission;
    admission.verdict = Verdict::unservable;
    admission.match = match;
    return admission;
  }
  Admission admission = plan_at(match, prompt, match.joint_depth, false);
  if (admission.verdict == Verdict::ready) return admission;
  if (running_ == 0) {
    // Alone, it must come to run: with fewer saved boundaries, then without what it could adopt.
    for (const Tokens depth : {match.joint_depth, Tokens{0}}) {
      for (const bool minimal : {false, true}) {
        const Admission smaller = plan_at(match, prompt, depth, minimal);
        if (smaller.verdict == Verdict::ready) return smaller;
      }
    }
    // Only pins hold units now: commit drops them, oldest first, until it fits.
    if (pinned_units_ > 0 && closing_.empty()) {
      admission.verdict = Verdict::ready;
      admission.match.joint_depth = 0;
      return admission;
    }
  }
  admission.wait_for = coming(admission.pool, admission.units_short, -1);
  // Alone it is ready at the latest when no ended sequence holds anything.
  if (running_ == 0 && !closing_.empty() && admission.wait_for == Ticket::none)
    admission.wait_for = coming_last();
  if (admission.wait_for != Ticket::none) admission.verdict = Verdict::wait_ticket;
  return admission;
}

/// Adopts `depth` tokens for `row`. Precondition: planned so, nothing changed since.
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::admit(std::int32_t index, const Prompt& prompt,
                                             Tokens depth) {
  Row& row = rows_[index];
  row.state = RowState::running;
  row.damaged = false;
  row.epoch = epoch_;
  row.requester = prompt.requester;
  row.root = prompt.root;
  row.prompt_tokens = prompt.tokens;
  row.max_tokens = prompt.max_tokens;
  row.placed = row.settled = row.published_state = depth;
  ++running_;
  forget_recent(index);
  if (depth > 0) {
    const auto now = [this](auto id) { return this->visible(id); };
    walk_blocks(prompt, depth, now, [&](BlockId id) {
      organization_.reference(id);
      rows_.all_blocks(index)[row.block_count++] = id;
      if (blocks_.pending(id)) row.depends_on = std::max(row.depends_on, blocks_.ticket(id));
    });
    row.published_blocks = row.block_count;
    const Found found = deepest_state(prompt, depth, now);
    reference_state(found.state);
    row.current = found.state;
    if (states_.pending(found.state))
      row.depends_on = std::max(row.depends_on, states_.ticket(found.state));
    remember(index, found.state, depth);
  }
  row.clean_blocks = row.block_count;
  if (options_.reserve_prompt) {
    const StateDemand demand = admission_demand(prompt, depth, true);
    row.spare = take_state({demand.blocks, 0});
    take_blocks(index, demand.blocks);
  }
  emit({.requester = prompt.requester,
        .object = row.slot,
        .epoch = epoch_,
        .begin = 0,
        .end = depth,
        .kind = EventKind::admitted});
}

/// Plans until the prompt fits as it is, dropping pins where nothing else holds units.
template <MemoryOrganization Organization, class Events>
Result<Admission> StateCache<Organization, Events>::settle_admission(const Prompt& prompt) {
  if (prompt.tokens == 0 || prompt.max_tokens < prompt.tokens) return Error::bad_argument;
  for (;;) {
    const Admission admission = plan(match(prompt), prompt);
    if (admission.verdict == Verdict::unservable) return Error::capacity;
    if (admission.verdict != Verdict::ready) return Error::shortfall;
    if (admission.units_short == 0) return admission;
    if (!drop_oldest_pin()) return Error::shortfall;
  }
}

template <MemoryOrganization Organization, class Events>
Result<Sequence> StateCache<Organization, Events>::commit(const Prompt& prompt) {
  if (!rows_.slot_free()) return Error::capacity;
  const Result<Admission> admission = settle_admission(prompt);
  if (!admission) return admission.error();
  const Match& found = admission->match;
  const std::int32_t row = rows_.open();
  admit(row, prompt, found.joint_depth);
  ++counters_.commits;
  counters_.adopted_tokens += found.joint_depth;
  counters_.hits += found.joint_depth > 0 ? 1 : 0;
  counters_.limited_by_attention += found.limited_by == LimitedBy::attention ? 1 : 0;
  counters_.limited_by_recurrent += found.limited_by == LimitedBy::recurrent ? 1 : 0;
  note_demand(prompt);
  changed(1, static_cast<std::uint64_t>(rows_[row].slot) << 32U | found.joint_depth);
  return rows_.handle(row);
}

template <MemoryOrganization Organization, class Events>
Status StateCache<Organization, Events>::resume(Sequence sequence, const Prompt& prompt) {
  const std::int32_t row = rows_.find(sequence);
  if (row < 0) return Error::stale_handle;
  if (rows_[row].state != RowState::preempted) return Error::wrong_state;
  const Result<Admission> admission = settle_admission(prompt);
  if (!admission) return admission.error();
  const Tokens depth = admission->match.joint_depth;
  admit(row, prompt, depth);
  drop_pin(row, false);
  ++counters_.resumes;
  counters_.resumed_tokens += depth;
  changed(2, static_cast<std::uint64_t>(rows_[row].slot) << 32U | depth);
  return Ok::ok;
}

/// Counts the requester for every boundary of its prompt (rule L4).
template <MemoryOrganization Organization, class Events>
void StateCache<Organization, Events>::note_demand(const Prompt& prompt) {
  if (options_.retention == 0 && options_.preemption_pinning == 0) return;
  const Tokens grid = layout().checkpoint_interval_tokens;
  const std::uint64_t keyed = std::uint64_t{prompt.keys.size()} * options_.key_tokens;
  for (Tokens at = grid; at <= prompt.tokens && at <= keyed; at += grid)
    demand_.note(key_at(prompt.root, prompt.keys, at), prompt.requester);
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
