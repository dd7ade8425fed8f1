// CacheModel: a StateCache as the rules L1 to L15 state it, over a CacheLedger. It knows nothing of
// how the real one is made and predicts the outcome of every call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "support/cache_model_state.hpp"

namespace hybridmem_test {

/// Slow on purpose: maps, scans, and whole copies to go back to.
class CacheModel : public CacheModelState {
 public:
  using CacheModelState::CacheModelState;

  const CacheLedger& ledger() const { return ledger_; }
  CacheLedger& ledger() { return ledger_; }
  const std::map<std::int32_t, Line>& lines() const { return lines_; }
  const std::deque<Step>& steps() const { return steps_; }
  std::size_t closing() const { return closing_.size(); }
  const Counters& counters() const { return counters_; }
  hybridmem::Epoch epoch() const { return epoch_; }
  std::uint64_t last() const { return last_; }
  std::uint64_t completed() const { return completed_; }
  bool step_open() const { return open(); }

  const Line* find(Sequence sequence) const {
    const auto found = lines_.find(sequence.slot);
    return found == lines_.end() || found->second.handle != sequence ? nullptr : &found->second;
  }

  // --- Matching and admission (L1 to L4)

  hybridmem::Match match(const hybridmem::Prompt& prompt) const {
    hybridmem::Match match;
    if (prompt.tokens == 0) return match;
    const Tokens most = prompt.tokens - 1;
    const Tokens cap = std::min(most, prompt.match_cap);
    const auto now = [&](const CacheLedger::Entry& entry) { return passed(entry.step); };
    const auto any = [](const CacheLedger::Entry&) { return true; };
    match.attention_depth =
        layout_.units_per_block > 0
            ? std::min<Tokens>(most, whole_tokens(blocks_of(prompt, prompt.tokens, now)))
            : most;
    match.recurrent_depth = state_of(prompt, most, now).second;
    const Tokens reach = std::min(match.attention_depth, cap);
    match.joint_depth = state_of(prompt, reach, now).second;
    if (state_of(prompt, cap, now).second > match.joint_depth)
      match.limited_by = hybridmem::LimitedBy::attention;
    else if (reach / grid() > match.joint_depth / grid())
      match.limited_by = hybridmem::LimitedBy::recurrent;
    match.pending_depth = match.joint_depth;
    const Tokens later = layout_.units_per_block > 0
                             ? std::min<Tokens>(cap, whole_tokens(blocks_of(prompt, cap, any)))
                             : cap;
    const auto [state, depth] = state_of(prompt, later, any);
    if (depth <= match.joint_depth) return match;
    std::uint64_t newest = ledger_.states.at(state).step;
    for (const std::int32_t id : blocks_of(prompt, depth, any))
      newest = std::max(newest, ledger_.blocks.at(id).step);
    match.pending_depth = depth;
    match.pending_until = hybridmem::Ticket{newest};
    return match;
  }

  hybridmem::Admission plan(const hybridmem::Prompt& prompt) const {
    const hybridmem::Match match = this->match(prompt);
    hybridmem::Admission admission;
    admission.match = match;
    if (!servable(prompt)) {
      admission.verdict = hybridmem::Verdict::unservable;
      return admission;
    }
    admission = plan_at(match, prompt, match.joint_depth, false);
    if (admission.verdict == hybridmem::Verdict::ready) return admission;
    if (running() == 0) {
      // Alone it must come to run: saving less, then adopting nothing, then without pins.
      for (const Tokens depth : {match.joint_depth, Tokens{0}})
        for (const bool minimal : {false, true}) {
          const hybridmem::Admission smaller = plan_at(match, prompt, depth, minimal);
          if (smaller.verdict == hybridmem::Verdict::ready) return smaller;
        }
      if (oldest_pin() != nullptr && closing_.empty()) {
        admission.verdict = hybridmem::Verdict::ready;
        admission.match.joint_depth = 0;
        return admission;
      }
    }
    admission.wait_for = coming(admission.pool, admission.units_short, nullptr);
    if (running() == 0 && !closing_.empty() && admission.wait_for == hybridmem::Ticket::none) {
      std::uint64_t last = 0;
      for (const Holdings& own : closing_) last = std::max(last, own.fence);
      admission.wait_for = hybridmem::Ticket{completing(last)};
    }
    if (admission.wait_for != hybridmem::Ticket::none)
      admission.verdict = hybridmem::Verdict::wait_ticket;
    return admission;
  }

  std::pair<Error, Sequence> commit(const hybridmem::Prompt& prompt) {
    if (free_slots_.empty() || rows_left() == 0) return {Error::capacity, {}};
    hybridmem::Admission admission;
    if (const Error error = settle_admission(prompt, admission); error != Error::none)
      return {error, {}};
    Line& line = open_line();
    admit(line, prompt, admission.match.joint_depth);
    ++counters_.commits;
    counters_.adopted_tokens += admission.match.joint_depth;
    counters_.hits += admission.match.joint_depth > 0 ? 1 : 0;
    counters_.limited_by_attention +=
        admission.match.limited_by == hybridmem::LimitedBy::attention ? 1 : 0;
    counters_.limited_by_recurrent +=
        admission.match.limited_by == hybridmem::LimitedBy::recurrent ? 1 : 0;
    if (options_.retention > 0 || options_.preemption_pinning > 0)
      for (Tokens at = grid(); at <= prompt.tokens && at <= keyed(prompt); at += grid())
        note_demand(key_at(prompt.root, prompt.keys, at), prompt.requester);
    return {Error::none, line.handle};
  }

  Error resume(Sequence sequence, const hybridmem::Prompt& prompt) {
    Line* const line = line_of(sequence);
    if (line == nullptr) return Error::stale_handle;
    if (line->running) return Error::wrong_state;
    hybridmem::Admission admission;
    if (const Error error = settle_admission(prompt, admission); error != Error::none) return error;
    admit(*line, prompt, admission.match.joint_depth);
    drop_pin(*line, false);
    ++counters_.resumes;
    counters_.resumed_tokens += admission.match.joint_depth;
    return Error::none;
  }

  // --- Steps (L5 to L10)

  std::pair<Error, std::uint64_t> open_step() {
    if (open()) return {Error::wrong_state, 0};
    if (steps_.size() == options_.max_steps_in_flight) return {Error::ticket_order, 0};
    steps_.push_back({});
    steps_.back().ticket = ++last_;
    release_closing();
    return {Error::none, last_};
  }

  Tokens next_stop(Sequence sequence, Tokens want) const {
    const Line* const line = find(sequence);
    if (line == nullptr) return 0;
    want = std::min({want, options_.max_chunk_tokens, options_.max_sequence_tokens - line->placed});
    for (Tokens at = line->placed + 1; at < line->placed + want; ++at)
      if (boundary(*line, at) && !writable(line->placed, at)) return at - line->placed;
    return want;
  }

  hybridmem::Batch advance(std::span<const hybridmem::Chunk> chunks,
                           std::span<hybridmem::Advanced> results) {
    hybridmem::Batch batch;
    if (!open()) {
      batch.error = Error::no_step;
      return batch;
    }
    for (; batch.done < chunks.size(); ++batch.done) {
      batch.error = advance_one(chunks[batch.done], results[batch.done], batch);
      if (batch.error != Error::none) break;
    }
    return batch;
  }

  Error close_step() {
    if (!open()) return Error::no_step;
    steps_.back().closed = true;
    release_closing();
    return Error::none;
  }

  Error complete(std::uint64_t ticket) {
    if (steps_.empty() || ticket != steps_.front().ticket || !steps_.front().closed ||
        steps_.front().failed)
      return Error::ticket_order;
    for (const Work& work : steps_.front().work)
      if (Line* const line = line_of(work.sequence); line != nullptr && !work.withdrawn)
        line->settled = std::max(line->settled, work.to);
    do {
      ledger_.settle(steps_.front().ticket);
      completed_ = steps_.front().ticket;
      steps_.pop_front();
    } while (!steps_.empty() && steps_.front().failed);
    release_closing();
    return Error::none;
  }

  Error drop_step(std::uint64_t ticket) {
    if (steps_.empty() || ticket != last_ || steps_.back().ticket != ticket || steps_.back().failed)
      return Error::ticket_order;
    Step& step = steps_.back();
    for (auto work = step.work.rbegin(); work != step.work.rend(); ++work)
      if (!work->withdrawn && line_of(work->sequence) != nullptr) undo(*work);
    ledger_.revoke(ticket);
    recount_published();
    damage_from(ticket);
    for (auto& [slot, line] : lines_) {
      line.last_ticket = std::min(line.last_ticket, ticket - 1);
      line.lent_ticket = std::min(line.lent_ticket, ticket - 1);
    }
    for (Holdings& own : closing_) own.fence = std::min(own.fence, ticket - 1);
    for (auto child = step.forks.rbegin(); child != step.forks.rend(); ++child)
      if (Line* const line = line_of(*child); line != nullptr) end_line(*line);
    steps_.pop_back();
    --last_;
    release_closing();
    return Error::none;
  }

  /// The sequences that are damaged now, by slot.
  std::pair<Error, std::vector<Sequence>> fail(std::uint64_t ticket) {
    if (steps_.empty() || ticket < steps_.front().ticket || ticket > last_ ||
        step_of(ticket).failed)
      return {Error::ticket_order, {}};
    for (std::uint64_t at = last_; at >= ticket; --at) {
      step_of(at).closed = step_of(at).failed = true;
      ledger_.revoke(at);
    }
    recount_published();
    const std::vector<Sequence> damaged = damage_from(ticket);
    if (ticket == steps_.front().ticket) {
      completed_ = last_;
      steps_.clear();
    }
    release_closing();
    return {Error::none, damaged};
  }

  // --- Publishing and ends (L11 to L14)

  std::pair<Error, Tokens> publish(Sequence sequence, Tokens upto, std::span<const Key> keys) {
    Line* const line = line_of(sequence);
    if (line == nullptr) return {Error::stale_handle, 0};
    const Tokens clamped = std::min(upto, line->placed);
    if (const Error error = publish_error(*line, clamped, keys); error != Error::none)
      return {error, 0};
    publish_all(*line, clamped, keys, false);
    return {Error::none, clamped};
  }

  Error finish(Sequence sequence, Tokens valid, std::span<const Key> keys) {
    Line* const line = line_of(sequence);
    if (line == nullptr) return Error::stale_handle;
    const Work* const work = open_work(*line);
    const Tokens upto = std::min(valid, work == nullptr ? line->placed : work->from);
    const bool publishes = line->running && !line->damaged && line->epoch == epoch_;
    if (publishes) {
      const Error error = publish_error(*line, upto, keys);
      if (error != Error::none && error != Error::position_mismatch) return error;
    }
    withdraw(*line);
    leave_forks(*line);
    if (publishes) publish_all(*line, upto, keys, line->placed <= valid);
    end_line(*line);
    return Error::none;
  }

  Error abort(Sequence sequence) {
    Line* const line = line_of(sequence);
    if (line == nullptr) return Error::stale_handle;
    withdraw(*line);
    leave_forks(*line);
    end_line(*line);
    return Error::none;
  }

  Error preempt(Sequence sequence) {
    Line* const line = line_of(sequence);
    if (line == nullptr) return Error::stale_handle;
    if (!line->running) return Error::wrong_state;
    if (rows_left() == 0 && !passed(fence(*line))) return Error::capacity;
    withdraw(*line);
    leave_forks(*line);
    if (!line->damaged && line->epoch == epoch_) pin_rightmost(*line);
    if (retire(*line)) {
      closing_.back().row = take_row();
      line->own = nothing(line->own.row);
    }
    leave_steps(*line);
    line->running = line->damaged = false;
    line->placed = line->settled = line->published_state = line->published_blocks = 0;
    line->depends_on = line->lent_ticket = line->current_ticket = 0;
    ++counters_.preemptions;
    return Error::none;
  }

  std::pair<Error, Sequence> fork(Sequence sequence) {
    Line* const parent = line_of(sequence);
    if (parent == nullptr) return {Error::stale_handle, {}};
    if (!open() || !parent->running || open_work(*parent) != nullptr)
      return {Error::wrong_state, {}};
    if (parent->damaged) return {Error::damaged, {}};
    if (free_slots_.empty() || rows_left() == 0 ||
        steps_.back().forks.size() == options_.max_sequences)
      return {Error::capacity, {}};
    const Tokens whole = layout_.units_per_block > 0 ? parent->placed / layout_.block_tokens : 0;
    const bool tail = layout_.units_per_block > 0 && parent->placed % layout_.block_tokens != 0;
    const bool lends = parent->own.current >= 0 && needs_spare(*parent);
    if (!fits({tail ? 1U : 0U, lends ? 1U : 0U})) return {Error::shortfall, {}};
    if (lends) parent->own.spare = ledger_.take_state({tail ? 1U : 0U, 0});
    const std::int32_t slot = free_slots_.back();
    Line& child = open_line();
    const Sequence handle = child.handle;
    const std::int32_t row = child.own.row;
    child = *parent;
    child.handle = handle;
    child.own.row = row;
    child.own.held.clear();
    child.own.spare = -1;
    child.own.blocks.resize(whole);
    child.published_blocks = std::min(parent->published_blocks, whole);
    child.depends_on = std::max(parent->depends_on, parent->last_ticket);
    child.lent_ticket = 0;
    child.pin = -1;
    child.recent.clear();
    for (const std::int32_t id : child.own.blocks) ledger_.units.reference_block(id);
    if (child.own.current >= 0) ledger_.units.reference_checkpoint(child.own.current);
    steps_.back().forks.push_back(handle);
    if (tail) {
      child.own.blocks.push_back(ledger_.take_block());
      parent->lent_ticket = child.lent_ticket = child.depends_on = last_;
    }
    return {Error::none, lines_.at(slot).handle};
  }

  Error truncate(Sequence sequence, Tokens to) {
    Line* const line = line_of(sequence);
    if (line == nullptr) return Error::stale_handle;
    if (!line->running || open_work(*line) != nullptr) return Error::wrong_state;
    if (to == line->placed && !line->damaged) return Error::none;
    if (!can_restart(*line, to)) return Error::no_state;
    if (!passed(fence(*line))) return Error::ticket_order;
    const std::size_t blocks =
        layout_.units_per_block == 0 ? 0 : hybridmem::divide_up(to, layout_.block_tokens);
    while (line->own.blocks.size() > blocks) {
      ledger_.release_block(line->own.blocks.back());
      line->own.blocks.pop_back();
    }
    if (blocks > 0 && to % layout_.block_tokens != 0)
      if (const std::int32_t id = line->own.blocks.back(); ledger_.blocks.contains(id))
        ledger_.forget_block(id, hybridmem::LossCause::overwritten);
    if (line->own.current >= 0) ledger_.release_state(line->own.current);
    line->own.current = -1;
    line->current_ticket = 0;
    for (std::size_t i = line->own.held.size(); i-- > 0;) {
      const Held held = line->own.held[i];
      if (held.position < to) continue;
      line->own.held.erase(line->own.held.begin() + static_cast<std::ptrdiff_t>(i));
      if (held.position == to && line->own.current < 0) {
        line->own.current = held.state;
        line->current_ticket = held.saved;
      } else {
        ledger_.release_state(held.state);
      }
    }
    line->placed = to;
    line->settled = std::min(line->settled, to);
    line->published_blocks = std::min(line->published_blocks, to / layout_.block_tokens);
    line->published_state = std::min(line->published_state, to);
    line->damaged = false;
    if (to == 0) line->depends_on = 0;
    leave_steps(*line);
    return Error::none;
  }

  Tokens restart_at_or_below(Sequence sequence, Tokens at) const {
    const Line* const line = find(sequence);
    if (line == nullptr || !line->running) return 0;
    if (!line->damaged && line->placed <= at) return line->placed;
    for (Tokens to = std::min(at, line->placed); to > 0; --to)
      if (can_restart(*line, to)) return to;
    return 0;
  }

  void advance_epoch() {
    ++epoch_;
    while (drop_oldest_pin()) {
    }
  }

  void clear() {
    while (drop_oldest_pin()) {
    }
    ledger_.clear();
    for (Step& step : steps_)
      for (Work& work : step.work) work.overwritten.reset();
    recount_published();
  }

  Error reset() {
    if (!steps_.empty()) return Error::wrong_state;
    std::vector<std::uint32_t> generations = generations_;
    for (const auto& [slot, line] : lines_) ++generations[static_cast<std::size_t>(slot)];
    const hybridmem::Epoch epoch = epoch_ + 1;
    *this = CacheModel(layout_, options_, sizes_);
    generations_ = std::move(generations);
    epoch_ = epoch;
    return Error::none;
  }

  hybridmem::PoolUnits releasable(Sequence sequence) const {
    const Line* const line = find(sequence);
    return line == nullptr ? hybridmem::PoolUnits{} : releasable_units(line->own);
  }

  /// The first number of copies that does not fit, less one.
  std::uint64_t capacity(Tokens length, Tokens sharing) const {
    if (length == 0 || length > options_.max_sequence_tokens) return 0;
    const std::uint64_t whole = hybridmem::divide_up(length, layout_.block_tokens);
    const std::uint64_t shared =
        std::min(sharing, length - 1) / grid() * grid() / layout_.block_tokens;
    std::uint64_t copies = 0;
    while (copies < options_.max_sequences &&
           stored(shared + (copies + 1) * (whole - shared), copies + 1))
      ++copies;
    return copies;
  }

  std::uint32_t running() const { return running_lines(); }
  std::uint64_t pinned() const { return pinned_lines(); }

 private:
  /// Plans until the prompt fits as it is, dropping pins where nothing else holds units.
  Error settle_admission(const hybridmem::Prompt& prompt, hybridmem::Admission& admission) {
    if (prompt.tokens == 0 || prompt.max_tokens < prompt.tokens) return Error::bad_argument;
    for (;;) {
      admission = plan(prompt);
      if (admission.verdict == hybridmem::Verdict::unservable) return Error::capacity;
      if (admission.verdict != hybridmem::Verdict::ready) return Error::shortfall;
      if (admission.units_short == 0) return Error::none;
      drop_oldest_pin();
    }
  }

  /// What a chunk asks for, decided for who shares the running state now.
  struct Need {
    bool must_depart = false;
    bool leaves = false;
    std::vector<Tokens> inside;  ///< boundaries where a state can be written
    std::uint32_t skipped = 0;   ///< boundaries where none can
    std::uint32_t least = 0;
    std::uint32_t room = 0;
    bool full = false;
    hybridmem::StateDemand demand;
  };

  Need need_of(const Line& line, Tokens to) const {
    Need need;
    const Tokens from = line.placed;
    for (Tokens at = from + 1; at < to; ++at) {
      if (!boundary(line, at)) continue;
      if (writable(from, at))
        need.inside.push_back(at);
      else
        ++need.skipped;
    }
    const auto& states = ledger_.units.checkpoints();
    const bool fresh = line.own.current < 0;
    need.must_depart = fresh || states.at(line.own.current).references > 1;
    need.leaves = !fresh && (boundary(line, from) || ledger_.states.contains(line.own.current));
    if (layout_.units_per_block > 0) {
      const std::size_t whole = hybridmem::divide_up(to, layout_.block_tokens);
      need.demand.blocks =
          static_cast<std::uint32_t>(whole - std::min(whole, line.own.blocks.size()));
    }
    const std::uint32_t one = line.own.spare >= 0 ? 0 : 1;  // a spare is had already
    const auto count = static_cast<std::uint32_t>(need.inside.size());
    const std::uint32_t base = need.must_depart ? one : 0;
    const bool required = !options_.checkpoints_yield && from < line.prompt_tokens;
    need.least = base + (required ? count + (need.leaves && !need.must_depart ? one : 0) : 0);
    const auto kept = static_cast<std::uint32_t>(
        std::count_if(line.own.held.begin(), line.own.held.end(),
                      [&](const Held& held) { return !ledger_.cached_state(held.state); }));
    const auto leaving = static_cast<std::uint32_t>(line.own.held.size()) - kept;
    need.full = !fresh && need.must_depart && kept == sizes_.held;
    need.room = sizes_.held - kept + one;
    need.room -= std::min(need.room, fresh ? 0U : 1U);
    std::uint32_t most = (need.must_depart || need.leaves ? one : 0) + count;
    most = std::min({most, need.room, base + std::min(count + 1, budget_room(leaving))});
    need.demand.checkpoints = std::max(need.least, most);
    while (need.demand.checkpoints > need.least && !fits(need.demand)) --need.demand.checkpoints;
    return need;
  }

  Error advance_one(const hybridmem::Chunk& chunk, hybridmem::Advanced& result,
                    hybridmem::Batch& batch) {
    Line* const found = line_of(chunk.sequence);
    if (found == nullptr) return Error::stale_handle;
    Line& line = *found;
    if (!line.running) return Error::wrong_state;
    if (line.damaged) return Error::damaged;
    if (open_work(line) != nullptr) return Error::wrong_state;
    if (chunk.tokens == 0) return Error::bad_argument;
    if (chunk.tokens > options_.max_chunk_tokens ||
        chunk.tokens > options_.max_sequence_tokens - line.placed)
      return Error::capacity;
    const Step& step = steps_.back();
    if (step.work.size() == options_.max_sequences) return Error::capacity;
    const Tokens to = line.placed + chunk.tokens;

    // Checkpoints behind the sequence go; if it is refused, they never went.
    const CacheLedger before = ledger_;
    std::map<Line*, std::vector<std::int32_t>> going;
    const auto gone = [&](Line& owner, const Held& held) {
      const auto& states = going[&owner];
      return std::find(states.begin(), states.end(), held.state) != states.end();
    };
    const auto let_go = [&](Line& owner, const Held& held) {
      if (gone(owner, held)) return;
      ledger_.units.release_checkpoint(held.state, true);
      going[&owner].push_back(held.state);
    };
    const auto unused = [&](const Held& held) {
      return options_.reuse == hybridmem::Reuse::stream || held.used <= completed_;
    };
    for (const Held& held : line.own.held)
      if (done_with(line, held) && !retained(held)) let_go(line, held);
    Need need = need_of(line, to);
    if (need.full || need.demand.checkpoints > need.room ||
        step.segments + need.demand.checkpoints + 1 > sizes_.step_segments) {
      ledger_ = before;
      return Error::capacity;
    }
    // Short of units, what it retains goes, then what it may do without, oldest first (rule L13);
    // then what other sequences may do without (rule L8).
    for (const bool done_only : {true, false})
      for (const Held& held : line.own.held)
        if (!fits(need.demand) &&
            (done_with(line, held) || (!done_only && options_.checkpoints_yield && unused(held))))
          let_go(line, held);
    for (auto& [slot, other] : lines_)
      for (const Held& held : other.own.held) {
        const bool done = done_with(other, held);
        if (&other == &line || other.damaged || held.used == last_ || fits(need.demand)) continue;
        if (done ? !retained(held) : options_.checkpoints_yield && unused(held))
          let_go(other, held);
      }
    if (!fits(need.demand) && running() == 1) {
      // Pins go, oldest first, if that is enough. A state that only pins share need not be left.
      const CacheLedger pinned = ledger_;
      for (const auto& [slot, other] : lines_)
        if (other.pin >= 0) ledger_.units.release_checkpoint(other.pin, true);
      if (pinned_lines() > 0) need = need_of(line, to);
      const bool enough = fits(need.demand);
      ledger_ = pinned;
      if (enough) do {
          drop_oldest_pin();
          need = need_of(line, to);
        } while (!fits(need.demand));
    }
    if (!fits(need.demand)) {
      ledger_ = before;
      available(ledger_.units.needed(need.demand, {}, -1), {}, batch.pool, batch.units_short);
      batch.wait_for = coming(batch.pool, batch.units_short, &line);
      ++counters_.refusals;
      return Error::shortfall;
    }
    const auto part = [&](Line& owner) {
      std::vector<Held> kept;
      for (const Held& held : owner.own.held) {
        if (gone(owner, held))
          ledger_.settle_released(held.state);
        else
          kept.push_back(held);
      }
      owner.own.held = kept;
    };
    part(line);
    for (auto& [slot, other] : lines_) part(other);
    for (const Held& held : line.own.held) counters_.retained += done_with(line, held) ? 1U : 0U;
    result = place(line, to, need);
    return Error::none;
  }

  hybridmem::Advanced place(Line& line, Tokens to, const Need& need) {
    Step& step = steps_.back();
    const Tokens from = line.placed;
    Work work{line.handle, last_, false, line, from, to, {}, {}};
    const bool fresh = line.own.current < 0;
    const bool spare = line.own.spare >= 0;
    const bool departs =
        need.must_depart || (need.leaves && (spare || need.demand.checkpoints > 0));
    const auto count = static_cast<std::uint32_t>(need.inside.size());
    const std::uint32_t wanted = need.demand.checkpoints - (departs && !spare ? 1 : 0);
    keep_budget(wanted + (departs && !fresh ? 1 : 0));
    if (!departs && ledger_.states.contains(line.own.current)) {
      work.overwritten = ledger_.states.at(line.own.current);
      ledger_.forget_state(line.own.current, hybridmem::LossCause::overwritten);
    }
    // Without member pages only one state is promised; further ones are saved while they fit.
    const bool promised = layout_.units_per_checkpoint() > 0;
    hybridmem::StateDemand rest = need.demand;
    const auto next = [&] {
      --rest.checkpoints;
      return ledger_.take_state(promised ? rest : hybridmem::StateDemand{rest.blocks, 0});
    };
    std::int32_t destination = line.own.current;
    bool taken = departs;
    if (departs) {
      destination = spare ? std::exchange(line.own.spare, -1) : next();
      if (!fresh) line.own.held.push_back({line.own.current, from, line.current_ticket, last_});
    }
    // Short of units the deepest boundaries are kept.
    std::uint32_t inside = 0;
    for (const Tokens at : std::span(need.inside).last(wanted)) {
      if (!promised && !fits({rest.blocks, 1})) break;
      ++inside;
      work.states.emplace_back(destination, taken);
      line.own.held.push_back({destination, at, last_, last_});
      destination = next();
      taken = true;
    }
    work.states.emplace_back(destination, taken);
    for (std::uint32_t i = 0; i < need.demand.blocks; ++i)
      line.own.blocks.push_back(ledger_.take_block());
    line.own.current = destination;
    line.current_ticket = line.last_ticket = last_;
    line.placed = to;
    const std::uint32_t saved = inside + (departs && need.leaves ? 1 : 0);
    const std::uint32_t skipped = need.skipped + count - inside + (need.leaves && !departs ? 1 : 0);
    ++counters_.advances;
    counters_.saved += inside + (boundary(line, to) ? 1 : 0);
    counters_.skipped += skipped;
    step.segments += work.states.size();
    step.work.push_back(std::move(work));
    return {from, to, static_cast<std::uint16_t>(saved), static_cast<std::uint16_t>(skipped)};
  }

  // --- The budget of checkpoints: what exists besides one running state for each sequence

  std::uint64_t budget_most() const {
    return options_.checkpoint_units / std::max(layout_.units_per_checkpoint(), 1U);
  }
  std::uint64_t saved_states() const {
    const std::uint64_t all = ledger_.units.checkpoints().size();
    return all - std::min<std::uint64_t>(all, running());
  }
  std::uint32_t budget_room(std::uint32_t leaving) const {
    if (options_.checkpoint_units == 0) return ~0U;
    const std::uint64_t fixed =
        saved_states() - std::min<std::uint64_t>(saved_states(), ledger_.kept.size() + leaving);
    return static_cast<std::uint32_t>(budget_most() - std::min(budget_most(), fixed));
  }
  void keep_budget(std::uint32_t more) {
    if (options_.checkpoint_units == 0) return;
    while (!ledger_.kept.empty() && saved_states() + more > budget_most())
      ledger_.evict_oldest_kept();
  }
};

}  // namespace hybridmem_test
