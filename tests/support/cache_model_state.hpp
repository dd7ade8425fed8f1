// CacheModelState: what a CacheModel knows, and the rules that its calls share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hybridmem/cache/cache_types.hpp"
#include "hybridmem/core/arithmetic.hpp"
#include "support/cache_ledger.hpp"

namespace hybridmem_test {

/// How much the cache's tables hold: sizes that the rules leave open.
struct CacheModelSizes {
  std::uint32_t held = 0;           ///< checkpoints of one sequence besides its running state
  std::uint32_t step_segments = 0;  ///< states that one step can write
  std::uint32_t demand_keys = 0;
};

class CacheModelState {
 public:
  using Tokens = hybridmem::Tokens;
  using Error = hybridmem::Error;
  using Key = hybridmem::Key;
  using Sequence = hybridmem::Sequence;

  struct Held {
    std::int32_t state = -1;
    Tokens position = 0;
    std::uint64_t saved = 0;  ///< the step that wrote it; 0: adopted
    std::uint64_t used = 0;   ///< the last step that read or wrote it
  };

  /// What a sequence holds, or an ended one until its last step no longer touches it.
  struct Holdings {
    std::vector<std::int32_t> blocks;
    std::int32_t current = -1;  ///< the running state
    std::int32_t spare = -1;    ///< the next destination, where a prompt is reserved
    std::vector<Held> held;
    std::uint64_t fence = 0;  ///< of an ended one: the newest step that touches it
    std::int32_t row = -1;    ///< its place in the order in which damage is dealt with
  };

  struct Recent {
    std::int32_t state = -1;
    Tokens position = 0;
    Key key;
  };

  struct Line {
    Sequence handle;
    bool running = false;  ///< otherwise preempted
    bool damaged = false;
    hybridmem::Epoch epoch = 0;
    std::uint64_t requester = 0;
    Key root;
    Tokens prompt_tokens = 0;
    Tokens placed = 0;
    Tokens settled = 0;
    Tokens published_state = 0;  ///< the deepest boundary it adopted or published
    std::uint32_t published_blocks = 0;
    Holdings own;
    std::uint64_t current_ticket = 0;  ///< the step that wrote the running state; 0: adopted
    std::uint64_t last_ticket = 0;     ///< the newest step that touches it
    std::uint64_t lent_ticket = 0;     ///< the newest step that copies from or to its last block
    std::uint64_t depends_on = 0;      ///< the newest step in flight that it began with
    std::int32_t pin = -1;
    std::uint64_t pin_order = 0;
    std::deque<Recent> recent;  ///< checkpoints it adopted or published, at most 16
  };

  /// A chunk in a step, and the sequence as it was before.
  struct Work {
    Sequence sequence;
    std::uint64_t ticket = 0;
    bool withdrawn = false;
    Line before;
    Tokens from = 0;
    Tokens to = 0;
    std::vector<std::pair<std::int32_t, bool>> states;  ///< written, and whether taken for it
    std::optional<CacheLedger::Entry> overwritten;      ///< what the state was published as
  };

  struct Step {
    std::uint64_t ticket = 0;
    bool closed = false;
    bool failed = false;
    std::vector<Work> work;
    std::size_t segments = 0;
    std::vector<Sequence> forks;
  };

  struct Counters {
    std::uint64_t commits = 0, resumes = 0, hits = 0, adopted_tokens = 0, resumed_tokens = 0;
    std::uint64_t limited_by_attention = 0, limited_by_recurrent = 0, advances = 0, refusals = 0;
    std::uint64_t preemptions = 0, saved = 0, skipped = 0, retained = 0, pins = 0, pins_dropped = 0;
  };

  CacheModelState(const hybridmem::OrganizationLayout& layout,
                  const hybridmem::CacheOptions& options, const CacheModelSizes& sizes)
      : layout_(layout), options_(options), sizes_(sizes), ledger_(layout, options) {
    for (std::uint32_t i = options.max_sequences; i-- > 0;)
      free_slots_.push_back(static_cast<std::int32_t>(i));
    for (std::uint32_t i = 2 * options.max_sequences; i-- > 0;)
      free_rows_.push_back(static_cast<std::int32_t>(i));
    generations_.resize(options.max_sequences);
  }

 protected:
  // --- What can be found

  bool open() const { return !steps_.empty() && !steps_.back().closed; }
  std::uint64_t now() const { return open() ? last_ : last_ + 1; }
  /// Rule L6: what a step did counts from the next step on, or from its completion on.
  bool passed(std::uint64_t step) const {
    return options_.reuse == hybridmem::Reuse::stream ? step < now() : step <= completed_;
  }
  Tokens grid() const { return layout_.checkpoint_interval_tokens; }
  std::uint64_t keyed(const hybridmem::Prompt& prompt) const {
    return std::uint64_t{prompt.keys.size()} * options_.key_tokens;
  }
  Key key_at(const Key& root, std::span<const Key> keys, Tokens position) const {
    return position == 0 ? root : keys[position / options_.key_tokens - 1];
  }
  Tokens whole_tokens(const std::vector<std::int32_t>& blocks) const {
    return static_cast<Tokens>(blocks.size()) * layout_.block_tokens;
  }

  /// The leading whole blocks of a prompt, at most `limit` tokens.
  template <class Accept>
  std::vector<std::int32_t> blocks_of(const hybridmem::Prompt& prompt, Tokens limit,
                                      Accept&& accept) const {
    std::vector<std::int32_t> ids;
    const Tokens block = layout_.block_tokens;
    for (Tokens at = block; at <= limit && at <= keyed(prompt); at += block) {
      const std::int32_t id =
          ledger_.find(ledger_.blocks, key_at(prompt.root, prompt.keys, at),
                       key_at(prompt.root, prompt.keys, at - block), epoch_, accept);
      if (id < 0) break;
      ids.push_back(id);
    }
    return ids;
  }

  /// The deepest checkpoint of a prompt at or below `limit`, and where it is; -1 and 0 for none.
  template <class Accept>
  std::pair<std::int32_t, Tokens> state_of(const hybridmem::Prompt& prompt, Tokens limit,
                                           Accept&& accept) const {
    const Tokens key = options_.key_tokens;
    for (Tokens at = limit / key * key; at > 0; at -= key) {
      if (at > keyed(prompt)) continue;
      const std::int32_t id =
          ledger_.find(ledger_.states, key_at(prompt.root, prompt.keys, at),
                       key_at(prompt.root, prompt.keys, at - key), epoch_, accept);
      if (id >= 0) return {id, at};
    }
    return {-1, 0};
  }

  // --- Units

  bool available(const hybridmem::PoolUnits& needed, const hybridmem::PoolUnits& clear,
                 std::uint8_t& pool, std::uint64_t& missing) const {
    for (std::uint8_t i = 0; i < layout_.pools; ++i) {
      if (needed[i] + clear[i] <= ledger_.units.available(i)) continue;
      pool = i;
      missing = needed[i] + clear[i] - ledger_.units.available(i);
      return false;
    }
    return true;
  }
  bool fits(const hybridmem::StateDemand& demand) const {
    std::uint8_t pool = 0;
    std::uint64_t missing = 0;
    return available(ledger_.units.needed(demand, {}, -1), {}, pool, missing);
  }

  /// Whether an empty cache stores so many blocks and checkpoints (the closed forms).
  bool stored(std::uint64_t blocks, std::uint64_t states) const {
    const std::uint64_t attention = blocks * layout_.units_per_block;
    const std::uint64_t recurrent =
        states * layout_.units_per_checkpoint() + layout_.least_slabs(states);
    return layout_.pools == 2 ? attention <= options_.units[0] && recurrent <= options_.units[1]
                              : attention + recurrent <= options_.units[0];
  }

  hybridmem::PoolUnits releasable_units(const Holdings& own) const {
    hybridmem::PoolUnits units{};
    const auto add = [&](const auto& objects, std::int32_t id, std::size_t pool) {
      if (id >= 0 && objects.at(id).references == 1) units[pool] += objects.at(id).pages.size();
    };
    const std::size_t recurrent = layout_.pools == 2 ? 1 : 0;
    for (const std::int32_t id : own.blocks) add(ledger_.units.blocks(), id, 0);
    add(ledger_.units.checkpoints(), own.current, recurrent);
    add(ledger_.units.checkpoints(), own.spare, recurrent);
    for (const Held& held : own.held) add(ledger_.units.checkpoints(), held.state, recurrent);
    return units;
  }

  /// The first step with whose end so many units come that only ended sequences hold, or that a
  /// line (null: none) could let go but for that step.
  hybridmem::Ticket coming(std::uint8_t pool, std::uint64_t missing, const Line* line) const {
    std::map<std::uint64_t, std::uint64_t> by_step;
    for (const Holdings& own : closing_) by_step[own.fence] += releasable_units(own)[pool];
    if (line != nullptr && pool + 1 == layout_.pools)
      for (const Held& held : line->own.held)
        if (held.used > completed_ && ledger_.units.checkpoints().at(held.state).references == 1 &&
            (options_.checkpoints_yield || ledger_.states.contains(held.state)))
          by_step[held.used] += layout_.units_per_checkpoint();
    std::uint64_t sum = 0;
    for (const auto& [step, units] : by_step)
      if ((sum += units) >= missing) return hybridmem::Ticket{completing(step)};
    return hybridmem::Ticket::none;
  }
  /// A failed step ends with the newest one before it that did not.
  std::uint64_t completing(std::uint64_t step) const {
    while (step > completed_ + 1 && steps_[step - completed_ - 1].failed) --step;
    return step;
  }

  // --- Admission

  bool servable(const hybridmem::Prompt& prompt) const {
    if (prompt.tokens == 0 || prompt.max_tokens < prompt.tokens ||
        prompt.max_tokens > options_.max_sequence_tokens)
      return false;
    const std::uint64_t blocks = hybridmem::divide_up(prompt.max_tokens, layout_.block_tokens);
    return stored(blocks, 1 + (options_.checkpoints_yield ? 0 : prompt.tokens / grid()));
  }

  hybridmem::Admission plan_at(const hybridmem::Match& match, const hybridmem::Prompt& prompt,
                               Tokens depth, bool minimal) const {
    const auto visible = [&](const CacheLedger::Entry& entry) { return passed(entry.step); };
    hybridmem::StateDemand demand{0, 1};
    if (layout_.units_per_block > 0)
      demand.blocks =
          hybridmem::divide_up(prompt.tokens, layout_.block_tokens) - depth / layout_.block_tokens;
    const Tokens chunk_end = std::min(prompt.tokens, depth + options_.max_chunk_tokens);
    if (!options_.checkpoints_yield)
      demand.checkpoints += prompt.tokens / grid() - depth / grid();
    else if (!minimal)
      demand.checkpoints += (chunk_end - 1) / grid() - depth / grid();
    std::vector<std::int32_t> adopted;
    std::int32_t state = -1;
    if (depth > 0) {
      if (layout_.units_per_block > 0) adopted = blocks_of(prompt, depth, visible);
      state = state_of(prompt, depth, visible).first;
    }
    hybridmem::PoolUnits clear{};
    if (running_lines() > 0)
      for (std::size_t i = 0; i < clear.size(); ++i)
        clear[i] =
            static_cast<std::uint64_t>(options_.headroom * static_cast<double>(options_.units[i]));
    const hybridmem::PoolUnits needed = ledger_.units.needed(demand, adopted, state);
    hybridmem::Admission admission;
    admission.match = match;
    admission.match.joint_depth = depth;
    admission.verdict = available(needed, clear, admission.pool, admission.units_short)
                            ? hybridmem::Verdict::ready
                            : hybridmem::Verdict::wait_units;
    admission.units_needed = needed[admission.pool];
    return admission;
  }

  Line& open_line() {
    const std::int32_t slot = free_slots_.back();
    free_slots_.pop_back();
    Line& line = lines_[slot];
    line = Line{};
    line.handle = {slot, generations_[static_cast<std::size_t>(slot)]};
    line.running = true;
    line.own.row = take_row();
    return line;
  }
  static Holdings nothing(std::int32_t row) {
    Holdings own;
    own.row = row;
    return own;
  }
  std::int32_t take_row() {
    const std::int32_t row = free_rows_.back();
    free_rows_.pop_back();
    return row;
  }

  void admit(Line& line, const hybridmem::Prompt& prompt, Tokens depth) {
    line.running = true;
    line.damaged = false;
    line.epoch = epoch_;
    line.requester = prompt.requester;
    line.root = prompt.root;
    line.prompt_tokens = prompt.tokens;
    line.placed = line.settled = line.published_state = depth;
    const auto visible = [&](const CacheLedger::Entry& entry) { return passed(entry.step); };
    const auto depend = [&](const CacheLedger::Entry& entry) {
      if (entry.pending) line.depends_on = std::max(line.depends_on, entry.step);
    };
    line.recent.clear();
    if (depth > 0) {
      if (layout_.units_per_block > 0) line.own.blocks = blocks_of(prompt, depth, visible);
      for (const std::int32_t id : line.own.blocks) {
        ledger_.units.reference_block(id);
        depend(ledger_.blocks.at(id));
      }
      line.own.current = state_of(prompt, depth, visible).first;
      ledger_.reference_state(line.own.current);
      depend(ledger_.states.at(line.own.current));
      remember(line, line.own.current, depth);
    }
    line.published_blocks = static_cast<std::uint32_t>(line.own.blocks.size());
    if (!options_.reserve_prompt) return;
    const std::uint32_t whole = layout_.units_per_block == 0
                                    ? 0
                                    : hybridmem::divide_up(prompt.tokens, layout_.block_tokens);
    line.own.spare = ledger_.take_state({whole - line.published_blocks, 0});
    while (line.own.blocks.size() < whole) line.own.blocks.push_back(ledger_.take_block());
  }

  std::uint32_t demand_for(const Key& key) const {
    const auto found = demand_.find(key);
    return found == demand_.end() ? 0 : static_cast<std::uint32_t>(found->second.size());
  }
  void note_demand(const Key& key, std::uint64_t requester) {
    if (!demand_.contains(key)) {
      if (demand_order_.size() == sizes_.demand_keys) {
        demand_.erase(demand_order_.front());
        demand_order_.pop_front();
      }
      demand_order_.push_back(key);
    }
    std::vector<std::uint64_t>& known = demand_[key];
    if (known.size() < std::max(options_.retention, options_.preemption_pinning) &&
        std::find(known.begin(), known.end(), requester) == known.end())
      known.push_back(requester);
  }

  // --- Boundaries

  bool boundary(const Line& line, Tokens position) const {
    if (position == 0) return false;
    const Tokens block = layout_.block_tokens;
    return position % grid() == 0 ||
           (options_.prompt_anchors && (position == (line.prompt_tokens - 1) / block * block ||
                                        position == line.prompt_tokens / block * block));
  }
  bool writable(Tokens from, Tokens position) const {
    const Tokens quantum = std::max<Tokens>(options_.kernel_chunk_tokens, 1);
    return options_.interior == hybridmem::Interior::on_grid ||
           (options_.interior == hybridmem::Interior::from_chunk_start &&
            (position - from) % quantum == 0);
  }

  // --- Releasing

  bool done_with(const Line& line, const Held& held) const {
    if (held.position >= hybridmem::round_up(line.placed, grid())) return false;
    if (options_.reuse == hybridmem::Reuse::ticket && held.used > completed_) return false;
    const bool key_may_come = !ledger_.states.contains(held.state) && held.saved != 0 &&
                              boundary(line, held.position) && line.epoch == epoch_ &&
                              now() <= held.saved + options_.max_steps_in_flight;
    return !key_may_come;
  }
  bool retained(const Held& held) const {
    return options_.retention > 0 && held.saved != 0 && ledger_.states.contains(held.state) &&
           ledger_.states.at(held.state).epoch == epoch_ &&
           demand_for(ledger_.states.at(held.state).key) >= options_.retention;
  }

  /// Blocks deepest first, then checkpoints deepest first (rule P7).
  void release_all(Holdings& own) {
    for (std::size_t i = own.blocks.size(); i-- > 0;) ledger_.release_block(own.blocks[i]);
    if (own.spare >= 0) ledger_.release_state(own.spare);
    if (own.current >= 0) ledger_.release_state(own.current);
    for (std::size_t i = own.held.size(); i-- > 0;) ledger_.release_state(own.held[i].state);
    own = nothing(own.row);
  }
  std::uint64_t fence(const Line& line) const {
    return std::max(line.last_ticket, line.lent_ticket);
  }
  /// Lets go of what a sequence holds, now or once no step touches it any more. False if now.
  bool retire(Line& line) {
    line.own.fence = fence(line);
    if (!passed(line.own.fence)) {
      closing_.push_back(line.own);
      return true;
    }
    release_all(line.own);
    return false;
  }
  void end_line(Line& line) {
    drop_pin(line, false);
    if (!retire(line)) free_rows_.push_back(line.own.row);
    const std::int32_t slot = line.handle.slot;
    ++generations_[static_cast<std::size_t>(slot)];
    free_slots_.push_back(slot);
    lines_.erase(slot);
  }
  void release_closing() {
    for (auto own = closing_.begin(); own != closing_.end();) {
      if (!passed(own->fence)) {
        ++own;
        continue;
      }
      release_all(*own);
      free_rows_.push_back(own->row);
      own = closing_.erase(own);
    }
  }

  // --- Pins

  void remember(Line& line, std::int32_t state, Tokens position) {
    line.recent.push_back({state, position, ledger_.states.at(state).key});
    if (line.recent.size() > 16) line.recent.pop_front();
  }
  std::uint64_t pin_units() const {
    return std::max<std::uint64_t>(layout_.units_per_checkpoint(), 1);
  }
  std::uint64_t pinned_lines() const {
    return static_cast<std::uint64_t>(std::count_if(
        lines_.begin(), lines_.end(), [](const auto& line) { return line.second.pin >= 0; }));
  }
  void pin_rightmost(Line& line) {
    if (options_.preemption_pinning == 0) return;
    const Recent* best = nullptr;
    for (const Recent& one : line.recent) {
      const auto entry = ledger_.states.find(one.state);
      if (entry == ledger_.states.end() || entry->second.key != one.key) continue;
      if (demand_for(one.key) < options_.preemption_pinning) continue;
      if (best == nullptr || one.position > best->position) best = &one;
    }
    if (best == nullptr ||
        (options_.pinned_units != 0 && (pinned_lines() + 1) * pin_units() > options_.pinned_units))
      return;
    line.pin = best->state;
    line.pin_order = ++pin_clock_;
    ledger_.reference_state(line.pin);
    ++counters_.pins;
  }
  void drop_pin(Line& line, bool for_units) {
    if (line.pin < 0) return;
    ledger_.release_state(line.pin);
    line.pin = -1;
    counters_.pins_dropped += for_units ? 1 : 0;
  }
  const Line* oldest_pin() const {
    const Line* oldest = nullptr;
    for (const auto& [slot, line] : lines_)
      if (line.pin >= 0 && (oldest == nullptr || line.pin_order < oldest->pin_order))
        oldest = &line;
    return oldest;
  }
  bool drop_oldest_pin() {
    const Line* const oldest = oldest_pin();
    if (oldest == nullptr) return false;
    drop_pin(lines_.at(oldest->handle.slot), true);
    return true;
  }

  // --- Publishing

  Error publish_error(const Line& line, Tokens upto, std::span<const Key> keys) const {
    if (!line.running) return Error::wrong_state;
    if (line.damaged) return Error::damaged;
    if (line.epoch != epoch_) return Error::old_epoch;
    if (keys.size() < upto / options_.key_tokens) return Error::keys_short;
    const bool held = std::any_of(line.own.held.begin(), line.own.held.end(),
                                  [&](const Held& one) { return one.position == upto; });
    if (boundary(line, upto) && upto < line.placed && upto > line.published_state && !held)
      return Error::position_mismatch;
    return Error::none;
  }
  CacheLedger::Entry entry_at(const Line& line, std::span<const Key> keys, Tokens end,
                              Tokens width) const {
    return {.key = key_at(line.root, keys, end),
            .parent = key_at(line.root, keys, end - width),
            .epoch = epoch_,
            .end = end,
            .step = last_,
            .pending = last_ > completed_};
  }
  void publish_state(Line& line, std::int32_t state, Tokens position, std::span<const Key> keys) {
    if (ledger_.states.contains(state)) return;
    ledger_.publish(ledger_.states, state, entry_at(line, keys, position, options_.key_tokens));
    line.published_state = std::max(line.published_state, position);
    remember(line, state, position);
  }
  void publish_all(Line& line, Tokens upto, std::span<const Key> keys, bool tail) {
    const Tokens block = layout_.block_tokens;
    if (layout_.units_per_block > 0)
      for (; (line.published_blocks + 1) * block <= upto; ++line.published_blocks) {
        const std::int32_t id = line.own.blocks.at(line.published_blocks);
        if (!ledger_.blocks.contains(id))
          ledger_.publish(ledger_.blocks, id,
                          entry_at(line, keys, (line.published_blocks + 1) * block, block));
      }
    for (const Held& held : line.own.held)
      if (held.position <= upto && boundary(line, held.position))
        publish_state(line, held.state, held.position, keys);
    const bool kept_tail = tail && options_.keep_tail && line.placed % block == 0;
    if (line.own.current >= 0 && line.placed <= upto && line.placed > 0 &&
        (boundary(line, line.placed) || kept_tail) &&
        (ledger_.states.contains(line.own.current) || may_lend(line)))
      publish_state(line, line.own.current, line.placed, keys);
  }
  /// While its prompt is reserved a sequence shows its state to others only with a spare one.
  bool needs_spare(const Line& line) const {
    return options_.reserve_prompt && line.placed < line.prompt_tokens && line.own.spare < 0;
  }
  bool may_lend(Line& line) {
    if (!needs_spare(line)) return true;
    if (!fits({0, 1})) return false;
    line.own.spare = ledger_.take_state({});
    return true;
  }
  void recount_published() {
    for (auto& [slot, line] : lines_)
      while (line.published_blocks > 0 &&
             !ledger_.blocks.contains(line.own.blocks[line.published_blocks - 1]))
        --line.published_blocks;
  }

  // --- Steps

  Step& step_of(std::uint64_t ticket) { return steps_[ticket - steps_.front().ticket]; }
  Line* line_of(Sequence sequence) {
    const auto found = lines_.find(sequence.slot);
    return found == lines_.end() || found->second.handle != sequence ? nullptr : &found->second;
  }
  Work* open_work(const Line& line) {
    if (!open()) return nullptr;
    for (Work& work : steps_.back().work)
      if (work.sequence == line.handle && !work.withdrawn) return &work;
    return nullptr;
  }
  void withdraw(Line& line) {
    if (Work* const work = open_work(line)) undo(*work);
  }
  void leave_steps(const Line& line) {
    for (Step& step : steps_)
      for (Work& work : step.work)
        if (work.sequence == line.handle) work.withdrawn = true;
  }

  /// The sequence is where it was before a chunk; what the chunk would have written is forgotten.
  void undo(Work& work) {
    work.withdrawn = true;
    Line& line = *line_of(work.sequence);
    const auto unwritten = hybridmem::LossCause::unwritten;
    while (line.own.blocks.size() > work.before.own.blocks.size()) {
      const std::int32_t id = line.own.blocks.back();
      line.own.blocks.pop_back();
      if (ledger_.blocks.contains(id)) ledger_.forget_block(id, unwritten);
      ledger_.release_block(id);
    }
    for (std::uint32_t i = 0; i < line.own.blocks.size() && i < line.published_blocks; ++i) {
      const auto entry = ledger_.blocks.find(line.own.blocks[i]);
      if (entry != ledger_.blocks.end() && entry->second.end > work.from)
        ledger_.forget_block(entry->first, unwritten);
    }
    // A later step, undone before this one, may have let go of what this one wrote or began from.
    const Holdings had = line.own;
    const auto holds = [&](std::int32_t state) {
      return state == had.current || state == had.spare ||
             std::any_of(had.held.begin(), had.held.end(),
                         [&](const Held& held) { return held.state == state; });
    };
    for (auto one = work.states.rbegin(); one != work.states.rend(); ++one) {
      if (!holds(one->first)) continue;
      if (ledger_.states.contains(one->first)) ledger_.forget_state(one->first, unwritten);
      if (one->second && one->first != work.before.own.spare) ledger_.release_state(one->first);
    }
    if (line.own.spare >= 0 && line.own.spare != work.before.own.spare)
      ledger_.release_state(line.own.spare);
    line.own.spare = holds(work.before.own.spare) ? work.before.own.spare : -1;
    line.published_blocks = std::min(line.published_blocks, work.from / layout_.block_tokens);
    line.published_state = std::min(line.published_state, work.before.published_state);
    std::erase_if(line.own.held, [&](const Held& held) { return held.used == work.ticket; });
    line.own.current = holds(work.before.own.current) ? work.before.own.current : -1;
    if (line.own.current != work.before.own.current) line.damaged = true;
    line.current_ticket = work.before.current_ticket;
    line.placed = work.from;
    line.last_ticket = work.before.last_ticket;
    if (work.overwritten && line.epoch == epoch_) {
      work.overwritten->pending = work.overwritten->step > completed_;
      ledger_.publish(ledger_.states, line.own.current, *work.overwritten, true);
    }
  }
  /// A sequence that turned or ended is no fork of a step any more.
  void leave_forks(Line& line) {
    for (Step& step : steps_)
      for (Sequence& child : step.forks)
        if (child == line.handle) {
          child = {};
          if (!step.closed) line.lent_ticket = 0;
        }
  }

  /// What steps from `ticket` on wrote, or published for others to adopt, does not exist.
  std::vector<Sequence> damage_from(std::uint64_t ticket) {
    std::vector<Sequence> damaged;
    std::map<std::int32_t, Line*> by_row;
    for (auto& [slot, line] : lines_) by_row[line.own.row] = &line;
    for (const auto& [row, one] : by_row) {
      Line& line = *one;
      const bool adopted_void = line.depends_on >= ticket;
      if (!line.running || (!adopted_void && line.current_ticket < ticket)) continue;
      if (!line.damaged) damaged.push_back(line.handle);
      line.damaged = true;
      for (std::size_t i = line.own.held.size(); i-- > 0;) {
        const Held held = line.own.held[i];
        if (held.saved < ticket && !adopted_void) continue;
        line.own.held.erase(line.own.held.begin() + static_cast<std::ptrdiff_t>(i));
        ledger_.release_state(held.state);
      }
    }
    return damaged;
  }

  /// A state is held at `to`, and going on from there writes into no block of another.
  bool can_restart(const Line& line, Tokens to) const {
    if (to == 0) return true;
    if (to > line.placed) return false;
    if (std::none_of(line.own.held.begin(), line.own.held.end(),
                     [&](const Held& held) { return held.position == to; }))
      return false;
    if (layout_.units_per_block == 0 || to % layout_.block_tokens == 0) return true;
    const std::int32_t block = line.own.blocks.at(to / layout_.block_tokens);
    return ledger_.units.blocks().at(block).references == 1;
  }

  std::uint32_t running_lines() const {
    return static_cast<std::uint32_t>(std::count_if(
        lines_.begin(), lines_.end(), [](const auto& line) { return line.second.running; }));
  }
  std::size_t rows_left() const { return free_rows_.size(); }

  hybridmem::OrganizationLayout layout_;
  hybridmem::CacheOptions options_;
  CacheModelSizes sizes_;
  CacheLedger ledger_;
  std::map<std::int32_t, Line> lines_;  ///< by slot
  std::vector<Holdings> closing_;       ///< of ended sequences, ended longest ago first
  std::deque<Step> steps_;              ///< in flight
  std::vector<std::int32_t> free_slots_;
  std::vector<std::int32_t> free_rows_;
  std::vector<std::uint32_t> generations_;
  std::map<Key, std::vector<std::uint64_t>> demand_;
  std::deque<Key> demand_order_;
  std::uint64_t last_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t pin_clock_ = 0;
  hybridmem::Epoch epoch_ = 1;
  Counters counters_;
};

}  // namespace hybridmem_test
