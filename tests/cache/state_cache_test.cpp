// The whole cache under random calls: whatever an engine does, what a step reads is what it should
// be, units add up, and storage is what the closed forms say.
#include "hybridmem/cache/state_cache.hpp"

#include <random>

#include "hybridmem/organization/storage_cost.hpp"
#include "support/cache_driver.hpp"
#include "support/organization_audit.hpp"

using namespace hybridmem_test;

namespace {

struct Storm {
  Reuse reuse = Reuse::stream;
  Shape shape{};
  std::uint64_t blocks = 24;
  std::uint64_t states = 6;
  bool reserve = false;
  bool anchors = false;
  bool yields = true;
  std::uint32_t retention = 0;
  std::uint32_t pinning = 0;
  std::uint64_t checkpoint_units = 0;
  FreeOrder free_order = FreeOrder::unpublished_first;
};

template <class O>
CacheOptions options_of(const Storm& storm) {
  const OrganizationLayout layout = small_layout<O>(storm.shape);
  CacheOptions options = room_for(layout, storm.blocks, storm.states);
  options.max_sequences = 6;
  options.max_steps_in_flight = 3;
  options.max_sequence_tokens = 400;
  options.max_chunk_tokens = 100;
  options.reuse = storm.reuse;
  options.reserve_prompt = storm.reserve;
  options.prompt_anchors = storm.anchors;
  options.checkpoints_yield = storm.yields;
  options.retention = storm.retention;
  options.preemption_pinning = storm.pinning;
  options.checkpoint_units = storm.checkpoint_units;
  options.organization.free_order = storm.free_order;
  return options;
}

/// Random calls in random order; the first thing that was wrong, or nothing.
template <class O>
std::string storm_of(const Storm& storm, unsigned seed, int calls) {
  using Driver = CacheDriver<O>;
  using Request = typename Driver::Request;
  Driver driver(small_layout<O>(storm.shape), options_of<O>(storm));
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t limit) {
    return static_cast<std::uint32_t>(random() % limit);
  };
  std::vector<Text> stems;
  for (std::uint64_t salt = 1; salt <= 3; ++salt) stems.emplace_back(salt);
  std::vector<Request> live;
  std::vector<Request> preempted;
  std::vector<std::uint64_t> in_flight;
  std::uint64_t salt = 100;
  bool open = false;
  const auto gone = [&](std::vector<Request>& from, std::size_t i) {
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(i));
  };
  for (int call = 0; call < calls; ++call) {
    const std::size_t pick = live.empty() ? 0 : below(static_cast<std::uint32_t>(live.size()));
    switch (below(20)) {
      case 0:
      case 1: {
        const Text text(stems[below(3)], below(6) * 16 + below(2) * 5, ++salt);
        Request request = driver.begin(text, 1 + below(140), 0, below(4));
        if (driver.error == Error::none) live.push_back(request);
        break;
      }
      case 2:
      case 3:
        if (open) break;
        driver.open();
        open = driver.error == Error::none;
        if (open) in_flight.push_back(0);
        break;
      case 4:
      case 5:
      case 6:
      case 7:
      case 8:
        if (open && !live.empty()) {
          const Tokens tokens = below(3) == 0 ? 1 : 1 + below(70);
          const auto before = driver.counts();
          if (!driver.advance(live[pick], tokens) && !(before == driver.counts()) &&
              storm.pinning == 0)
            return "a refused chunk changed counts";
          if (below(3) == 0) driver.publish(live[pick]);
        }
        break;
      case 9:
      case 10:
        if (open) {
          driver.close();
          open = false;
        }
        break;
      case 11:
      case 12:
        if (!in_flight.empty() && driver.complete()) in_flight.erase(in_flight.begin());
        break;
      case 13:
        if (!live.empty()) driver.publish(live[pick], below(140));
        break;
      case 14:
        if (!live.empty() && driver.finish(live[pick])) gone(live, pick);
        break;
      case 15:
        if (!live.empty() && below(2) == 0 && driver.cache.abort(live[pick].sequence))
          gone(live, pick);
        break;
      case 16:
        if (!live.empty() && driver.cache.preempt(live[pick].sequence)) {
          preempted.push_back(live[pick]);
          gone(live, pick);
        } else if (!preempted.empty()) {
          const std::size_t back = below(static_cast<std::uint32_t>(preempted.size()));
          if (driver.resume(preempted[back], preempted[back].prompt + below(20))) {
            live.push_back(preempted[back]);
            gone(preempted, back);
          }
        }
        break;
      case 17:
        if (open && !live.empty()) {
          const Request child = driver.fork(live[pick], ++salt);
          if (driver.error == Error::none) live.push_back(child);
        }
        break;
      case 18:
        if (!live.empty()) {
          const Tokens to = driver.cache.restart_at_or_below(live[pick].sequence, below(200));
          const auto status = driver.truncate(live[pick], to, ++salt);
          if (!status && status.error() == Error::no_state) return "truncate refuses its own hint";
        }
        break;
      default:
        if (below(4) == 0 && !in_flight.empty()) {
          if (below(2) == 0) {
            if (driver.drop()) {
              in_flight.pop_back();
              open = false;
            }
          } else {
            driver.fail(driver.oldest());
            if (driver.error == Error::none) {
              in_flight.clear();
              open = false;
            }
          }
          std::erase_if(live, [&](const Request& request) {
            return !driver.cache.position(request.sequence);
          });
        }
        break;
    }
    if (!driver.fault.empty()) return driver.fault;
    if (const std::string found = audit(driver.cache.organization()); !found.empty()) return found;
    if (driver.cache.audit({}) != 0) return "the cache finds a contradiction";
  }
  return {};
}

template <class O>
void storms(const Storm& storm, unsigned seeds, int calls = 300) {
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    const std::string fault = storm_of<O>(storm, seed, calls);
    CHECK_MESSAGE(fault.empty(), fault);
    if (!fault.empty()) return;
  }
}

}  // namespace

TEST_CASE_TEMPLATE("whatever an engine does, a step reads what it should", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    CAPTURE(static_cast<int>(reuse));
    Storm storm;
    storm.reuse = reuse;
    storms<O>(storm, 12);
    storm.states = 16;
    storms<O>(storm, 12);
    storm.shape.stacks = 2;
    storms<O>(storm, 6);
  }
}

TEST_CASE_TEMPLATE("the same with every policy on", O, CoarsePages, PagedRecurrent, SlabPacked,
                   StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    CAPTURE(static_cast<int>(reuse));
    Storm storm;
    storm.reuse = reuse;
    storm.reserve = true;
    storm.anchors = true;
    storm.retention = 2;
    storm.pinning = 2;
    storm.checkpoint_units = 12;
    storms<O>(storm, 12);
    storm.reserve = false;
    storm.yields = false;
    storm.checkpoint_units = 0;
    storm.free_order = FreeOrder::release_order;
    storms<O>(storm, 12);
  }
}
