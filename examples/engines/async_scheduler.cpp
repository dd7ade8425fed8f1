// An engine with an asynchronous scheduler: step N + 1 is planned and launched while step N runs,
// so the host learns a token one step late. Under pressure the youngest request gives way and comes
// back later. Chunked prefill, publishing as early as possible, steps withdrawn and steps failing.
#include "fake_engine.hpp"

namespace {

using namespace fake;

template <class Organization>
class Scheduler {
 public:
  using Cache = hm::StateCache<Organization>;

  Scheduler(const hm::PageLayout& pages, const hm::CacheOptions& options)
      : cache_(hm::organization_layout(pages, Organization::kind), options),
        device_(pages, cache_.layout(), options.units, options.max_sequences,
                options.reuse == hm::Reuse::ticket) {}

  bool run() {
    std::vector<Request> requests = make_requests(request_count, chain_, 11);
    for (Request& request : requests) waiting_.push_back(&request);
    while (!waiting_.empty() || !running_.empty() || !flying_.empty()) {
      const bool launched = flying_.size() < cache_.options().max_steps_in_flight && schedule();
      if (!launched && flying_.empty()) break;  // nothing moves: the report will miss requests
      if (!launched || flying_.size() == cache_.options().max_steps_in_flight) update();
    }
    return report_.print(cache_);
  }

 private:
  /// A step in flight: whose rows it has.
  struct Flight {
    hm::Ticket ticket;
    std::vector<Request*> rows;
  };

  /// Plans the next step and launches it; false if there is nothing to do.
  bool schedule() {
    cache_.open_step().value();
    step_ = {};
    Tokens budget = 128;
    bool preempted = false;
    for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
      Request* const request = running_[i];
      const Tokens placed = cache_.position(request->sequence)->placed;
      const bool decode = placed >= request->target;
      if (decode && placed + 1 >= request->max_tokens) continue;  // its last token is on its way
      const Tokens want = decode ? 1 : std::min(request->target - placed, budget);
      const hm::Chunk chunk{request->sequence, cache_.next_stop(request->sequence, want)};
      while (!extend(request, chunk, budget)) {
        if (refused_.wait_for != hm::Ticket::none) break;  // sits this step out: units are coming
        Request* const victim = running_.back();
        preempt(victim);
        preempted = true;
        if (victim == request) break;
      }
    }
    while (!preempted && !waiting_.empty() && budget > 0 && admit(budget)) {
    }
    return launch();
  }

  /// Extends one sequence in the open step, and publishes what of its keys is known.
  bool extend(Request* request, const hm::Chunk& chunk, Tokens& budget) {
    hm::Advanced got;
    refused_ = cache_.advance({&chunk, 1}, {&got, 1});
    if (refused_.done == 0) return false;
    budget -= std::min(budget, chunk.tokens);
    step_.requests.push_back(request);
    step_.sequences.push_back(request->sequence);
    step_.rows.push_back(make_row(*request, got.from, got.to));
    if (got.to <= request->target) publish(*request, got.to);
    return true;
  }

  bool admit(Tokens& budget) {
    Request* const request = waiting_.front();
    const hm::Prompt prompt = request->as_prompt(chain_);
    const hm::Admission admission = cache_.plan(cache_.match(prompt), prompt);
    if (admission.verdict != hm::Verdict::ready) return false;
    if (request->preempted) {
      if (!cache_.resume(request->sequence, prompt)) return false;
    } else {
      const auto sequence = cache_.commit(prompt);
      if (!sequence) return false;
      request->sequence = *sequence;
    }
    request->preempted = false;
    request->target = request->known();
    running_.push_back(request);
    waiting_.pop_front();
    const Tokens placed = cache_.position(request->sequence)->placed;
    const Tokens want =
        cache_.next_stop(request->sequence, std::min(request->target - placed, budget));
    if (extend(request, {request->sequence, want}, budget)) return true;
    preempt(request);
    return false;
  }

  void publish(const Request& request, Tokens upto) {
    // A boundary whose state was not saved publishes nothing; the next call covers its blocks.
    const auto published = cache_.publish(request.sequence, upto, request.keys);
    if (!published && published.error() != hm::Error::position_mismatch) ++report_.different;
  }

  void preempt(Request* victim) {
    victim->stale = cache_.last_ticket(victim->sequence);
    cache_.preempt(victim->sequence).value();  // leaves the open step as well
    victim->preempted = true;
    std::erase(running_, victim);
    waiting_.push_front(victim);
    const auto at = std::ranges::find(step_.requests, victim);
    if (at == step_.requests.end()) return;
    const auto index = at - step_.requests.begin();
    step_.requests.erase(at);
    step_.sequences.erase(step_.sequences.begin() + index);
    step_.rows.erase(step_.rows.begin() + index);
  }

  bool launch() {
    const hm::StepWork work = cache_.close_step().value();
    const bool withdrawn = !step_.rows.empty() && random_() % 40 == 0;
    if (step_.rows.empty() || withdrawn) {  // never launched, as if it had not been
      cache_.drop_step(work.ticket).value();
      report_.dropped_steps += withdrawn ? 1U : 0U;
      return withdrawn;
    }
    const std::size_t batch = step_.rows.size();
    device_.launch(make_launch(cache_, work, step_.sequences, std::move(step_.rows), batch,
                               TableForm::compressed));
    flying_.push_back({work.ticket, std::move(step_.requests)});
    return true;
  }

  /// Takes the oldest step's outputs, while the next one runs.
  void update() {
    if (flying_.empty()) return;
    if (random_() % 120 == 0) return fail();
    const Flight flight = std::move(flying_.front());
    flying_.pop_front();
    const std::vector<Token> sampled = device_.wait();
    cache_.complete(flight.ticket).value();
    for (std::size_t i = 0; i < flight.rows.size(); ++i) {
      Request& request = *flight.rows[i];
      if (request.ended || flight.ticket <= request.stale || sampled[i] < 0) continue;
      request.add(sampled[i], chain_);
      if (random_() % 2000 == 0) {
        end(request, true);
      } else if (request.stopped()) {
        end(request, false);
      } else {
        publish(request, request.computed());
      }
    }
  }

  void end(Request& request, bool client_gone) {
    request.ended = true;
    std::erase(running_, &request);
    if (client_gone) {
      ++report_.aborted;
      cache_.abort(request.sequence).value();
    } else {
      cache_.finish(request.sequence, request.computed(), request.keys).value();
      report_.judge(request);
    }
  }

  /// Everything in flight is lost. Sequences whose state it touched go back to one that survived.
  void fail() {
    device_.crash();
    std::vector<hm::Sequence> damaged(cache_.options().max_sequences);
    damaged.resize(cache_.fail(flying_.front().ticket, damaged).value());
    flying_.clear();
    for (const hm::Sequence sequence : damaged) {
      Request& request = **std::ranges::find_if(
          running_, [&](const Request* one) { return one->sequence == sequence; });
      cache_.truncate(sequence, cache_.restart_at_or_below(sequence, request.known())).value();
      request.target = request.known();
    }
  }

  hm::KeyChain<> chain_{{1, 2}, key_tokens};
  Cache cache_;
  Device device_;
  std::deque<Request*> waiting_;
  std::vector<Request*> running_;  // oldest first
  std::deque<Flight> flying_;
  struct {
    std::vector<Request*> requests;
    std::vector<hm::Sequence> sequences;
    std::vector<LaunchRow> rows;
  } step_;  // the one being planned
  hm::Batch refused_;
  Report report_;
  std::mt19937 random_{5};
};

template <class Organization>
bool run(hm::Reuse reuse) {
  const hm::CacheOptions options{.units = small_pool(Organization::kind),
                                 .max_sequences = 16,
                                 .max_steps_in_flight = 2,
                                 .max_sequence_tokens = 512,
                                 .max_chunk_tokens = 128,
                                 .key_tokens = key_tokens,
                                 .kernel_chunk_tokens = 16,
                                 .reuse = reuse,
                                 .interior = hm::Interior::from_chunk_start,
                                 .prompt_anchors = true};
  return Scheduler<Organization>(page_layout(), options).run();
}

}  // namespace

int main() {
  Report::print_head("async_scheduler");
  bool good = true;
  for (const hm::Reuse reuse : {hm::Reuse::stream, hm::Reuse::ticket}) {
    good = run<hm::CoarsePages>(reuse) && good;
    good = run<hm::PagedRecurrent>(reuse) && good;
    good = run<hm::SlabPacked>(reuse) && good;
    good = run<hm::StaticDualPool>(reuse) && good;
  }
  std::puts(good ? "every token as computed alone" : "FAILED");
  return good ? 0 : 1;
}
