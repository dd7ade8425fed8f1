// CacheDriver: a tiny engine over a StateCache. It owns keys, prompts and steps, and simulates the
// memory: every token of every page, every state and every line carries a tag of the history that
// it stands for, so that what a step reads is really what it should have been.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hybridmem/cache/state_cache.hpp"
#include "hybridmem/organization/coarse_pages.hpp"
#include "hybridmem/organization/paged_recurrent.hpp"
#include "hybridmem/organization/slab_packed.hpp"
#include "hybridmem/organization/static_dual_pool.hpp"

namespace hybridmem_test {

using namespace hybridmem;

/// Tokens and stacks of a small layout.
struct Shape {
  Tokens block = 16;
  Tokens interval = 32;
  std::uint32_t stacks = 1;  ///< attention stacks; recurrent stacks are one more where above 1
  std::uint32_t slots_per_slab = 4;
};

/// A small layout of organization `O`: the paper's proportions (three members, one slot).
template <class O>
OrganizationLayout small_layout(const Shape& shape = {}) {
  OrganizationLayout out;
  out.kind = O::kind;
  const std::uint32_t recurrent = shape.stacks == 1 ? 1 : shape.stacks + 1;
  out.block_tokens = shape.block;
  out.checkpoint_interval_tokens = shape.interval;
  out.attention_stacks = out.units_per_block = shape.stacks;
  out.recurrent_stacks = out.lines_per_checkpoint = recurrent;
  out.token_bytes_layer = 16;
  out.unit_bytes = {shape.block * std::uint64_t{16}, shape.block * std::uint64_t{16}};
  out.member_units = recurrent;
  switch (O::kind) {
    case OrganizationKind::coarse_pages:
      break;
    case OrganizationKind::paged_recurrent:
      out.member_units = 3 * recurrent;
      out.conv_units = recurrent;
      break;
    case OrganizationKind::slab_packed:
      out.member_units = 3 * recurrent;
      out.slots_per_checkpoint = recurrent;
      out.slots_per_slab = shape.slots_per_slab;
      break;
    case OrganizationKind::static_dual_pool:
      out.pools = 2;
      break;
  }
  return out;
}

/// Options for `blocks` attention blocks and `states` checkpoints, packed ideally.
inline CacheOptions room_for(const OrganizationLayout& layout, std::uint64_t blocks,
                             std::uint64_t states) {
  CacheOptions options;
  const std::uint64_t attention = blocks * layout.units_per_block;
  const std::uint64_t recurrent =
      states * layout.units_per_checkpoint() + layout.least_slabs(states);
  options.units = {attention, recurrent};
  if (layout.pools == 1) options.units = {attention + recurrent, 0};
  options.max_sequences = 16;
  options.max_sequence_tokens = 4'096;
  options.max_chunk_tokens = 512;
  options.key_tokens = 8;
  return options;
}

/// A request of the engine: what its tokens are, and what the keys of its prefixes are.
class Text {
 public:
  explicit Text(std::uint64_t salt = 1) : salt_(salt) {}
  /// The first `shared` tokens of `other`, then tokens of its own.
  Text(const Text& other, Tokens shared, std::uint64_t salt) : salt_(salt) {
    other.grow(shared);
    tags_.assign(other.tags_.begin(), other.tags_.begin() + shared);
  }

  /// The tag of the first `tokens` tokens; 0 for none.
  std::uint64_t tag(Tokens tokens) const {
    grow(tokens);
    return tokens == 0 ? 0 : tags_[tokens - 1];
  }
  /// The keys of `tokens` tokens.
  std::vector<Key> keys(Tokens tokens, Tokens key_tokens) const {
    std::vector<Key> all;
    for (Tokens at = key_tokens; at <= tokens; at += key_tokens)
      all.push_back({tag(at), tag(at) * 31});
    return all;
  }

 private:
  void grow(Tokens tokens) const {
    while (tags_.size() < tokens) {
      std::uint64_t tag = (tags_.empty() ? 0x1234567 : tags_.back()) * 0x9e3779b97f4a7c15U;
      tag ^= salt_ + 0x632be59bd9b4e019U * (tags_.size() + 1);
      tag = (tag ^ tag >> 29U) * 0xbf58476d1ce4e5b9U;
      tags_.push_back((tag ^ tag >> 32U) | 1U << 8U);
    }
  }

  std::uint64_t salt_;
  mutable std::vector<std::uint64_t> tags_;
};

/// A status that a test may ignore.
class Outcome {
 public:
  Outcome(const Status& status) : error_(status ? Error::none : status.error()) {}
  explicit operator bool() const { return error_ == Error::none; }
  Error error() const { return error_; }

 private:
  Error error_;
};

template <class O, class Events = NoEvents>
class CacheDriver {
 public:
  using Cache = StateCache<O, Events>;

  struct Request {
    Sequence sequence{};
    Text text;
    Tokens prompt = 0;
    Tokens max_tokens = 0;
    std::uint64_t requester = 0;
  };

  CacheDriver(const OrganizationLayout& layout, const CacheOptions& options, Events events = {})
      : cache(layout, options, std::move(events)), late_(options.reuse == Reuse::ticket) {
    for (std::uint8_t pool = 0; pool < layout.pools; ++pool)
      units_[pool].assign(options.units[pool],
                          std::vector<std::uint64_t>(layout.block_tokens, nan));
    lines_.assign((options.units[0] + options.units[1]) * std::max(layout.slots_per_slab, 1U), nan);
  }

  Cache cache;
  Error error = Error::none;  ///< of the newest call that returned a failure
  std::string fault;          ///< the first thing read that was not what it should be

  // Requests.
  Prompt prompt_of(const Request& request, Tokens tokens = 0) {
    if (tokens == 0) tokens = request.prompt;
    keys_ = request.text.keys(tokens, cache.options().key_tokens);
    return {keys_, Key{7, 7}, tokens, std::max(request.max_tokens, tokens), ~0U, request.requester};
  }
  Match match(const Text& text, Tokens tokens) {
    return cache.match(prompt_of(Request{{}, text, tokens, tokens, 0}));
  }
  Admission plan(const Text& text, Tokens tokens, Tokens max_tokens = 0) {
    const Prompt prompt = prompt_of(Request{{}, text, tokens, max_tokens, 0});
    return cache.plan(cache.match(prompt), prompt);
  }
  /// Commits; an invalid handle and `error` when refused.
  Request begin(const Text& text, Tokens tokens, Tokens max_tokens = 0,
                std::uint64_t requester = 0) {
    Request request{{}, text, tokens, std::max(max_tokens, tokens), requester};
    const auto sequence = cache.commit(prompt_of(request));
    error = sequence ? Error::none : sequence.error();
    if (sequence) request.sequence = *sequence;
    if (sequence && !late_ && unlaunched_ == nullptr) look_at(request);
    return request;
  }
  Outcome resume(Request& request, Tokens tokens) {
    request.prompt = tokens;
    return cache.resume(request.sequence, prompt_of(request, tokens));
  }
  Tokens placed(const Request& request) const {
    const auto position = cache.position(request.sequence);
    return position ? position->placed : 0;
  }

  // Steps.
  Ticket open() {
    launch();
    const auto ticket = cache.open_step();
    error = ticket ? Error::none : ticket.error();
    if (ticket) newest_ = *ticket;
    return ticket ? *ticket : Ticket::none;
  }
  /// One chunk; whether it was done.
  bool advance(const Request& request, Tokens tokens) {
    const Chunk chunk{request.sequence, tokens};
    batch = cache.advance({&chunk, 1}, {&advanced, 1});
    error = batch.error;
    if (batch.done == 1) {
      texts_[request.sequence.slot] = request.text;
      from_[request.sequence.slot] = advanced.from;
    }
    return batch.done == 1;
  }
  Advanced advanced{};
  Batch batch{};

  /// Closes the step and takes its tables; `launch` (or the next `open`) lets it run on the stream,
  /// with `Reuse::ticket` it runs when it completes.
  StepWork close() {
    const auto work = cache.close_step();
    if (!work) {
      error = work.error();
      return {};
    }
    record(*work);
    return *work;
  }
  void launch() {
    if (unlaunched_ != nullptr && !late_) run(*unlaunched_);
    unlaunched_ = nullptr;
    poison_free();
  }
  /// Completes the oldest step.
  Outcome complete() {
    launch();
    if (steps_.empty()) return cache.complete(Ticket{0});
    Step& step = steps_.front();
    if (late_) run(step);
    const Status status = cache.complete(step.ticket);
    if (status) steps_.pop_front();
    poison_free();
    return status;
  }
  Outcome drop() {
    const Status status = cache.drop_step(newest_);
    if (!status) return status;
    if (!steps_.empty() && steps_.back().ticket == newest_) steps_.pop_back();
    unlaunched_ = nullptr;
    newest_ = Ticket{static_cast<std::uint64_t>(newest_) - 1};
    return status;
  }
  /// The step and all after it go wrong: whatever they write is garbage.
  std::vector<Sequence> fail(Ticket ticket) {
    std::vector<Sequence> damaged(cache.options().max_sequences);
    for (Step& step : steps_)
      if (step.ticket >= ticket) run(step, true);
    unlaunched_ = nullptr;
    const auto count = cache.fail(ticket, damaged);
    error = count ? Error::none : count.error();
    damaged.resize(count ? *count : 0);
    while (!steps_.empty() && steps_.back().ticket >= ticket) steps_.pop_back();
    poison_free();
    return damaged;
  }
  /// One whole step of one chunk.
  /// The oldest step in flight, the open one included.
  Ticket oldest() const { return steps_.empty() ? newest_ : steps_.front().ticket; }
  bool step(const Request& request, Tokens tokens) {
    open();
    const bool done = advance(request, tokens);
    close();
    while (complete()) {
    }
    return done;
  }
  /// Steps of at most `chunk` tokens up to `to`, publishing after each where asked.
  bool prefill(const Request& request, Tokens to, Tokens chunk = 512, bool publishing = true) {
    while (placed(request) < to) {
      if (!step(request, std::min(chunk, to - placed(request)))) return false;
      if (publishing) publish(request);
    }
    return true;
  }
  Tokens publish(const Request& request, Tokens upto = ~0U) {
    upto = std::min(upto, placed(request));
    const auto reached =
        cache.publish(request.sequence, upto, request.text.keys(upto, cache.options().key_tokens));
    error = reached ? Error::none : reached.error();
    return reached ? *reached : 0;
  }
  Outcome finish(const Request& request, Tokens valid = ~0U) {
    valid = std::min(valid, placed(request));
    const Status status =
        cache.finish(request.sequence, valid, request.text.keys(valid, cache.options().key_tokens));
    poison_free();
    return status;
  }
  /// Prefills, publishes and ends a text of `tokens` tokens.
  bool serve(const Text& text, Tokens tokens, Tokens chunk = 512) {
    const Request request = begin(text, tokens);
    return error == Error::none && prefill(request, tokens, chunk) && finish(request);
  }
  Request fork(const Request& parent, std::uint64_t salt) {
    Request child = parent;
    const auto sequence = cache.fork(parent.sequence);
    error = sequence ? Error::none : sequence.error();
    child.sequence = sequence ? *sequence : Sequence{};
    child.text = Text(parent.text, placed(parent), salt);
    return child;
  }
  Outcome truncate(Request& request, Tokens to, std::uint64_t salt) {
    const Status status = cache.truncate(request.sequence, to);
    if (status) request.text = Text(request.text, to, salt);
    return status;
  }

  // What counts say.
  std::uint64_t used(std::uint8_t pool = 0) const {
    const PoolCounts counts = cache.organization().counts(pool);
    return counts.units - counts.free;
  }
  std::array<PoolCounts, 2> counts() const {
    return {cache.organization().counts(0), cache.organization().counts(1)};
  }
  std::uint64_t referenced() const { return counts()[0].referenced + counts()[1].referenced; }

  /// Checks that the blocks and the state of a sequence hold what they should, with nothing in
  /// flight.
  void look_at(const Request& request) {
    const Tokens depth = placed(request);
    check_attention(request.text, cache.blocks_of(request.sequence), depth, "adopted");
    if (cache.state_of(request.sequence).present())
      check_state(state_place(cache.state_of(request.sequence)), request.text.tag(depth),
                  "adopted");
  }

 private:
  static constexpr std::uint64_t nan = ~std::uint64_t{0};
  static constexpr std::uint64_t garbage = ~std::uint64_t{1};

  struct StatePlace {
    std::vector<std::int32_t> pages;
    std::vector<std::int32_t> lines;
  };
  struct Work {
    Text text;
    Tokens from = 0;
    Tokens to = 0;
    std::vector<std::vector<std::int32_t>> blocks;  // units of each
    std::optional<StatePlace> source;
    std::vector<std::pair<Tokens, StatePlace>> writes;
    std::vector<bool> entering;  // whether each destination is new to the sequence
  };
  struct Step {
    Ticket ticket{};
    std::vector<UnitCopy> copies;
    std::vector<UnitZero> zeros;
    std::vector<Work> work;
    bool ran = false;
  };

  std::uint8_t pool_of(StateKind kind) const { return cache.layout().pool_of(kind); }
  std::vector<std::uint64_t>& unit(StateKind kind, std::int32_t page) {
    return units_[pool_of(kind)][static_cast<std::size_t>(page)];
  }
  StatePlace state_place(CheckpointId id) const {
    const auto pages = cache.organization().pages(id).first(cache.layout().member_units);
    const auto lines = cache.organization().lines(id);
    return {{pages.begin(), pages.end()}, {lines.begin(), lines.end()}};
  }
  void report(const std::string& what) {
    if (fault.empty()) fault = what;
  }

  /// Reads the tables of a closed step through the cache's own fills.
  void record(const StepWork& work) {
    Step step;
    step.ticket = work.ticket;
    step.copies.assign(work.copies.begin(), work.copies.end());
    step.zeros.assign(work.zeros.begin(), work.zeros.end());
    check_disjoint(step);
    std::vector<Sequence> rows;
    for (const StateWrite& write : work.writes)
      if (std::find(rows.begin(), rows.end(), write.sequence) == rows.end())
        rows.push_back(write.sequence);
    for (const Sequence row : rows) step.work.push_back(tables_of(work, row));
    steps_.push_back(std::move(step));
    unlaunched_ = &steps_.back();
    if (late_) poison_entering(steps_.back());
  }
  Work tables_of(const StepWork& work, Sequence row) {
    const OrganizationLayout& layout = cache.layout();
    Work out{texts_[row.slot], 0, 0, {}, {}, {}, {}};
    std::vector<CheckpointId> states;
    for (const StateWrite& write : work.writes) {
      if (write.sequence != row) continue;
      states.push_back(write.state);
      out.to = write.position;
    }
    const std::uint32_t columns = 512;
    const std::uint32_t members = layout.member_units / layout.recurrent_stacks;
    const auto count = static_cast<std::uint32_t>(states.size());
    const std::uint32_t blocks = divide_up(out.to, layout.block_tokens);
    out.blocks.resize(blocks);
    for (std::uint32_t stack = 0; stack < layout.attention_stacks; ++stack) {
      std::vector<std::int32_t> ids(columns, -9);
      const Status filled = cache.fill_blocks(work.ticket, stack, 0, {&row, 1},
                                              TableOut{ids.data(), columns, 1, columns, -1});
      if (!filled) report("fill_blocks refuses");
      for (std::uint32_t i = 0; i < blocks; ++i) out.blocks[i].push_back(ids[i]);
    }
    for (std::uint32_t i = 0; i < count; ++i) out.writes.push_back({0, {}});
    for (std::uint32_t stack = 0; stack < layout.recurrent_stacks; ++stack) {
      std::vector<std::int32_t> source(members, -9);
      std::vector<std::int32_t> target(std::size_t{members} * count, -9);
      std::vector<std::int32_t> source_line(1, -9);
      std::vector<std::int32_t> target_line(count, -9);
      std::vector<std::uint32_t> begin(2);
      std::vector<Tokens> positions(count);
      std::vector<std::uint8_t> fresh(1);
      const Status filled =
          cache.fill_states(work.ticket, stack, {&row, 1},
                            StateTablesOut{{source.data(), members, 1, members, -1},
                                           {target.data(), members, count, members, -1},
                                           source_line,
                                           target_line,
                                           begin,
                                           positions,
                                           fresh});
      if (!filled || begin[1] != count) report("fill_states refuses");
      if (fresh[0] == 0) {
        if (!out.source) out.source = StatePlace{};
        out.source->pages.insert(out.source->pages.end(), source.begin(), source.end());
        out.source->lines.push_back(source_line[0]);
      } else if (source[0] != -1) {
        report("a fresh row has a source");
      }
      for (std::uint32_t i = 0; i < count; ++i) {
        out.writes[i].first = positions[i];
        auto& place = out.writes[i].second;
        place.pages.insert(place.pages.end(), target.begin() + i * members,
                           target.begin() + (i + 1) * members);
        place.lines.push_back(target_line[i]);
      }
    }
    const bool in_place = out.source && out.source->pages == out.writes[0].second.pages &&
                          out.source->lines == out.writes[0].second.lines;
    for (std::uint32_t i = 0; i < count; ++i) out.entering.push_back(i > 0 || !in_place);
    const auto entry = from_.find(row.slot);
    out.from = entry == from_.end() ? 0 : entry->second;
    return out;
  }
  void check_disjoint(const Step& step) {
    std::set<std::int32_t> targets;
    for (const UnitZero& zero : step.zeros)
      if (!targets.insert(zero.id).second) report("zeroed twice in a step");
    for (const UnitCopy& copy : step.copies)
      if (!targets.insert(copy.destination).second) report("a copy onto a zeroed or copied page");
    for (const UnitCopy& copy : step.copies)
      if (targets.count(copy.source) != 0) report("a copy reads what the step writes");
  }
  void poison_entering(Step& step) {
    for (const UnitZero& zero : step.zeros) fill(StateKind::attention, zero.id, nan);
    for (const UnitCopy& copy : step.copies) fill(StateKind::attention, copy.destination, nan);
    for (Work& work : step.work)
      for (std::size_t i = 0; i < work.writes.size(); ++i)
        if (work.entering[i]) write_state(work.writes[i].second, nan);
  }
  void fill(StateKind kind, std::int32_t page, std::uint64_t tag) {
    std::fill(unit(kind, page).begin(), unit(kind, page).end(), tag);
  }
  void write_state(const StatePlace& place, std::uint64_t tag) {
    for (const std::int32_t page : place.pages) fill(StateKind::recurrent, page, tag);
    for (const std::int32_t line : place.lines) lines_[static_cast<std::size_t>(line)] = tag;
  }
  void check_state(const StatePlace& place, std::uint64_t tag, const char* when) {
    for (const std::int32_t page : place.pages)
      for (const std::uint64_t one : unit(StateKind::recurrent, page))
        if (one != tag) return report(std::string("state page of other content, ") + when);
    for (const std::int32_t line : place.lines)
      if (lines_[static_cast<std::size_t>(line)] != tag)
        report(std::string("line of other content, ") + when);
  }
  void check_attention(const Text& text, std::span<const BlockId> blocks, Tokens tokens,
                       const char* when) {
    std::vector<std::vector<std::int32_t>> all;
    for (const BlockId id : blocks) {
      const auto pages = cache.organization().pages(id);
      all.emplace_back(pages.begin(), pages.end());
    }
    check_tokens(text, all, tokens, when);
  }
  void check_tokens(const Text& text, const std::vector<std::vector<std::int32_t>>& blocks,
                    Tokens tokens, const char* when) {
    const Tokens block = cache.layout().block_tokens;
    for (Tokens at = 0; at < tokens; ++at)
      for (const std::int32_t page : blocks[at / block])
        if (unit(StateKind::attention, page)[at % block] != text.tag(at + 1))
          return report(std::string("token of other content, ") + when);
  }

  /// What the device does. A step that goes wrong writes garbage wherever it may write.
  void run(Step& step, bool wrong = false) {
    if (step.ran && !wrong) return;
    step.ran = true;
    if (!late_ && !wrong) poison_entering(step);
    if (!wrong) {
      for (const UnitCopy& copy : step.copies)
        unit(StateKind::attention, copy.destination) = unit(StateKind::attention, copy.source);
      for (const UnitZero& zero : step.zeros) fill(StateKind::attention, zero.id, 0);
      for (const Work& work : step.work) {
        check_tokens(work.text, work.blocks, work.from, "read by a step");
        if (work.source)
          check_state(*work.source, work.text.tag(work.from), "read by a step");
        else if (work.from != 0)
          report("a row that starts from nothing in the middle");
      }
    }
    const Tokens block = cache.layout().block_tokens;
    for (const Work& work : step.work) {
      for (Tokens at = work.from; at < work.to; ++at)
        for (const std::int32_t page : work.blocks[at / block]) {
          std::uint64_t& cell = unit(StateKind::attention, page)[at % block];
          if (cell == nan && !wrong) report("a page that was neither cleared nor copied");
          cell = wrong ? garbage : work.text.tag(at + 1);
        }
      for (const auto& [position, place] : work.writes)
        write_state(place, wrong ? garbage : work.text.tag(position));
    }
    // Two rows that write one page overwrite each other.
    if (!wrong)
      for (const Work& work : step.work) {
        check_tokens(work.text, work.blocks, work.to, "after a step");
        for (const auto& [position, place] : work.writes)
          check_state(place, work.text.tag(position), "after a step");
      }
  }
  /// Free units are anybody's: with a step that has not run, only where tickets guard them.
  void poison_free() {
    if (unlaunched_ != nullptr && !late_) return;
    for (std::uint8_t pool = 0; pool < cache.layout().pools; ++pool)
      for (const std::int32_t page : cache.organization().page_pool(pool).free_list()) {
        const auto at = static_cast<std::size_t>(page);
        std::fill(units_[pool][at].begin(), units_[pool][at].end(), nan);
        if (pool != pool_of(StateKind::recurrent)) continue;
        const std::size_t slots = std::max(cache.layout().slots_per_slab, 1U);
        std::fill_n(lines_.begin() + static_cast<std::ptrdiff_t>(at * slots), slots, nan);
      }
  }

  bool late_;
  std::array<std::vector<std::vector<std::uint64_t>>, 2> units_;
  std::vector<std::uint64_t> lines_;
  std::deque<Step> steps_;
  Step* unlaunched_ = nullptr;
  Ticket newest_{};
  std::map<std::int32_t, Text> texts_;   // of the newest chunk of each slot
  std::map<std::int32_t, Tokens> from_;  // where it starts
  std::vector<Key> keys_;
};

/// A driver over a small layout with room for `blocks` and `states`; `tune` adjusts the options.
template <class O, class Tune>
CacheDriver<O> make_driver(std::uint64_t blocks, std::uint64_t states, Tune&& tune,
                           const Shape& shape = {}) {
  const OrganizationLayout layout = small_layout<O>(shape);
  CacheOptions options = room_for(layout, blocks, states);
  tune(options);
  return CacheDriver<O>(layout, options);
}
template <class O>
CacheDriver<O> make_driver(std::uint64_t blocks, std::uint64_t states, const Shape& shape = {}) {
  return make_driver<O>(
      blocks, states, [](CacheOptions&) {}, shape);
}

/// Lets `filler` grow block by block until `enough()`; false if it is refused first.
template <class Driver, class Enough>
bool squeeze(Driver& driver, const typename Driver::Request& filler, Enough&& enough) {
  while (!enough())
    if (!driver.step(filler, driver.cache.layout().block_tokens)) return false;
  return true;
}

}  // namespace hybridmem_test
