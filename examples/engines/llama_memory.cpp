// An engine whose memory object plans a whole batch before any of it runs: a batch is split into
// micro-batches, each is a step, and all of them are undone if one does not fit. Sequences are
// numbered slots of the engine; `seq_rm` and `seq_cp` cut and copy them between batches. Kernels
// read attention by cells, one token each, and a state in one piece, so only organizations whose
// checkpoint is one page a stack will do.
#include "fake_engine.hpp"

namespace {

using namespace fake;

constexpr std::uint32_t max_steps = 4;

/// Tokens that sequences gain together: each as many.
struct MicroBatch {
  std::vector<int> ids;
  Tokens tokens = 0;
};

template <class Organization>
class Memory {
 public:
  using Cache = hm::StateCache<Organization>;

  /// A batch in steps, which the caller launches one after another. What has not been launched when
  /// it is destroyed is undone.
  class Plan {
   public:
    struct Step {
      MicroBatch micro;
      hm::StepWork work;
      std::vector<hm::Advanced> got;
    };

    explicit Plan(Memory& memory) : memory_(memory) {}
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    ~Plan() {
      const bool failed = computed_ < launched_;
      for (std::size_t i = steps_.size(); i-- > launched_;)  // never launched: as if never planned
        memory_.cache_.drop_step(steps_[i].work.ticket).value();
      if (!failed) return;
      memory_.damaged_.resize(memory_.sequences_.size());  // launched, and it went wrong
      memory_.damaged_.resize(
          memory_.cache_.fail(steps_[computed_].work.ticket, memory_.damaged_).value());
    }

    bool prepared() const { return prepared_; }
    std::size_t size() const { return steps_.size(); }

    /// The next step's plan, launched by the caller; `computed` once it has run.
    const Step& launch() { return steps_[launched_++]; }
    void computed() { memory_.cache_.complete(steps_[computed_++].work.ticket).value(); }

   private:
    friend class Memory;
    Memory& memory_;
    std::vector<Step> steps_;
    std::size_t launched_ = 0, computed_ = 0;
    bool prepared_ = true;
  };

  explicit Memory(const hm::CacheOptions& options)
      : cache_(hm::organization_layout(page_layout(), Organization::kind), options),
        sequences_(options.max_sequences) {}

  const Cache& cache() const { return cache_; }
  hm::Sequence sequence(int id) const { return sequences_[static_cast<std::size_t>(id)]; }
  Tokens end(int id) const {
    const auto position = cache_.position(sequence(id));
    return position ? position->placed : 0;
  }

  /// A new sequence; what of the prompt is there already, or negative where it has to wait.
  std::int64_t begin(int id, const hm::Prompt& prompt) {
    const auto made = cache_.commit(prompt);
    if (!made) return -1;
    sequences_[static_cast<std::size_t>(id)] = *made;
    return end(id);
  }

  /// Plans all micro-batches, or none: `prepared` says which.
  std::unique_ptr<Plan> init_batch(const std::vector<MicroBatch>& micro_batches) {
    auto plan = std::make_unique<Plan>(*this);
    for (const MicroBatch& micro : micro_batches) {
      cache_.open_step().value();
      std::vector<hm::Chunk> chunks;
      for (const int id : micro.ids) chunks.push_back({sequence(id), micro.tokens});
      std::vector<hm::Advanced> got(chunks.size());
      const hm::Batch done = cache_.advance(chunks, got);
      plan->steps_.push_back({micro, cache_.close_step().value(), std::move(got)});
      plan->prepared_ = done.done == chunks.size();
      if (!plan->prepared_) break;  // its destructor drops every step: nothing changed
    }
    return plan;
  }

  /// Removes the tokens from `from` on. False where no state is left there: the caller computes
  /// again from `restart(id, from)`. Holes cannot be.
  bool seq_rm(int id, Tokens from) {
    if (from > 0) return static_cast<bool>(cache_.truncate(sequence(id), from));
    const bool was_there = static_cast<bool>(cache_.abort(sequence(id)));
    sequences_[static_cast<std::size_t>(id)] = {};
    return was_there;
  }
  Tokens restart(int id, Tokens at) const { return cache_.restart_at_or_below(sequence(id), at); }

  /// Copies a sequence: a step of its own that runs no kernel but the copy of the last block.
  template <class Run>
  bool seq_cp(int from, int to, Run&& run) {
    const hm::Ticket ticket = cache_.open_step().value();
    const auto made = cache_.fork(sequence(from));
    const hm::StepWork work = cache_.close_step().value();
    if (!made) {
      cache_.drop_step(ticket).value();
      return false;
    }
    sequences_[static_cast<std::size_t>(to)] = *made;
    run(work);
    cache_.complete(ticket).value();
    return true;
  }

  void publish(int id, Tokens upto, std::span<const hm::Key> keys) {
    // Refused where `upto` is a boundary whose state was not saved: the next call makes up for it.
    static_cast<void>(cache_.publish(sequence(id), upto, keys));
  }
  /// Sequences that the last failure left without a state at their end.
  std::vector<hm::Sequence> take_damaged() { return std::exchange(damaged_, {}); }
  void finish(int id, Tokens valid, std::span<const hm::Key> keys) {
    cache_.finish(sequence(id), valid, keys).value();
    sequences_[static_cast<std::size_t>(id)] = {};
  }

 private:
  Cache cache_;
  std::vector<hm::Sequence> sequences_;  // by the engine's id
  std::vector<hm::Sequence> damaged_;
};

/// A server with a few slots. Each turn decodes every slot by one token and takes prompts further.
template <class Organization>
class Server {
 public:
  explicit Server(const hm::CacheOptions& options)
      : memory_(options),
        device_(page_layout(), memory_.cache().layout(), options.units, options.max_sequences,
                false),
        slots_(options.max_sequences) {}

  bool run() {
    std::vector<Request> requests = make_requests(request_count, chain_, 23);
    for (Request& request : requests) waiting_.push_back(&request);
    for (std::size_t turn = 0; turn < 100 * request_count; ++turn) {
      admit();
      if (idle()) break;
      decode(split());
      settle();
    }
    return report_.print(memory_.cache()) && copies_.size() > request_count / 20;
  }

 private:
  using Plan = typename Memory<Organization>::Plan;
  struct Slot {
    Request* request = nullptr;
    std::uint64_t since = 0;
  };

  bool idle() const {
    return std::ranges::all_of(slots_, [](const Slot& slot) { return slot.request == nullptr; });
  }
  Slot& slot(int id) { return slots_[static_cast<std::size_t>(id)]; }
  int slots() const { return static_cast<int>(slots_.size()); }
  int free_slot() {
    for (int id = 0; id < slots(); ++id)
      if (slot(id).request == nullptr) return id;
    return -1;
  }

  /// After an eviction nobody is admitted until somebody has ended.
  void admit() {
    closed_ = closed_ && !idle();
    while (!closed_ && !waiting_.empty()) {
      const int id = free_slot();
      if (id < 0 || memory_.begin(id, waiting_.front()->as_prompt(chain_)) < 0) return;
      occupy(id, waiting_.front());
      waiting_.pop_front();
    }
  }

  void occupy(int id, Request* request) {
    request->sequence = memory_.sequence(id);
    request->target = request->known();
    slot(id) = {request, ++clock_};
  }

  void vacate(int id, bool again) {
    if (again) waiting_.push_front(slot(id).request);
    if (again) memory_.seq_rm(id, 0);
    slot(id) = {};
  }

  /// One micro-batch of all that decode, then at most two for each prompt.
  std::vector<MicroBatch> split() {
    std::vector<MicroBatch> micro(1);
    micro[0].tokens = 1;
    for (int id = 0; id < slots(); ++id)
      if (slot(id).request != nullptr && memory_.end(id) >= slot(id).request->target)
        micro[0].ids.push_back(id);
    if (micro[0].ids.empty()) micro.clear();
    const Tokens interval = memory_.cache().layout().checkpoint_interval_tokens;
    for (int id = 0; id < slots(); ++id) {
      if (slot(id).request == nullptr) continue;
      const Tokens target = slot(id).request->target;
      Tokens at = memory_.end(id);
      for (int i = 0; i < 2 && at < target && micro.size() < max_steps; ++i) {
        // The kernel writes no state inside a micro-batch: it ends where a checkpoint is due.
        const Tokens stop = std::min(target, (at / interval + 1) * interval);
        micro.push_back({{id}, std::min(Tokens{48}, stop - at)});
        at += micro.back().tokens;
      }
    }
    return micro;
  }

  void decode(const std::vector<MicroBatch>& micro) {
    auto plan = memory_.init_batch(micro);
    const bool prepared = plan->prepared();
    for (std::size_t i = 0; prepared && i < plan->size(); ++i) {
      const typename Plan::Step& step = plan->launch();
      device_.launch(launch_of(step));
      if (random_() % 250 == 0) {
        device_.crash();
        break;
      }
      const std::vector<Token> sampled = device_.wait();
      plan->computed();
      take(step, sampled);
    }
    plan.reset();  // what has not run is undone
    recover();
    if (prepared) return;
    ++report_.dropped_steps;
    const auto youngest = std::ranges::max_element(slots_, {}, &Slot::since);
    vacate(static_cast<int>(youngest - slots_.begin()), true);
    closed_ = true;
  }

  Launch launch_of(const typename Plan::Step& step) {
    std::vector<hm::Sequence> sequences;
    std::vector<LaunchRow> rows;
    for (std::size_t i = 0; i < step.micro.ids.size(); ++i) {
      const Request& request = *slot(step.micro.ids[i]).request;
      sequences.push_back(request.sequence);
      rows.push_back(make_row(request, step.got[i].from, step.got[i].to));
    }
    const std::size_t batch = rows.size();
    return make_launch(memory_.cache(), step.work, sequences, std::move(rows), batch,
                       TableForm::cells);
  }

  void take(const typename Plan::Step& step, const std::vector<Token>& sampled) {
    for (std::size_t i = 0; i < step.micro.ids.size(); ++i) {
      Request& request = *slot(step.micro.ids[i]).request;
      memory_.publish(step.micro.ids[i], step.got[i].to, request.keys);
      if (sampled[i] >= 0) request.add(sampled[i], chain_);
    }
  }

  /// Between batches: sequences end, are cut back and generated again, or copied.
  void settle() {
    for (int id = 0; id < slots(); ++id) {
      Request* const request = slot(id).request;
      if (request == nullptr || memory_.end(id) < request->target) continue;
      const bool first = request->known() == request->prompt + 1;
      if (first && request->id % 4 == 0 && !request->ended) copy(id);
      if (!request->stopped()) continue;
      if (request->id % 5 == 0 && !request->preempted) {
        request->preempted = true;
        regenerate(id, request->prompt + static_cast<Tokens>(random_() % 8));  // once
        continue;
      }
      memory_.finish(id, request->computed(), request->keys);
      if (request->id <= request_count) report_.judge(*request);
      if (request->id > request_count && request->tokens != request->expected) ++report_.different;
      vacate(id, false);
      closed_ = false;
    }
  }

  /// A second answer to the same prompt, which begins with another token.
  void copy(int from) {
    const int to = free_slot();
    Request& parent = *slot(from).request;
    parent.ended = true;  // has been copied
    if (to < 0 || !memory_.seq_cp(from, to, [&](const hm::StepWork& work) {
          device_.launch(make_launch(memory_.cache(), work, {}, {}, 0, TableForm::cells));
          device_.wait();
        }))
      return;
    Request& twin = copies_.emplace_back(parent);
    twin.id += request_count;
    ++twin.prompt;
    twin.tokens.back() = (twin.tokens.back() + 1) % vocabulary;
    twin.keys.resize(chain_.whole_chunks(twin.computed()));
    twin.extend_keys(chain_);
    twin.expected = generate_alone(twin.tokens, twin.max_tokens);
    occupy(to, &twin);
  }

  /// Forgets all but the first `kept` tokens, at least the last one, and says it again.
  void regenerate(int id, Tokens kept) {
    Request& request = *slot(id).request;
    request.tokens.resize(std::min(kept, request.known() - 1));
    request.keys.resize(std::min(request.keys.size(), chain_.whole_chunks(request.tokens.size())));
    go_back(id, request.computed());
  }

  /// To the nearest state at or before `from`, or to the queue where there is none.
  void go_back(int id, Tokens from) {
    const Tokens restart = memory_.restart(id, from);
    if (restart == 0) return vacate(id, true);
    memory_.seq_rm(id, restart);
    slot(id).request->target = slot(id).request->known();
  }

  void recover() {
    for (const hm::Sequence damaged : memory_.take_damaged())
      for (int id = 0; id < slots(); ++id)
        if (slot(id).request != nullptr && memory_.sequence(id) == damaged)
          go_back(id, slot(id).request->computed());
  }

  hm::KeyChain<> chain_{{3, 4}, key_tokens};
  Memory<Organization> memory_;
  Device device_;
  std::deque<Request*> waiting_;
  std::deque<Request> copies_;
  std::vector<Slot> slots_;
  std::uint64_t clock_ = 0;
  bool closed_ = false;
  Report report_;
  std::mt19937 random_{9};
};

template <class Organization>
bool run(hm::Reuse reuse) {
  const hm::CacheOptions options{.units = small_pool(Organization::kind),
                                 .max_sequences = 12,
                                 .max_steps_in_flight = max_steps,
                                 .max_sequence_tokens = 512,
                                 .max_chunk_tokens = 64,
                                 .key_tokens = key_tokens,
                                 .reuse = reuse,
                                 .interior = hm::Interior::none,
                                 .reserve_prompt = true};
  return Server<Organization>(options).run();
}

}  // namespace

int main() {
  Report::print_head("llama_memory");
  bool good = true;
  for (const hm::Reuse reuse : {hm::Reuse::stream, hm::Reuse::ticket}) {
    good = run<hm::CoarsePages>(reuse) && good;
    good = run<hm::StaticDualPool>(reuse) && good;
  }
  std::puts(good ? "every token as computed alone" : "FAILED");
  return good ? 0 : 1;
}
