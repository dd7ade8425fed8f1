// RecordingCache: drives a StateCache and writes down every call that changes it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

#include "hybridmem/cache/state_cache.hpp"
#include "hybridmem/observe/trace_record.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// The mutating calls of a cache, recorded. `Sink` takes each `TraceRecord`, oldest first, before
/// the call returns. Const calls go to the cache itself, which must outlive this. Refused
/// admissions change nothing and are not recorded; every other call is, with its outcome. A record
/// of n calls over prompts of k keys costs n + k records; nothing else allocates after
/// construction.
template <class Cache, class Sink>
class RecordingCache {
 public:
  RecordingCache(Cache& cache, Sink sink,
                 std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : cache_(&cache),
        sink_(std::move(sink)),
        sequences_(cache.options().max_sequences, Known{}, memory) {}

  const Cache& cache() const noexcept { return *cache_; }
  Sink& sink() noexcept { return sink_; }

  Result<Sequence> commit(const Prompt& prompt) {
    const Result<Sequence> made = cache_->commit(prompt);
    if (!made) return made;
    known(*made) = {next_++, 0};
    put({.op = TraceOp::key,
         .sequence = known(*made).number,
         .tokens = 0,
         .high = prompt.root.high,
         .low = prompt.root.low});
    put_keys(*made, prompt.keys);
    put_prompt(TraceOp::commit, *made, prompt);
    return made;
  }

  Status resume(Sequence sequence, const Prompt& prompt) {
    const Status status = cache_->resume(sequence, prompt);
    if (!status) return status;
    put_keys(sequence, prompt.keys);
    put_prompt(TraceOp::resume, sequence, prompt);
    return status;
  }

  Result<Ticket> open_step() {
    const Result<Ticket> ticket = cache_->open_step();
    put({.op = TraceOp::open_step, .outcome = error_of(ticket)});
    return ticket;
  }

  /// Chunks are recorded by where they end, so that a replay whose sequences adopted another depth
  /// gets to the same places.
  Batch advance(std::span<const Chunk> chunks, std::span<Advanced> results) {
    const Batch batch = cache_->advance(chunks, results);
    for (std::size_t i = 0; i < batch.done; ++i)
      put({.op = TraceOp::advance,
           .sequence = known(chunks[i].sequence).number,
           .tokens = results[i].to});
    if (batch.done < chunks.size() && is_live(chunks[batch.done].sequence)) {
      const Chunk& refused = chunks[batch.done];
      put({.op = TraceOp::advance,
           .outcome = batch.error,
           .sequence = known(refused.sequence).number,
           .tokens = cache_->position(refused.sequence)->placed + refused.tokens});
    }
    return batch;
  }

  Result<StepWork> close_step() {
    const Result<StepWork> work = cache_->close_step();
    put({.op = TraceOp::close_step, .outcome = error_of(work)});
    return work;
  }

  Status complete(Ticket ticket) {
    return put_ticket(TraceOp::complete, ticket, cache_->complete(ticket));
  }
  Status drop_step(Ticket ticket) {
    return put_ticket(TraceOp::drop_step, ticket, cache_->drop_step(ticket));
  }
  Result<std::size_t> fail(Ticket ticket, std::span<Sequence> damaged) {
    return put_ticket(TraceOp::fail, ticket, cache_->fail(ticket, damaged));
  }

  Result<Tokens> publish(Sequence sequence, Tokens upto, std::span<const Key> keys) {
    put_keys(sequence, keys);
    return put_call(TraceOp::publish, sequence, upto, cache_->publish(sequence, upto, keys));
  }
  Status finish(Sequence sequence, Tokens valid, std::span<const Key> keys) {
    put_keys(sequence, keys);
    return put_call(TraceOp::finish, sequence, valid, cache_->finish(sequence, valid, keys));
  }
  Status preempt(Sequence sequence) {
    return put_call(TraceOp::preempt, sequence, 0, cache_->preempt(sequence));
  }
  Status abort(Sequence sequence) {
    return put_call(TraceOp::abort, sequence, 0, cache_->abort(sequence));
  }
  Status truncate(Sequence sequence, Tokens to) {
    return put_call(TraceOp::truncate, sequence, to, cache_->truncate(sequence, to));
  }

  Result<Sequence> fork(Sequence sequence) {
    const Result<Sequence> made = cache_->fork(sequence);
    if (!made) return made;
    const Tokens placed = cache_->position(*made)->placed;
    known(*made) = {next_++, std::min(known(sequence).keys, placed / cache_->options().key_tokens)};
    put({.op = TraceOp::fork,
         .sequence = known(sequence).number,
         .other = known(*made).number,
         .tokens = placed});
    return made;
  }

  void advance_epoch() {
    cache_->advance_epoch();
    put({.op = TraceOp::epoch});
  }
  void clear() {
    cache_->clear();
    put({.op = TraceOp::clear});
  }

 private:
  /// What the record knows of a handle's sequence.
  struct Known {
    std::uint32_t number = 0;
    std::uint32_t keys = 0;  ///< recorded so far
  };

  Known& known(Sequence sequence) { return sequences_[static_cast<std::size_t>(sequence.slot)]; }
  bool is_live(Sequence sequence) const { return cache_->position(sequence).has_value(); }
  void put(const TraceRecord& record) { sink_(record); }

  template <class T>
  static Error error_of(const Result<T>& result) {
    return result ? Error::none : result.error();
  }

  void put_keys(Sequence sequence, std::span<const Key> keys) {
    if (!is_live(sequence)) return;
    Known& one = known(sequence);
    for (; one.keys < keys.size(); ++one.keys)
      put({.op = TraceOp::key,
           .sequence = one.number,
           .tokens = (one.keys + 1) * cache_->options().key_tokens,
           .high = keys[one.keys].high,
           .low = keys[one.keys].low});
  }

  void put_prompt(TraceOp op, Sequence sequence, const Prompt& prompt) {
    put({.op = op,
         .sequence = known(sequence).number,
         .tokens = prompt.tokens,
         .max_tokens = prompt.max_tokens,
         .match_cap = prompt.match_cap,
         .requester = prompt.requester});
  }

  template <class T>
  T put_call(TraceOp op, Sequence sequence, Tokens tokens, const T& result) {
    if (result || result.error() != Error::stale_handle)
      put({.op = op,
           .outcome = error_of(result),
           .sequence = known(sequence).number,
           .tokens = tokens});
    return result;
  }

  template <class T>
  T put_ticket(TraceOp op, Ticket ticket, const T& result) {
    put({.op = op, .outcome = error_of(result), .low = static_cast<std::uint64_t>(ticket)});
    return result;
  }

  Cache* cache_;
  Sink sink_;
  std::pmr::vector<Known> sequences_;
  std::uint32_t next_ = 0;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
