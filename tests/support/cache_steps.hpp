// Random or given choices drive a StateCache, its model and the memory it hands out side by side;
// any difference throws. One body for the tests and for libFuzzer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hybridmem/cache/state_cache.hpp"
#include "support/cache_memory.hpp"
#include "support/cache_model.hpp"
#include "support/cache_replica.hpp"
#include "support/cache_worlds.hpp"

namespace hybridmem_test {

/// Keeps the losses of one call, and a replica up to date.
struct StepSink {
  static constexpr bool enabled = true;
  std::vector<CacheLedger::Loss>* losses = nullptr;
  CacheReplica* replica = nullptr;

  void operator()(const hybridmem::Event& event) const {
    replica->apply(event);
    if (event.kind != hybridmem::EventKind::lost) return;
    losses->push_back({event.object_kind == hybridmem::EventObject::attention_block,
                       {event.key_high, event.key_low},
                       event.end,
                       event.cause});
  }
};

template <class O>
class CacheSteps {
 public:
  using Cache = hybridmem::StateCache<O, StepSink>;
  using Tokens = hybridmem::Tokens;
  using Sequence = hybridmem::Sequence;
  using Error = hybridmem::Error;

  explicit CacheSteps(Choices& choices)
      : choices_(choices),
        world_(any_cache_world(O::kind, choices)),
        texts_(world_.options),
        replica_({world_.layout.block_tokens, world_.layout.checkpoint_interval_tokens,
                  world_.options.key_tokens, world_.layout.units_per_block > 0,
                  world_.options.reuse == hybridmem::Reuse::stream}),
        real_(world_.layout, world_.options, StepSink{&losses_, &replica_}),
        model_(world_.layout, world_.options, sizes()),
        memory_(world_.layout) {
    pressure_ = choices.below(4);
  }

  /// One call and all comparisons.
  void step() {
    try {
      losses_.clear();
      model_.ledger().losses.clear();
      operate();
      compare();
    } catch (const std::exception& error) {
      fail(error.what());
    } catch (const hybridmem::ContractViolation& violation) {
      fail(violation.message);
    }
    ++steps_;
  }

  const Cache& cache() const { return real_; }

 private:
  struct Client {
    Sequence handle;
    std::vector<std::uint32_t> text;
    hybridmem::Key root;
    std::vector<hybridmem::Key> keys;
    hybridmem::Prompt prompt;
  };

  CacheModelSizes sizes() const {
    const auto& o = world_.options;
    const std::uint64_t recurrent = o.units[world_.layout.pools == 2 ? 1 : 0];
    const std::uint64_t own = world_.layout.units_per_checkpoint();
    const std::uint64_t ids =
        own > 0 ? recurrent / own
                : recurrent * world_.layout.slots_per_slab / world_.layout.slots_per_checkpoint;
    return {hybridmem::detail::held_states(world_.layout, o),
            o.max_sequences * hybridmem::detail::chunk_states(world_.layout, o),
            static_cast<std::uint32_t>(std::max<std::uint64_t>(1'024, 4 * ids))};
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(describe(world_) + ", call " + std::to_string(steps_) + " (" +
                             operation_ + "): " + what);
  }
  static void expect(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(what);
  }
  static void same(std::uint64_t real, std::uint64_t model, const char* what) {
    if (real != model)
      throw std::runtime_error(std::string(what) + ": " + std::to_string(real) +
                               ", the model says " + std::to_string(model));
  }
  static void same(Error real, Error model, const char* what) {
    if (real != model)
      throw std::runtime_error(std::string(what) + ": " + name_of(real) + ", the model says " +
                               name_of(model));
  }
  template <class T>
  static Error error_of(const hybridmem::Result<T>& result) {
    return result ? Error::none : result.error();
  }

  // --- Who calls

  Client* pick() {
    if (clients_.empty()) return nullptr;
    return &clients_[choices_.below(static_cast<std::uint32_t>(clients_.size()))];
  }
  /// A client's handle, or now and then one that is stale or of nobody.
  Sequence pick_handle() {
    if (choices_.once_in(24)) return stale_;
    if (choices_.once_in(64)) return {static_cast<std::int32_t>(choices_.below(40)) - 4, 0};
    const Client* const client = pick();
    return client == nullptr ? stale_ : client->handle;
  }
  Client* client_of(Sequence handle) {
    for (Client& client : clients_)
      if (client.handle == handle) return &client;
    return nullptr;
  }
  void gone(Sequence handle) {
    stale_ = handle;
    std::erase_if(clients_, [&](const Client& client) { return client.handle == handle; });
  }

  void new_text(Client& client) {
    client.text = texts_.any_text(choices_);
    client.root = texts_.any_root(choices_);
    set_prompt(client);
  }
  void set_prompt(Client& client) {
    const auto& o = world_.options;
    const auto longest = static_cast<std::uint32_t>(client.text.size());
    client.keys = texts_.keys_of(client.root, client.text);
    client.prompt = {};
    client.prompt.root = client.root;
    client.prompt.requester = choices_.below(4);
    client.prompt.tokens = 1 + choices_.below(o.max_sequence_tokens);
    if (choices_.once_in(2)) client.prompt.tokens = std::max(client.prompt.tokens / 4, 1U);
    client.prompt.max_tokens =
        std::min(client.prompt.tokens + choices_.below(o.max_sequence_tokens / 2), longest);
    if (choices_.once_in(64)) client.prompt.max_tokens = client.prompt.tokens - 1;
    if (choices_.once_in(64)) client.prompt.max_tokens = o.max_sequence_tokens + 1;
    if (choices_.once_in(128)) client.prompt.tokens = 0;
    if (choices_.once_in(8)) client.prompt.match_cap = choices_.below(o.max_sequence_tokens);
    fix_keys(client);
  }
  /// The prompt names the keys of its own client.
  void fix_keys(Client& client) {
    std::size_t count = client.prompt.tokens / world_.options.key_tokens;
    if (client.prompt.requester == 3) count = client.keys.size();
    client.prompt.keys = std::span(client.keys).first(std::min(count, client.keys.size()));
  }

  // --- Calls

  void operate() {
    const std::uint32_t kind = choices_.below(64);
    if (kind < 7) return commit();
    if (kind < 22) return model_.step_open() || choices_.once_in(8) ? advance() : open_or_close();
    if (kind < 28) return open_or_close();
    if (kind < 34) return complete();
    if (kind < 41) return publish();
    if (kind < 45) return finish();
    if (kind < 47) return preempt();
    if (kind < 50) return resume();
    if (kind < 51) return abort();
    if (kind < 53) return fork();
    if (kind < 55) return truncate();
    if (kind < 57) return drop_step();
    if (kind < 58) return choices_.once_in(2) ? fail_steps() : complete();
    if (kind < 59) return rare();
    if (kind < 60) return ask_stop();
    if (kind < 62) return choices_.once_in(pressure_ + 1) ? finish() : publish();
    return ask();
  }

  void ask() {
    operation_ = "match and plan";
    Client client;
    new_text(client);
    same_plan(client.prompt);
  }

  void same_plan(const hybridmem::Prompt& prompt) {
    const hybridmem::Match match = real_.match(prompt);
    const hybridmem::Match expected = model_.match(prompt);
    same_match(match, expected);
    same_match(match, replica_.match(prompt));
    expect(match.version == real_.version(), "a match is of the present version");
    const hybridmem::Admission plan = real_.plan(match, prompt);
    const hybridmem::Admission should = model_.plan(prompt);
    same(static_cast<std::uint64_t>(plan.verdict), static_cast<std::uint64_t>(should.verdict),
         "verdict");
    same(plan.units_short, should.units_short, "units short");
    same(static_cast<std::uint64_t>(plan.wait_for), static_cast<std::uint64_t>(should.wait_for),
         "ticket to wait for");
    same(plan.match.joint_depth, should.match.joint_depth, "depth to adopt");
    if (should.verdict == hybridmem::Verdict::unservable) return;
    same(plan.pool, should.pool, "short pool");
    same(plan.units_needed, should.units_needed, "units needed");
  }
  static void same_match(const hybridmem::Match& match, const hybridmem::Match& expected) {
    same(match.attention_depth, expected.attention_depth, "attention depth");
    same(match.recurrent_depth, expected.recurrent_depth, "recurrent depth");
    same(match.joint_depth, expected.joint_depth, "joint depth");
    same(static_cast<std::uint64_t>(match.limited_by),
         static_cast<std::uint64_t>(expected.limited_by), "limited by");
    same(match.pending_depth, expected.pending_depth, "pending depth");
    same(static_cast<std::uint64_t>(match.pending_until),
         static_cast<std::uint64_t>(expected.pending_until), "pending until");
  }

  void commit() {
    operation_ = "commit";
    clients_.push_back({});
    Client& client = clients_.back();
    new_text(client);
    same_plan(client.prompt);
    const auto [error, handle] = model_.commit(client.prompt);
    const hybridmem::Result<Sequence> made = real_.commit(client.prompt);
    if (error == Error::none && made) {
      expect(*made == handle, "another handle");
      client.handle = handle;
      client.prompt.keys = {};
    } else {
      clients_.pop_back();
    }
    same(error_of(made), error, "outcome");
  }

  void resume() {
    operation_ = "resume";
    Client* client = pick();
    for (Client& one : clients_)
      if (const auto* line = model_.find(one.handle); line != nullptr && !line->running)
        client = &one;
    if (client == nullptr) return;
    const Client before = *client;
    if (choices_.once_in(4))
      new_text(*client);
    else
      set_prompt(*client);
    same_plan(client->prompt);
    const Error error = model_.resume(client->handle, client->prompt);
    const hybridmem::Status status = real_.resume(client->handle, client->prompt);
    client->prompt.keys = {};
    if (error != Error::none) *client = before;
    same(error_of(status), error, "outcome");
  }

  void open_or_close() {
    if (!model_.step_open()) {
      if (model_.steps().size() == world_.options.max_steps_in_flight && !choices_.once_in(8))
        return complete();
      operation_ = "open_step";
      const auto [error, ticket] = model_.open_step();
      const hybridmem::Result<hybridmem::Ticket> opened = real_.open_step();
      same(error_of(opened), error, "outcome");
      if (opened) same(static_cast<std::uint64_t>(*opened), ticket, "ticket");
      if (opened) chunks_.clear();
      return;
    }
    if (choices_.once_in(32)) {
      operation_ = "open_step while one is open";
      return same(error_of(real_.open_step()), model_.open_step().first, "outcome");
    }
    close_step();
  }

  void close_step() {
    operation_ = "close_step";
    const Error error = model_.close_step();
    const hybridmem::Result<hybridmem::StepWork> work = real_.close_step();
    same(error_of(work), error, "outcome");
    if (!work) return;
    CacheMemory::Step step;
    step.ticket = model_.last();
    step.copies.assign(work->copies.begin(), work->copies.end());
    step.zeros.assign(work->zeros.begin(), work->zeros.end());
    std::size_t writes = 0;
    const auto& works = model_.steps().back().work;
    for (std::size_t i = 0; i < works.size(); ++i) {
      if (works[i].withdrawn) continue;
      CacheMemory::Launch launch{chunks_[i].text, works[i].from, works[i].to, {}, {}, {}};
      for (const std::int32_t id : chunks_[i].blocks) launch.blocks.push_back(units_of(id));
      if (chunks_[i].source >= 0) launch.source = cells_of(chunks_[i].source);
      for (const auto& one : works[i].states) {
        expect(writes < work->writes.size(), "a state write is missing");
        const hybridmem::StateWrite& write = work->writes[writes++];
        expect(write.sequence == works[i].sequence && write.state.value() == one.first,
               "another state is written");
        launch.writes.emplace_back(write.position, cells_of(one.first));
      }
      expect(launch.writes.back().first == works[i].to, "the last write is not at the end");
      step.chunks.push_back(std::move(launch));
    }
    expect(writes == work->writes.size(), "a state write too many");
    memory_.add(std::move(step));
    if (!choices_.once_in(4)) memory_.launch(model_.last());
  }

  std::vector<std::int32_t> units_of(std::int32_t block) const {
    const auto pages = real_.organization().pages(hybridmem::BlockId{block});
    return {pages.begin(), pages.end()};
  }
  std::vector<std::int32_t> cells_of(std::int32_t state) const {
    const hybridmem::CheckpointId id{state};
    return memory_.cells_of(real_.organization().pages(id), real_.organization().lines(id));
  }

  void advance() {
    operation_ = "advance";
    std::vector<hybridmem::Chunk> chunks;
    std::vector<std::int32_t> sources;
    const bool all = choices_.once_in(2);
    for (std::uint32_t i = all ? 0 : choices_.below(3); i < (all ? clients_.size() : 3); ++i) {
      hybridmem::Chunk chunk;
      chunk.sequence = all ? clients_[i].handle : pick_handle();
      const auto* line = model_.find(chunk.sequence);
      chunk.tokens = choices_.once_in(3) ? 1 : choices_.below(world_.options.max_chunk_tokens + 2);
      if (line != nullptr && line->placed < line->prompt_tokens && !choices_.once_in(4))
        chunk.tokens = line->prompt_tokens - line->placed;
      if (choices_.once_in(2)) chunk.tokens = real_.next_stop(chunk.sequence, chunk.tokens);
      chunks.push_back(chunk);
      const bool twice = std::any_of(chunks.begin(), chunks.end() - 1, [&](const auto& one) {
        return one.sequence == chunk.sequence;
      });
      sources.push_back(line == nullptr || twice ? -1 : line->own.current);
    }
    std::vector<hybridmem::Advanced> results(chunks.size());
    std::vector<hybridmem::Advanced> expected(chunks.size());
    const hybridmem::Batch should = model_.advance(chunks, expected);
    const hybridmem::Batch batch = real_.advance(chunks, results);
    same(batch.error, should.error, "outcome");
    same(batch.done, should.done, "chunks done");
    for (std::size_t i = 0; i < batch.done; ++i) {
      same(results[i].from, expected[i].from, "from");
      same(results[i].to, expected[i].to, "to");
      same(results[i].states_saved, expected[i].states_saved, "states saved");
      same(results[i].states_skipped, expected[i].states_skipped, "states skipped");
      const Client& client = *client_of(chunks[i].sequence);
      chunks_.push_back({client.text, model_.find(chunks[i].sequence)->own.blocks, sources[i]});
    }
    if (should.error != Error::shortfall) return;
    same(batch.pool, should.pool, "short pool");
    same(batch.units_short, should.units_short, "units short");
    same(static_cast<std::uint64_t>(batch.wait_for), static_cast<std::uint64_t>(should.wait_for),
         "ticket to wait for");
  }

  void ask_stop() {
    operation_ = "next_stop";
    const Sequence handle = pick_handle();
    const Tokens want = choices_.below(world_.options.max_chunk_tokens + 4);
    same(real_.next_stop(handle, want), model_.next_stop(handle, want), "stop");
    const Tokens length = choices_.below(world_.options.max_sequence_tokens + 2);
    const Tokens sharing = choices_.below(world_.options.max_sequence_tokens);
    same(real_.capacity(length, sharing), model_.capacity(length, sharing), "capacity");
  }

  /// A ticket in flight, or now and then another one.
  std::uint64_t any_ticket(std::uint64_t likely) {
    return choices_.once_in(12) ? choices_.below(static_cast<std::uint32_t>(model_.last()) + 3)
                                : likely;
  }

  void complete() {
    operation_ = "complete";
    const std::uint64_t ticket = any_ticket(model_.completed() + 1);
    const bool closed = !model_.steps().empty() && model_.steps().front().closed;
    if (closed && ticket == model_.completed() + 1) memory_.launch(ticket);
    const Error error = model_.complete(ticket);
    same(error_of(real_.complete(hybridmem::Ticket{ticket})), error, "outcome");
    if (error == Error::none)
      memory_.complete(ticket, world_.options.reuse == hybridmem::Reuse::ticket);
  }

  void drop_step() {
    operation_ = "drop_step";
    const std::uint64_t ticket = any_ticket(model_.last());
    if (memory_.launched(ticket)) return;  // the engine's promise
    const Error error = model_.drop_step(ticket);
    same(error_of(real_.drop_step(hybridmem::Ticket{ticket})), error, "outcome");
    if (error == Error::none) memory_.drop(ticket);
  }

  void fail_steps() {
    operation_ = "fail";
    const std::uint64_t ticket = any_ticket(
        model_.completed() + 1 +
        choices_.below(static_cast<std::uint32_t>(model_.last() - model_.completed()) + 1));
    const auto [error, damaged] = model_.fail(ticket);
    std::vector<Sequence> told(world_.options.max_sequences);
    const hybridmem::Result<std::size_t> count = real_.fail(hybridmem::Ticket{ticket}, told);
    same(error_of(count), error, "outcome");
    if (!count) return;
    same(*count, damaged.size(), "damaged sequences");
    told.resize(*count);
    for (const Sequence handle : damaged)
      expect(std::find(told.begin(), told.end(), handle) != told.end(), "damage not told of");
    memory_.fail(ticket);
  }

  void publish() {
    operation_ = "publish";
    const Sequence handle = pick_handle();
    const Client* const client = client_of(handle);
    const auto* line = model_.find(handle);
    const std::span<const hybridmem::Key> keys =
        client == nullptr ? std::span<const hybridmem::Key>{} : std::span(client->keys);
    Tokens upto = choices_.below(world_.options.max_sequence_tokens + 2);
    if (line != nullptr && !choices_.once_in(3)) upto = line->placed;
    const auto given = choices_.once_in(16)
                           ? keys.first(std::min<std::size_t>(keys.size(), choices_.below(4)))
                           : keys;
    const auto [error, clamped] = model_.publish(handle, upto, given);
    const hybridmem::Result<Tokens> published = real_.publish(handle, upto, given);
    same(error_of(published), error, "outcome");
    if (published) same(*published, clamped, "clamped position");
  }

  void finish() {
    operation_ = "finish";
    const Sequence handle = pick_handle();
    const Client* const client = client_of(handle);
    const auto* line = model_.find(handle);
    const std::span<const hybridmem::Key> keys =
        client == nullptr ? std::span<const hybridmem::Key>{} : std::span(client->keys);
    Tokens valid = line == nullptr ? 0 : line->placed;
    if (choices_.once_in(3)) valid = choices_.below(world_.options.max_sequence_tokens + 2);
    const auto given = choices_.once_in(16) ? keys.first(0) : keys;
    const Error error = model_.finish(handle, valid, given);
    same(error_of(real_.finish(handle, valid, given)), error, "outcome");
    if (error == Error::none) gone(handle);
  }

  void abort() {
    operation_ = "abort";
    const Sequence handle = pick_handle();
    const Error error = model_.abort(handle);
    same(error_of(real_.abort(handle)), error, "outcome");
    if (error == Error::none) gone(handle);
  }

  void preempt() {
    operation_ = "preempt";
    const Sequence handle = pick_handle();
    const Error error = model_.preempt(handle);
    same(error_of(real_.preempt(handle)), error, "outcome");
  }

  void fork() {
    operation_ = "fork";
    const Sequence handle = pick_handle();
    const auto [error, child] = model_.fork(handle);
    const hybridmem::Result<Sequence> made = real_.fork(handle);
    same(error_of(made), error, "outcome");
    if (!made) return;
    expect(*made == child, "another handle");
    Client client = *client_of(handle);
    client.handle = child;
    other_text(client, model_.find(child)->placed);
    clients_.push_back(std::move(client));
  }

  void truncate() {
    operation_ = "truncate";
    const Sequence handle = pick_handle();
    Tokens to = choices_.below(world_.options.max_sequence_tokens);
    if (!choices_.once_in(4)) to = model_.restart_at_or_below(handle, to);
    const Error error = model_.truncate(handle, to);
    same(error_of(real_.truncate(handle, to)), error, "outcome");
    if (Client* const client = client_of(handle);
        client != nullptr && error == Error::none && model_.find(handle)->placed == to)
      other_text(*client, to);
  }

  /// From `at` on the sequence may say something else.
  void other_text(Client& client, Tokens at) {
    if (choices_.once_in(3)) return;
    texts_.change(client.text, at, choices_);
    client.keys = texts_.keys_of(client.root, client.text);
  }

  void rare() {
    const std::uint32_t kind = choices_.below(32);
    if (kind < 4) {
      operation_ = "advance_epoch";
      model_.advance_epoch();
      real_.advance_epoch();
    } else if (kind < 7) {
      operation_ = "clear";
      model_.clear();
      real_.clear();
    } else if (kind < 9) {
      operation_ = "reset";
      const Error error = model_.reset();
      same(error_of(real_.reset()), error, "outcome");
      if (error != Error::none) return;
      clients_.clear();
      memory_.forget_all();
    } else {
      texts_.renew(choices_);
    }
  }

  // --- Comparisons

  void compare() {
    for (std::uint8_t i = 0; i < world_.layout.pools; ++i) {
      const hybridmem::PoolCounts counts = real_.organization().counts(i);
      const hybridmem::PoolCounts should = model_.ledger().units.counts(i);
      same(counts.free, should.free, "free units");
      same(counts.cached, should.cached, "cached units");
      same(counts.referenced, should.referenced, "referenced units");
      const auto free = real_.organization().page_pool(i).free_list();
      const auto& order = model_.ledger().units.free(i);
      expect(std::equal(free.rbegin(), free.rend(), order.begin(), order.end()),
             "free lists differ");
    }
    same(losses_.size(), model_.ledger().losses.size(), "objects lost");
    expect(losses_ == model_.ledger().losses, "other objects are lost");
    for (const auto& [slot, line] : model_.lines()) {
      const auto position = real_.position(line.handle);
      expect(position.has_value(), "a handle is stale too early");
      same(position->placed, line.placed, "placed");
      same(position->settled, line.settled, "settled");
      same(static_cast<std::uint64_t>(real_.last_ticket(line.handle)), line.last_ticket,
           "last ticket");
      const auto blocks = real_.blocks_of(line.handle);
      expect(
          std::equal(blocks.begin(), blocks.end(), line.own.blocks.begin(), line.own.blocks.end(),
                     [](hybridmem::BlockId id, std::int32_t bare) { return id.value() == bare; }),
          "blocks differ");
      same(static_cast<std::uint64_t>(real_.state_of(line.handle).value()),
           static_cast<std::uint64_t>(line.own.current), "running state");
      expect(real_.releasable(line.handle) == model_.releasable(line.handle),
             "releasable units differ");
      const Tokens at =
          (line.placed + static_cast<Tokens>(steps_)) % (world_.options.max_sequence_tokens + 1);
      same(real_.restart_at_or_below(line.handle, at), model_.restart_at_or_below(line.handle, at),
           "place to restart at");
    }
    expect(!real_.position(stale_).has_value() || model_.find(stale_) != nullptr,
           "a handle stays valid");
    same_metrics();
    const bool small = world_.options.units[0] <= 128 && world_.options.units[1] <= 128;
    if (small || steps_ % 1'000 == 0) {
      hybridmem::Finding finding;
      if (real_.audit({&finding, 1}) != 0)
        throw std::runtime_error(
            std::string("audit: ") + name_of(finding.kind) + " " + std::to_string(finding.object) +
            ": " + std::to_string(finding.found) + ", not " + std::to_string(finding.expected));
    }
  }

  void same_metrics() const {
    const hybridmem::Metrics metrics = real_.metrics();
    const CacheModel::Counters& counters = model_.counters();
    const CacheLedger& ledger = model_.ledger();
    same(metrics.running, model_.running(), "running");
    same(metrics.preempted_waiting, model_.lines().size() - model_.running(), "preempted");
    same(metrics.closing, model_.closing(), "closing");
    same(metrics.published_blocks, ledger.blocks.size(), "published blocks");
    same(metrics.published_checkpoints, ledger.states.size(), "published checkpoints");
    same(metrics.pinned_checkpoints, model_.pinned(), "pinned checkpoints");
    same(metrics.slabs, ledger.units.slabs().size(), "slabs");
    same(metrics.commits, counters.commits, "commits");
    same(metrics.resumes, counters.resumes, "resumes");
    same(metrics.hits, counters.hits, "hits");
    same(metrics.adopted_tokens, counters.adopted_tokens, "adopted tokens");
    same(metrics.resumed_tokens, counters.resumed_tokens, "resumed tokens");
    same(metrics.limited_by_attention, counters.limited_by_attention, "limited by attention");
    same(metrics.limited_by_recurrent, counters.limited_by_recurrent, "limited by recurrent");
    same(metrics.advances, counters.advances, "advances");
    same(metrics.refusals, counters.refusals, "refusals");
    same(metrics.preemptions, counters.preemptions, "preemptions");
    same(metrics.checkpoints_saved, counters.saved, "checkpoints saved");
    same(metrics.checkpoints_skipped, counters.skipped, "checkpoints skipped");
    same(metrics.retained, counters.retained, "retained");
    same(metrics.pins, counters.pins, "pins");
    same(metrics.pins_dropped, counters.pins_dropped, "pins dropped");
    same(metrics.blocks_evicted, ledger.blocks_evicted, "blocks evicted");
    same(metrics.checkpoints_evicted, ledger.states_evicted, "checkpoints evicted");
    same(metrics.cross_invalidations, ledger.cross_invalidations, "cross-invalidations");
    same(metrics.duplicates_published, ledger.duplicates, "duplicates");
  }

  struct Chunked {
    std::vector<std::uint32_t> text;
    std::vector<std::int32_t> blocks;
    std::int32_t source = -1;
  };

  Choices& choices_;
  CacheWorld world_;
  Texts texts_;
  std::vector<CacheLedger::Loss> losses_;
  CacheReplica replica_;
  Cache real_;
  CacheModel model_;
  CacheMemory memory_;
  std::vector<Client> clients_;
  std::vector<Chunked> chunks_;  ///< of the open step, withdrawn ones included
  Sequence stale_{0, ~0U};
  std::uint32_t pressure_ = 0;
  const char* operation_ = "";
  std::uint64_t steps_ = 0;
};

}  // namespace hybridmem_test
