// The events of a cache: a replica that knows nothing else answers every match as the cache does,
// no number is missing, and listening changes nothing. (The random sequences of
// reference_model_test.cpp ask a replica too, in every form of cache.)
#include <doctest/doctest.h>

#include <vector>

#include "hybridmem/organization/coarse_pages.hpp"
#include "hybridmem/organization/paged_recurrent.hpp"
#include "hybridmem/organization/slab_packed.hpp"
#include "hybridmem/organization/static_dual_pool.hpp"
#include "support/cache_driver.hpp"
#include "support/cache_replica.hpp"
#include "support/cache_script.hpp"

using namespace hybridmem_test;

namespace {

struct Record {
  static constexpr bool enabled = true;
  std::vector<Event>* events = nullptr;
  void operator()(const Event& event) const { events->push_back(event); }
};

std::vector<EventKind> kinds_of(const std::vector<Event>& events, std::size_t from = 0) {
  std::vector<EventKind> kinds;
  for (std::size_t i = from; i < events.size(); ++i) kinds.push_back(events[i].kind);
  return kinds;
}

bool same(const Match& a, const Match& b) {
  return a.attention_depth == b.attention_depth && a.recurrent_depth == b.recurrent_depth &&
         a.joint_depth == b.joint_depth && a.pending_depth == b.pending_depth &&
         a.pending_until == b.pending_until && a.limited_by == b.limited_by;
}

/// Matches that the replica of the events so far answers differently, over many prompts.
template <class Cache>
int differences(const Cache& cache, const std::vector<Event>& events, const ReplicaShape& shape,
                const Texts& texts, Choices& choices) {
  CacheReplica replica(shape);
  for (const Event& event : events) replica.apply(event);
  int count = 0;
  Texts more = texts;
  for (int i = 0; i < 8; ++i) {
    const auto text = more.any_text(choices);
    const auto keys = texts.keys_of({1, 2}, text);
    const Tokens most = cache.options().max_sequence_tokens;
    const Prompt prompt{
        keys, {1, 2}, 1 + choices.below(most), most, choices.once_in(4) ? choices.below(most) : ~0U,
        0};
    count += same(cache.match(prompt), replica.match(prompt)) ? 0 : 1;
  }
  return count;
}

}  // namespace

TEST_CASE_TEMPLATE("a replica built from events alone answers every match as the cache does", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      Choices choices(seed);
      CacheWorld world = any_cache_world(O::kind, choices);
      world.options.reuse = reuse;
      const ReplicaShape shape{world.layout.block_tokens, world.layout.checkpoint_interval_tokens,
                               world.options.key_tokens, world.layout.units_per_block > 0,
                               reuse == Reuse::stream};
      std::vector<Event> events;
      using Cache = StateCache<O, Record>;
      Cache cache(world.layout, world.options, Record{&events});
      CacheScript<Cache> script(cache, choices);
      Choices asked(seed);
      int wrong = 0;
      for (int i = 0; i < 300; ++i) {
        script.call();
        if (i % 10 == 0) wrong += differences(cache, events, shape, script.texts(), asked);
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("numbers have no gap, and a stream ends with its end record") {
  const OrganizationLayout layout = small_layout<SlabPacked>();
  std::vector<Event> events;
  CacheDriver<SlabPacked, Record> driver(layout, room_for(layout, 12, 4), Record{&events});
  for (const std::uint64_t salt : {1U, 2U, 3U, 4U}) REQUIRE(driver.serve(Text(salt), 100));
  driver.cache.advance_epoch();
  REQUIRE(driver.cache.reset());
  REQUIRE(driver.serve(Text(5), 40));
  driver.cache.end_events();
  for (std::size_t i = 0; i < events.size(); ++i) CHECK(events[i].number == i + 1);
  CHECK(events.back().kind == EventKind::end_of_stream);
  CacheReplica replica({16, 32, 8, true, true});
  for (const Event& event : events) {
    CHECK_FALSE(replica.complete());
    replica.apply(event);
  }
  CHECK(replica.complete());
  // A loss on the way shows.
  CacheReplica other({16, 32, 8, true, true});
  other.apply(events[0]);
  CHECK_THROWS(other.apply(events[2]));
}

TEST_CASE_TEMPLATE("listening changes neither digests nor outcomes", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Choices loud(seed);
    Choices quiet(seed);
    const CacheWorld world = any_cache_world(O::kind, loud);
    any_cache_world(O::kind, quiet);
    std::vector<Event> events;
    using Heard = StateCache<O, Record>;
    Heard heard(world.layout, world.options, Record{&events});
    StateCache<O> unheard(world.layout, world.options);
    CacheScript<Heard> first(heard, loud);
    CacheScript<StateCache<O>> second(unheard, quiet);
    for (int i = 0; i < 300; ++i) {
      first.call();
      second.call();
    }
    CHECK(heard.fingerprint() == unheard.fingerprint());
    CHECK(first.outcome() == second.outcome());
    CHECK(!events.empty());
  }
}

TEST_CASE("one event for each change of what can be found or who holds it") {
  const OrganizationLayout layout = small_layout<SlabPacked>();
  std::vector<Event> events;
  CacheDriver<SlabPacked, Record> driver(layout, room_for(layout, 12, 4), Record{&events});
  const auto request = driver.begin(Text(1), 40, 40, 77);
  REQUIRE(kinds_of(events) == std::vector{EventKind::admitted});
  CHECK(events[0].requester == 77);
  CHECK(events[0].end == 0);
  driver.open();
  driver.advance(request, 40);
  driver.close();
  CHECK(kinds_of(events, 1) == std::vector{EventKind::step_opened, EventKind::step_closed});
  std::size_t seen = events.size();
  CHECK(driver.publish(request) == 40);
  CHECK(kinds_of(events, seen) ==
        std::vector{EventKind::published, EventKind::published, EventKind::published});
  const auto keys = Text(1).keys(40, 8);
  const Event& block = events[seen + 1];
  CHECK(block.object_kind == EventObject::attention_block);
  CHECK(Key{block.key_high, block.key_low} == keys[3]);
  CHECK(Key{block.parent_high, block.parent_low} == keys[1]);
  CHECK(block.begin == 16);
  CHECK(block.end == 32);
  CHECK(block.units == 1);
  CHECK(block.ticket == 1);
  CHECK(block.requester == 77);
  CHECK(block.epoch == driver.cache.epoch());
  const Event& checkpoint = events[seen + 2];
  CHECK(checkpoint.object_kind == EventObject::checkpoint);
  CHECK(Key{checkpoint.parent_high, checkpoint.parent_low} == keys[2]);
  CHECK(checkpoint.begin == 0);
  CHECK(checkpoint.end == 32);
  CHECK(checkpoint.units == 3);
  seen = events.size();
  CHECK(driver.complete());
  CHECK(driver.finish(request));
  CHECK(kinds_of(events, seen) == std::vector{EventKind::step_completed, EventKind::ended});
  seen = events.size();
  driver.cache.clear();
  CHECK(kinds_of(events, seen) == std::vector{EventKind::lost, EventKind::lost, EventKind::lost});
  CHECK(events[seen].cause == LossCause::evicted);
  CHECK(Key{events[seen].key_high, events[seen].key_low} == keys[1]);
  seen = events.size();
  driver.cache.advance_epoch();
  CHECK(kinds_of(events, seen) == std::vector{EventKind::epoch});
  CHECK(events[seen].epoch == driver.cache.epoch());
  CHECK(driver.cache.metrics().events == events.size());
}
