// A recorded life replays to the same digest on a like cache, and to its end on any other.
#include "hybridmem/cache/trace_replay.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "hybridmem/cache/recording_cache.hpp"
#include "hybridmem/model/layout_solver.hpp"
#include "hybridmem/model/make_geometry.hpp"
#include "hybridmem/organization/coarse_pages.hpp"
#include "hybridmem/organization/paged_recurrent.hpp"
#include "hybridmem/organization/slab_packed.hpp"
#include "hybridmem/organization/static_dual_pool.hpp"

using namespace hybridmem;

namespace {

struct Append {
  std::vector<TraceRecord>* records;
  void operator()(const TraceRecord& record) const { records->push_back(record); }
};

PageLayout small_layout() {
  return solve_layout(*make_geometry(GeometryNumbers{4, 4, 64, 64 * 128 * 3, 1024, 64, 16}),
                      {.block_tokens = 128, .checkpoint_interval_tokens = 256})
      .value();
}

template <class Organization>
std::unique_ptr<StateCache<Organization>> small_cache(PoolUnits units = {100, 30}) {
  CacheOptions options;
  options.units = units;
  options.max_sequences = 6;
  options.max_sequence_tokens = 4096;
  options.max_chunk_tokens = 700;
  return StateCache<Organization>::create(organization_layout(small_layout(), Organization::kind),
                                          options)
      .value();
}

Key key_of(std::uint64_t text, std::uint64_t place) {
  return {text * 0x9e3779b97f4a7c15U + 1, place * 0xd6e8feb86659fd93U + text};
}

struct Request {
  Sequence sequence{};
  std::vector<Key> keys;
  Tokens prompt = 0;
  bool preempted = false;
};

/// A few hundred calls of an engine: shared and unique prompts, prefill, decode, preemption, forks.
template <class Recorder>
void live(Recorder& recorder, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t limit) {
    return std::uniform_int_distribution<std::uint32_t>(0, limit - 1)(random);
  };
  std::vector<Request> requests;
  std::uint64_t next = 100;
  for (int step = 0; step < 200; ++step) {
    if (requests.size() < 5 && below(2) == 0) {
      Request request;
      const Tokens shared = below(4) * 256;
      const std::uint64_t own = next++;
      for (Tokens at = 16; at <= 4096; at += 16)
        request.keys.push_back(key_of(at <= shared ? 1 : own, at));
      request.prompt = shared + 1 + below(900);
      Prompt prompt{.keys = request.keys,
                    .tokens = request.prompt,
                    .max_tokens = request.prompt + 300,
                    .requester = own};
      if (const auto made = recorder.commit(prompt)) {
        request.sequence = *made;
        requests.push_back(request);
      }
    }
    REQUIRE(recorder.open_step());
    for (std::size_t i = 0; i < requests.size();) {
      Request& request = requests[i];
      if (request.preempted) {
        ++i;
        continue;
      }
      const Tokens placed = recorder.cache().position(request.sequence)->placed;
      const Tokens left = placed < request.prompt ? request.prompt - placed : 1;
      const Chunk chunk{request.sequence, std::min<Tokens>(left, 1 + below(700))};
      Advanced advanced;
      if (recorder.advance({&chunk, 1}, {&advanced, 1}).done == 0) {
        REQUIRE(recorder.preempt(request.sequence));
        request.preempted = true;
      } else {
        REQUIRE(recorder.publish(request.sequence, advanced.to, request.keys));
        if (advanced.to > request.prompt + 200 || below(40) == 0) {
          REQUIRE(recorder.finish(request.sequence, advanced.to, request.keys));
          requests.erase(requests.begin() + static_cast<std::ptrdiff_t>(i));
          continue;
        }
      }
      ++i;
    }
    const auto work = recorder.close_step();
    REQUIRE(work);
    REQUIRE(recorder.complete(work->ticket));
    for (Request& request : requests) {
      if (!request.preempted) continue;
      const Prompt prompt{.keys = request.keys,
                          .tokens = request.prompt,
                          .max_tokens = request.prompt + 300,
                          .requester = 1};
      if (recorder.resume(request.sequence, prompt)) request.preempted = false;
    }
  }
}

template <class Organization>
std::vector<TraceRecord> recorded(StateCache<Organization>& cache, unsigned seed) {
  std::vector<TraceRecord> records;
  RecordingCache recorder(cache, Append{&records});
  live(recorder, seed);
  return records;
}

}  // namespace

TEST_CASE_TEMPLATE("a replay on a like cache differs in nothing", Organization, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    const auto cache = small_cache<Organization>();
    const std::vector<TraceRecord> records = recorded(*cache, seed);
    const auto again = small_cache<Organization>();
    TraceReplay replay(*again);
    replay.apply(records);
    CHECK(replay.report().calls > 500);
    CHECK(replay.report().differing_outcomes == 0);
    CHECK(replay.report().lost_sequences == 0);
    CHECK(replay.report().refused_admissions == 0);
    CHECK(again->metrics().published_blocks == cache->metrics().published_blocks);
    CHECK(again->metrics().adopted_tokens == cache->metrics().adopted_tokens);
    CHECK(again->metrics().blocks_evicted == cache->metrics().blocks_evicted);
    for (std::uint8_t pool = 0; pool < cache->layout().pools; ++pool)
      CHECK(again->organization().counts(pool) == cache->organization().counts(pool));
    CHECK(again->audit({}) == 0);
  }
}

TEST_CASE_TEMPLATE("a record of one organization runs to its end on any other", Organization,
                   CoarsePages, PagedRecurrent, StaticDualPool) {
  const auto cache = small_cache<SlabPacked>();
  const std::vector<TraceRecord> records = recorded(*cache, 7);
  const auto other = small_cache<Organization>({60, 20});
  TraceReplay replay(*other);
  for (const TraceRecord& record : records) {
    replay.apply(record);
    if (record.op == TraceOp::complete) REQUIRE(other->audit({}) == 0);
  }
  CHECK(replay.report().computed_tokens > 0);
  CHECK(other->metrics().steps == cache->metrics().steps);
}

TEST_CASE("a sequence that a smaller cache cannot carry on is aborted and counted") {
  const auto cache = small_cache<SlabPacked>();
  const std::vector<TraceRecord> records = recorded(*cache, 5);
  const auto tiny = small_cache<SlabPacked>({14, 0});
  TraceReplay replay(*tiny);
  replay.apply(records);
  CHECK(replay.report().lost_sequences + replay.report().refused_admissions > 0);
  CHECK(replay.report().differing_outcomes > 0);
  CHECK(tiny->audit({}) == 0);
}

TEST_CASE("keys are recorded once, and a child's only as far as it shares") {
  const auto cache = small_cache<SlabPacked>();
  std::vector<TraceRecord> records;
  RecordingCache recorder(*cache, Append{&records});
  std::vector<Key> keys;
  for (Tokens at = 16; at <= 1024; at += 16) keys.push_back(key_of(9, at));
  const auto parent = recorder.commit({.keys = keys, .tokens = 1000, .max_tokens = 1024});
  REQUIRE(parent);
  REQUIRE(recorder.open_step());
  const Chunk chunk{*parent, 600};
  Advanced advanced;
  REQUIRE(recorder.advance({&chunk, 1}, {&advanced, 1}).done == 1);
  REQUIRE(recorder.publish(*parent, 600, keys));
  const auto work = recorder.close_step();
  REQUIRE(work);
  REQUIRE(recorder.complete(work->ticket));
  REQUIRE(recorder.open_step());
  const auto child = recorder.fork(*parent);
  REQUIRE(child);
  const auto count = [&](std::uint32_t sequence) {
    return std::count_if(records.begin(), records.end(), [sequence](const TraceRecord& record) {
      return record.op == TraceOp::key && record.sequence == sequence && record.tokens > 0;
    });
  };
  CHECK(count(0) == 64);
  std::vector<Key> own(keys.begin(), keys.begin() + 37);
  own.push_back(key_of(10, 608));
  REQUIRE(recorder.publish(*child, 600, own));
  CHECK(count(1) == 1);  // 600 tokens share 37 keys
}
