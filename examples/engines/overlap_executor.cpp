// An engine that overlaps the host's work on step N with the device's on step N + 1, for batches
// padded to the sizes that graphs were captured for. Two sets of buffers take turns. A request's
// prompt is paid for when it is admitted, so that only decoding can run short; then the youngest
// pauses.
#include <array>
#include <bit>

#include "fake_engine.hpp"

namespace {

using namespace fake;

template <class Organization>
class Executor {
 public:
  using Cache = hm::StateCache<Organization>;

  explicit Executor(const hm::CacheOptions& options)
      : cache_(hm::organization_layout(page_layout(), Organization::kind), options),
        device_(page_layout(), cache_.layout(), options.units, options.max_sequences,
                options.reuse == hm::Reuse::ticket) {}

  bool run() {
    std::vector<Request> requests = make_requests(request_count, chain_, 37);
    for (Request& request : requests) waiting_.push_back(&request);
    while (!waiting_.empty() || !active_.empty()) {
      admit();
      if (!iterate()) break;
    }
    return report_.print(cache_);
  }

 private:
  struct Buffers {
    hm::Ticket ticket = hm::Ticket::none;
    std::vector<Request*> rows;
  };

  void admit() {
    while (!waiting_.empty()) {
      Request* const request = waiting_.front();
      const hm::Prompt prompt = request->as_prompt(chain_);
      if (request->preempted) {
        if (!cache_.resume(request->sequence, prompt)) return;
      } else if (const auto made = cache_.commit(prompt)) {
        request->sequence = *made;
      } else {
        return;
      }
      request->preempted = false;
      request->target = request->known();
      active_.push_back(request);
      waiting_.pop_front();
    }
  }

  /// Launches one step, then does the host's work for the one before. False if nothing moved.
  bool iterate() {
    Buffers& now = ring_[turn_ % 2];
    Buffers& previous = ring_[(turn_ + 1) % 2];
    ++turn_;
    const bool launched = launch(now);
    const bool retired = previous.ticket != hm::Ticket::none;
    if (retired) retire(previous, now);
    return launched || retired;
  }

  bool launch(Buffers& buffers) {
    buffers.ticket = cache_.open_step().value();
    buffers.rows.clear();
    std::vector<hm::Chunk> chunks;
    for (Request* const request : active_) {
      const Tokens placed = cache_.position(request->sequence)->placed;
      const bool decode = placed >= request->target;
      if (decode && placed + 1 >= request->max_tokens) continue;  // its last token is on its way
      const Tokens want = decode ? 1 : std::min(request->target - placed, Tokens{96});
      chunks.push_back({request->sequence, cache_.next_stop(request->sequence, want)});
      buffers.rows.push_back(request);
    }
    std::vector<hm::Advanced> got(chunks.size());
    std::size_t done = 0;
    while (done < chunks.size()) {
      const hm::Batch batch =
          cache_.advance(std::span(chunks).subspan(done), std::span(got).subspan(done));
      done += batch.done;
      if (done == chunks.size()) break;
      if (batch.wait_for != hm::Ticket::none) {  // units are coming: this one sits the step out
        chunks.erase(chunks.begin() + static_cast<std::ptrdiff_t>(done));
        buffers.rows.erase(buffers.rows.begin() + static_cast<std::ptrdiff_t>(done));
        continue;
      }
      pause(buffers.rows.back());  // the youngest that is not yet in the step
      buffers.rows.pop_back();
      chunks.pop_back();
    }

    const hm::StepWork work = cache_.close_step().value();
    if (buffers.rows.empty()) {
      cache_.drop_step(work.ticket).value();
      buffers.ticket = hm::Ticket::none;
      return false;
    }
    std::vector<hm::Sequence> order;
    std::vector<LaunchRow> rows;
    for (std::size_t i = 0; i < buffers.rows.size(); ++i) {
      order.push_back(buffers.rows[i]->sequence);
      rows.push_back(make_row(*buffers.rows[i], got[i].from, got[i].to));
      if (got[i].to <= buffers.rows[i]->target) publish(*buffers.rows[i], got[i].to);
    }
    const std::size_t batch = std::bit_ceil(rows.size());  // the graph's size: rows beyond are -1
    device_.launch(make_launch(cache_, work, order, std::move(rows), batch, TableForm::dense));
    return true;
  }

  void retire(Buffers& done, Buffers& flying) {
    if (random_() % 120 == 0) return fail(done, flying);
    const std::vector<Token> sampled = device_.wait();
    cache_.complete(done.ticket).value();
    for (std::size_t i = 0; i < done.rows.size(); ++i) {
      Request& request = *done.rows[i];
      if (request.ended || done.ticket <= request.stale || sampled[i] < 0) continue;
      request.add(sampled[i], chain_);
      if (!request.stopped()) {
        publish(request, request.computed());
        continue;
      }
      request.ended = true;  // the step in flight may compute one token too many: never matched
      std::erase(active_, &request);
      cache_.finish(request.sequence, request.computed(), request.keys).value();
      report_.judge(request);
    }
    done.ticket = hm::Ticket::none;
  }

  void publish(const Request& request, Tokens upto) {
    const auto published = cache_.publish(request.sequence, upto, request.keys);
    if (!published && published.error() != hm::Error::position_mismatch) ++report_.different;
  }

  void pause(Request* victim) {
    victim->stale = cache_.last_ticket(victim->sequence);
    cache_.preempt(victim->sequence).value();
    victim->preempted = true;
    std::erase(active_, victim);
    waiting_.push_front(victim);
  }

  /// Both steps are lost: whoever was in them computes again from what survived.
  void fail(Buffers& done, Buffers& flying) {
    device_.crash();
    std::vector<hm::Sequence> damaged(cache_.options().max_sequences);
    damaged.resize(cache_.fail(done.ticket, damaged).value());
    done.ticket = flying.ticket = hm::Ticket::none;
    const std::vector<Request*> active = active_;
    for (Request* const request : active) {
      if (std::ranges::find(damaged, request->sequence) == damaged.end()) continue;
      const Tokens restart = cache_.restart_at_or_below(request->sequence, request->known());
      if (restart == 0) {  // nothing of its own is left: it may find more in the cache
        pause(request);
        continue;
      }
      cache_.truncate(request->sequence, restart).value();
      request->target = request->known();
    }
  }

  hm::KeyChain<> chain_{{5, 6}, key_tokens};
  Cache cache_;
  Device device_;
  std::deque<Request*> waiting_;
  std::vector<Request*> active_;  // oldest first
  std::array<Buffers, 2> ring_;
  std::size_t turn_ = 0;
  Report report_;
  std::mt19937 random_{13};
};

template <class Organization>
bool run(hm::Reuse reuse) {
  const hm::CacheOptions options{.units = small_pool(Organization::kind),
                                 .max_sequences = 16,
                                 .max_steps_in_flight = 2,
                                 .max_sequence_tokens = 512,
                                 .max_chunk_tokens = 96,
                                 .key_tokens = key_tokens,
                                 .reuse = reuse,
                                 .interior = hm::Interior::none,
                                 .reserve_prompt = true,
                                 .headroom = 0.03,
                                 .retention = 2,
                                 .preemption_pinning = 2,
                                 .organization = {.slab_order = hm::SlabOrder::creation}};
  return Executor<Organization>(options).run();
}

}  // namespace

int main() {
  Report::print_head("overlap_executor");
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
