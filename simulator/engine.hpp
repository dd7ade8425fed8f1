// simulate: a discrete-event serving engine whose only memory manager is the public StateCache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hybridmem/cache/state_cache.hpp"
#include "simulator/request.hpp"
#include "simulator/request_keys.hpp"
#include "simulator/results.hpp"

namespace hybridmem_simulator {

/// What a simulated engine decides beyond its cache's options.
struct EngineOptions {
  std::uint32_t running_cap = 256;  ///< sequences that run at once
  Tokens token_budget = 2048;       ///< tokens of one step, decoding included
  hybridmem::CacheOptions cache{};  ///< its counts and lengths are set from the workload
};

/// Seconds that a step takes with so many prefill tokens and decoding requests.
using StepSeconds = std::function<double(std::uint64_t prefill_tokens, std::uint32_t decodes)>;

/// Called now and then with the share of requests that are done; false stops the run.
using Progress = std::function<bool(double done)>;

/// One run. The rules are those of an engine that schedules step by step: running requests first,
/// in order, then waiting ones first come first served, under a token budget and a cap. When a
/// running request finds no room, the most recently admitted one is preempted, loses its references
/// and goes to the head of the queue, and nothing is admitted in that step. A waiting request never
/// preempts. Identical inputs give identical results.
template <class Organization, class Events = hybridmem::NoEvents>
class Engine {
 public:
  using Cache = hybridmem::StateCache<Organization, Events>;

  Engine(const hybridmem::OrganizationLayout& layout, const EngineOptions& options,
         const Workload& workload, StepSeconds seconds, Events events = {})
      : options_(fitted(layout, options, workload)),
        workload_(workload),
        seconds_(std::move(seconds)),
        cache_(layout, options_.cache, std::move(events)) {
    result_.organization = hybridmem::name_of(layout.kind);
    result_.units = options_.cache.units;
    result_.requests.resize(workload.requests.size());
  }

  Cache& cache() noexcept { return cache_; }

  /// Runs to the end of the workload, or until `progress` says no.
  RunResult run(const Progress& progress = {}) {
    const std::vector<Request>& requests = workload_.requests;
    if (requests.empty()) return std::move(result_);
    result_.start_s = now_ = requests.front().arrival_s;
    std::uint32_t idle = 0;
    while (ended_ < requests.size()) {
      while (arrived_ < requests.size() && requests[arrived_].arrival_s <= now_)
        waiting_.push_back(arrived_++);
      if (progress && result_.steps % 4096 == 0 &&
          !progress(static_cast<double>(ended_) / static_cast<double>(requests.size())))
        break;
      const std::size_t ended = ended_;
      step();
      idle = prefill_ + decodes_ > 0 || ended_ > ended ? 0 : idle + 1;
      if (idle == 0) continue;
      if (running_.empty() && preempted_.empty() && waiting_.empty() &&
          arrived_ < requests.size()) {
        pass(requests[arrived_].arrival_s - now_);
        idle = 0;
      } else if (idle > 3) {  // a preempted request comes back at the next step, or never
        throw std::logic_error("hybridmem simulator: requests wait and none can run");
      }
    }
    finish();
    return std::move(result_);
  }

 private:
  struct Active {
    std::size_t request = 0;
    hybridmem::Sequence sequence{};
    std::vector<hybridmem::Key> keys;
    Tokens placed = 0;
    Tokens generated = 0;
    Tokens step_tokens = 0;  ///< placed by the step under way
    bool step_decodes = false;
    bool admitted_before = false;

    Tokens known(const Workload& workload) const {
      return workload.requests[request].input_tokens + generated;
    }
  };

  static EngineOptions fitted(const hybridmem::OrganizationLayout& layout, EngineOptions options,
                              const Workload& workload) {
    Tokens longest = 1;
    for (const Request& request : workload.requests)
      longest = std::max(longest, request.input_tokens + request.output_tokens);
    options.cache.max_sequence_tokens = longest;
    options.cache.max_chunk_tokens = options.token_budget;
    options.cache.max_sequences = options.running_cap + preempted_room;
    options.cache.max_steps_in_flight = 1;
    options.cache.key_tokens = key_grid(layout, workload);
    return options;
  }

  /// The coarsest grid that block and chunks share: fewer keys, the same matches.
  static Tokens key_grid(const hybridmem::OrganizationLayout& layout, const Workload& workload) {
    return std::gcd(layout.block_tokens, workload.chunk_tokens);
  }

  static constexpr std::uint32_t preempted_room = 64;

  void pass(double seconds) {
    if (seconds <= 0.0) return;
    running_time_ += seconds * static_cast<double>(running_.size());
    waiting_time_ += seconds * static_cast<double>(waiting_.size() + preempted_.size());
    stranded_time_ += seconds * stranded_now_;
    now_ += seconds;
  }

  hybridmem::Prompt prompt_of(const Active& active) const {
    const Request& request = workload_.requests[active.request];
    hybridmem::Prompt prompt;
    prompt.keys = active.keys;
    prompt.tokens = active.known(workload_);
    prompt.max_tokens = request.input_tokens + request.output_tokens;
    prompt.requester = active.request;
    return prompt;
  }

  /// One step: schedule, launch, let its time pass, take its tokens.
  void step() {
    prefill_ = 0;
    decodes_ = 0;
    stranded_now_ = 0.0;
    const hybridmem::Ticket ticket = cache_.open_step().value();
    Tokens budget = options_.token_budget;
    const bool preempted = extend_running(budget);
    if (!preempted) admit_waiting(budget);
    static_cast<void>(cache_.close_step().value());
    static_cast<void>(cache_.complete(ticket).value());
    if (prefill_ + decodes_ == 0) return;
    const double seconds = seconds_(prefill_, decodes_);
    pass(seconds);
    result_.busy_s += seconds;
    ++result_.steps;
    result_.prefill_tokens += prefill_;
    take_tokens();
  }

  /// Extends one sequence; false if units are short.
  bool extend(Active& active, Tokens& budget) {
    const Tokens left = active.known(workload_) - active.placed;
    active.step_decodes = active.generated > 0 && left == 1;
    const hybridmem::Chunk chunk{
        active.sequence,
        active.step_decodes ? 1 : cache_.next_stop(active.sequence, std::min(left, budget))};
    hybridmem::Advanced advanced;
    if (cache_.advance({&chunk, 1}, {&advanced, 1}).done == 0) return false;
    const Tokens block = cache_.layout().block_tokens;
    if (advanced.to / block != advanced.from / block)
      static_cast<void>(cache_.publish(active.sequence, advanced.to, active.keys).value());
    active.placed = advanced.to;
    active.step_tokens = chunk.tokens;
    budget -= chunk.tokens;
    decodes_ += active.step_decodes ? 1 : 0;
    prefill_ += active.step_decodes ? 0 : chunk.tokens;
    return true;
  }

  /// Running requests in order; true if one was preempted.
  bool extend_running(Tokens& budget) {
    bool preempted = false;
    for (Active& active : running_) active.step_tokens = 0;
    for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
      while (i < running_.size() && !extend(running_[i], budget)) {
        preempt_last(budget);
        preempted = true;
      }
    }
    return preempted;
  }

  /// The most recently admitted request gives up what it holds, and its part of the step.
  void preempt_last(Tokens& budget) {
    Active victim = std::move(running_.back());
    running_.pop_back();
    static_cast<void>(cache_.preempt(victim.sequence).value());
    if (victim.step_tokens > 0) {
      budget += victim.step_tokens;
      decodes_ -= victim.step_decodes ? 1 : 0;
      prefill_ -= victim.step_decodes ? 0 : victim.step_tokens;
    }
    victim.placed = victim.step_tokens = 0;
    ++result_.requests[victim.request].preemptions;
    preempted_.push_front(std::move(victim));
  }

  /// Waiting requests, preempted ones first; stops at the first that does not fit.
  void admit_waiting(Tokens& budget) {
    while (budget > 0 && running_.size() < options_.running_cap &&
           (!preempted_.empty() || !waiting_.empty())) {
      const bool again = !preempted_.empty();
      if (again) {
        candidate_ = std::move(preempted_.front());
        preempted_.pop_front();
      } else if (!has_candidate_) {
        start_candidate(waiting_.front());
      }
      const hybridmem::Prompt prompt = prompt_of(candidate_);
      const hybridmem::Match match = cache_.match(prompt);
      const hybridmem::Admission admission = cache_.plan(match, prompt);
      if (admission.verdict == hybridmem::Verdict::unservable) {
        result_.requests[candidate_.request].unservable = true;
        ++ended_;
        waiting_.pop_front();
        has_candidate_ = false;
        continue;
      }
      if (admission.verdict != hybridmem::Verdict::ready) {
        note_stranded(admission.pool);
        if (again) preempted_.push_front(std::move(candidate_));
        return;
      }
      if (!admit(again, prompt, match)) {
        if (again) preempted_.push_front(std::move(candidate_));
        return;
      }
      if (!again) waiting_.pop_front();
      has_candidate_ = false;
      candidate_.step_tokens = 0;
      running_.push_back(std::move(candidate_));
      if (extend(running_.back(), budget)) continue;
      preempt_last(budget);  // where checkpoints are required and the prompt came to need more
      return;
    }
  }

  void start_candidate(std::size_t request) {
    candidate_ = Active{};
    candidate_.request = request;
    const Request& one = workload_.requests[request];
    fill_keys(workload_, request, one.input_tokens + one.output_tokens, options_.cache.key_tokens,
              candidate_.keys);
    has_candidate_ = true;
  }

  bool admit(bool again, const hybridmem::Prompt& prompt, const hybridmem::Match& match) {
    if (again) {
      if (!cache_.resume(candidate_.sequence, prompt)) return false;
    } else {
      const auto made = cache_.commit(prompt);
      if (!made) return false;
      candidate_.sequence = *made;
    }
    candidate_.placed = cache_.position(candidate_.sequence)->placed;
    RequestResult& result = result_.requests[candidate_.request];
    if (!candidate_.admitted_before) {
      result.adopted_tokens = candidate_.placed;
      result.recurrent_depth = match.recurrent_depth;
      result.attention_depth = match.attention_depth;
      result.limited_by = match.limited_by;
    }
    candidate_.admitted_before = true;
    return true;
  }

  /// With two pools: what the other pool has to spare while the one waits.
  void note_stranded(std::uint8_t pool) {
    if (cache_.layout().pools < 2) return;
    const std::uint8_t other = pool == 0 ? 1 : 0;
    const hybridmem::PoolCounts counts = cache_.organization().counts(other);
    const auto bytes = [&](std::uint8_t which, std::uint64_t units) {
      return static_cast<double>(units) * static_cast<double>(cache_.layout().unit_bytes[which]);
    };
    stranded_now_ = bytes(other, std::uint64_t{counts.free} + counts.cached) /
                    (bytes(0, options_.cache.units[0]) + bytes(1, options_.cache.units[1]));
  }

  /// Each scheduled request whose known tokens are all placed has a new token.
  void take_tokens() {
    for (std::size_t i = 0; i < running_.size();) {
      Active& active = running_[i];
      const Request& request = workload_.requests[active.request];
      RequestResult& result = result_.requests[active.request];
      if (active.step_tokens > 0 && !active.step_decodes)
        result.computed_tokens += active.step_tokens;
      if (active.step_tokens == 0 || active.placed < active.known(workload_)) {
        ++i;
        continue;
      }
      ++active.generated;
      ++result_.output_tokens;
      if (active.generated == 1) result.first_token_s = now_;
      if (active.generated < request.output_tokens) {
        ++i;
        continue;
      }
      result.end_s = now_;
      static_cast<void>(cache_.finish(active.sequence, active.placed, active.keys).value());
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      ++ended_;
    }
  }

  void finish() {
    for (const Active& active : running_) static_cast<void>(cache_.abort(active.sequence));
    for (const Active& active : preempted_) static_cast<void>(cache_.abort(active.sequence));
    cache_.end_events();
    result_.end_s = now_;
    const double span = now_ - result_.start_s;
    if (span > 0.0) {
      result_.running_mean = running_time_ / span;
      result_.waiting_mean = waiting_time_ / span;
      result_.stranded_fraction = stranded_time_ / span;
    }
    result_.metrics = cache_.metrics();
    result_.audit_findings = cache_.audit({});
  }

  EngineOptions options_;
  const Workload& workload_;
  StepSeconds seconds_;
  Cache cache_;
  RunResult result_;
  double now_ = 0.0;
  double running_time_ = 0.0;
  double waiting_time_ = 0.0;
  double stranded_time_ = 0.0;
  double stranded_now_ = 0.0;
  std::size_t arrived_ = 0;
  std::size_t ended_ = 0;
  std::uint64_t prefill_ = 0;
  std::uint32_t decodes_ = 0;
  std::vector<Active> running_;
  std::deque<Active> preempted_;
  std::deque<std::size_t> waiting_;
  Active candidate_;
  bool has_candidate_ = false;
};

}  // namespace hybridmem_simulator
