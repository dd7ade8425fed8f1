// TraceReplay: runs a recorded life on another cache, of the same organization or any other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "hybridmem/cache/state_cache.hpp"
#include "hybridmem/observe/trace_record.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// What a replay met. A cache that answers as the recorded one did differs in nothing.
struct ReplayReport {
  std::uint64_t calls = 0;
  std::uint64_t differing_outcomes = 0;  ///< calls that the recorded cache answered otherwise
  std::uint64_t refused_admissions =
      0;                              ///< sequences that this cache could not admit when they came
  std::uint64_t lost_sequences = 0;   ///< sequences that it could not carry on, and aborted
  std::uint64_t adopted_tokens = 0;   ///< by admissions and resumes
  std::uint64_t computed_tokens = 0;  ///< by chunks
};

/// Applies records in order. A sequence that the cache cannot admit is left out; one that it cannot
/// carry on, because a chunk is refused, is aborted and counted, and what its records ask later is
/// passed over. Chunks go to the recorded positions, in as many steps as this cache's chunk length
/// needs. For offline use: it allocates what the trace needs.
template <class Cache>
class TraceReplay {
 public:
  explicit TraceReplay(Cache& cache) : cache_(&cache) {}

  const ReplayReport& report() const noexcept { return report_; }

  void apply(std::span<const TraceRecord> records) {
    for (const TraceRecord& record : records) apply(record);
  }

  void apply(const TraceRecord& record) {
    if (record.op == TraceOp::key) {
      Life& life = at(record.sequence);
      const Key key{record.high, record.low};
      if (record.tokens == 0)
        life.root = key;
      else
        life.keys.push_back(key);
      return;
    }
    ++report_.calls;
    const Error outcome = call(record);
    report_.differing_outcomes += outcome == record.outcome ? 0 : 1;
  }

 private:
  struct Life {
    std::vector<Key> keys;
    Key root{};
    Sequence sequence{};
    bool alive = false;
  };

  Life& at(std::uint32_t number) {
    if (number >= lives_.size()) lives_.resize(std::size_t{number} + 1);
    return lives_[number];
  }

  template <class T>
  static Error error_of(const Result<T>& result) {
    return result ? Error::none : result.error();
  }

  Error call(const TraceRecord& record) {
    switch (record.op) {
      case TraceOp::open_step:
        return error_of(cache_->open_step());
      case TraceOp::close_step:
        return error_of(cache_->close_step());
      case TraceOp::complete:
        return error_of(cache_->complete(Ticket{record.low}));
      case TraceOp::drop_step:
        return error_of(cache_->drop_step(Ticket{record.low}));
      case TraceOp::fail:
        return error_of(cache_->fail(Ticket{record.low}, {}));
      case TraceOp::epoch:
        cache_->advance_epoch();
        return Error::none;
      case TraceOp::clear:
        cache_->clear();
        return Error::none;
      case TraceOp::commit:
        return admit(record);
      default:
        break;
    }
    Life& life = at(record.sequence);
    return life.alive ? call_of(record, life) : Error::stale_handle;
  }

  Prompt prompt_of(const TraceRecord& record, const Life& life) const {
    Prompt prompt;
    prompt.keys = life.keys;
    prompt.root = life.root;
    prompt.tokens = record.tokens;
    prompt.max_tokens = record.max_tokens;
    prompt.match_cap = record.match_cap;
    prompt.requester = record.requester;
    return prompt;
  }

  Error admit(const TraceRecord& record) {
    Life& life = at(record.sequence);
    const Result<Sequence> made = cache_->commit(prompt_of(record, life));
    if (!made) {
      ++report_.refused_admissions;
      return made.error();
    }
    life.sequence = *made;
    life.alive = true;
    report_.adopted_tokens += cache_->position(life.sequence)->placed;
    return Error::none;
  }

  /// A call of a sequence that lives here too.
  Error call_of(const TraceRecord& record, Life& life) {
    switch (record.op) {
      case TraceOp::resume: {
        const Status status = cache_->resume(life.sequence, prompt_of(record, life));
        if (status)
          report_.adopted_tokens += cache_->position(life.sequence)->placed;
        else
          lose(life);
        return error_of(status);
      }
      case TraceOp::advance:
        return advance(record, life);
      case TraceOp::publish:
        return error_of(cache_->publish(life.sequence, record.tokens, life.keys));
      case TraceOp::finish: {
        const Status status = cache_->finish(life.sequence, record.tokens, life.keys);
        life.alive = !status;
        return error_of(status);
      }
      case TraceOp::preempt:
        return error_of(cache_->preempt(life.sequence));
      case TraceOp::abort: {
        const Status status = cache_->abort(life.sequence);
        life.alive = !status;
        return error_of(status);
      }
      case TraceOp::truncate:
        return error_of(cache_->truncate(life.sequence, record.tokens));
      case TraceOp::fork: {
        const Result<Sequence> made = cache_->fork(life.sequence);
        const std::size_t shared = record.tokens / cache_->options().key_tokens;
        Life child{life.keys, life.root, made.value_or(Sequence{}), made.has_value()};
        child.keys.resize(std::min(child.keys.size(), shared));
        at(record.other) = std::move(child);
        return error_of(made);
      }
      default:
        return Error::bad_argument;
    }
  }

  /// A chunk that the recorded cache refused too is left to what its engine did next.
  Error advance(const TraceRecord& record, Life& life) {
    const Tokens to = record.tokens;
    const Tokens placed = cache_->position(life.sequence)->placed;
    if (placed >= to) return Error::none;
    const Chunk chunk{life.sequence, std::min(to - placed, cache_->options().max_chunk_tokens)};
    Advanced advanced;
    const Batch batch = cache_->advance({&chunk, 1}, {&advanced, 1});
    if (batch.done == 1)
      report_.computed_tokens += chunk.tokens;
    else if (batch.error == Error::shortfall && record.outcome == Error::none)
      lose(life);
    return batch.error;
  }

  void lose(Life& life) {
    ++report_.lost_sequences;
    life.alive = !cache_->abort(life.sequence);
  }

  Cache* cache_;
  std::vector<Life> lives_;
  ReplayReport report_;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
