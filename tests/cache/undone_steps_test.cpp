// Steps that fail or are dropped, several at once: what the random sequences of
// reference_model_test.cpp found, each told again by hand.
#include <doctest/doctest.h>

#include "support/cache_driver.hpp"

using namespace hybridmem_test;

namespace {

CacheOptions three_steps(const OrganizationLayout& layout, Reuse reuse) {
  CacheOptions options = room_for(layout, 64, 16);
  options.max_steps_in_flight = 3;
  options.reuse = reuse;
  return options;
}

}  // namespace

TEST_CASE_TEMPLATE("what is published after a step failed settles with the steps before it", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  const OrganizationLayout layout = small_layout<O>();
  CacheDriver<O> driver(layout, three_steps(layout, Reuse::ticket));
  const Text text;
  const auto kept = driver.begin(text, 100);
  const auto other = driver.begin(Text(2), 100);
  driver.open();
  REQUIRE(driver.advance(kept, 40));
  driver.close();
  const Ticket second = driver.open();
  REQUIRE(driver.advance(other, 40));
  driver.close();
  CHECK(driver.fail(second).size() == 1);
  // The first step is still in flight, the second is void but not gone.
  CHECK(driver.publish(kept) == 40);
  CHECK(driver.match(text, 100).joint_depth == 0);
  CHECK(driver.complete());
  CHECK(driver.cache.audit({}) == 0);
  CHECK(driver.match(text, 100).joint_depth == 32);
  CHECK(driver.match(text, 100).pending_until == Ticket::none);
  // The steps that come next take no old publication back.
  for (int i = 0; i < 3; ++i) {
    driver.open();
    driver.close();
    CHECK(driver.drop());
  }
  CHECK(driver.match(text, 100).joint_depth == 32);
}

TEST_CASE_TEMPLATE("two steps dropped one after the other leave nothing held twice", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  const OrganizationLayout layout = small_layout<O>();
  CacheDriver<O> driver(layout, three_steps(layout, Reuse::stream));
  auto request = driver.begin(Text(), 200);
  REQUIRE(driver.step(request, 32));
  const auto before = driver.counts();
  driver.open();
  REQUIRE(driver.advance(request, 1));  // leaves the state at 32 behind, published
  driver.close();
  CHECK(driver.publish(request) == 33);
  const Ticket second = *driver.cache.open_step();
  REQUIRE(driver.advance(request, 40));  // is done with that state
  CHECK(driver.cache.close_step());
  CHECK(driver.cache.drop_step(second));
  CHECK(driver.cache.audit({}) == 0);
  CHECK(driver.cache.drop_step(Ticket{static_cast<std::uint64_t>(second) - 1}));
  CHECK(driver.cache.audit({}) == 0);
  // The state before the first of them was let go by the second: damaged, and it says so.
  CHECK(driver.placed(request) == 32);
  const Chunk chunk{request.sequence, 1};
  Advanced advanced;
  CHECK(driver.cache.open_step());
  CHECK(driver.cache.advance({&chunk, 1}, {&advanced, 1}).error == Error::damaged);
  CHECK(driver.cache.close_step());
  CHECK(driver.cache.truncate(request.sequence, 0));
  CHECK(driver.counts()[0].referenced < before[0].referenced);
  CHECK(driver.cache.audit({}) == 0);
}

TEST_CASE("a pin counts at least one unit, also where checkpoints have only slots") {
  OrganizationLayout layout = small_layout<SlabPacked>();
  layout.member_units = 0;
  CacheOptions options = room_for(layout, 64, 16);
  options.preemption_pinning = 1;
  options.pinned_units = 1;
  StateCache<SlabPacked> cache(layout, options);
  for (const std::uint64_t salt : {1U, 2U}) {
    const std::vector<Key> keys = Text(salt).keys(64, options.key_tokens);
    const Sequence sequence = *cache.commit({keys, Key{7, 7}, 64, 64, ~0U, salt});
    const Chunk chunk{sequence, 64};
    Advanced advanced;
    REQUIRE(cache.open_step());
    REQUIRE(cache.advance({&chunk, 1}, {&advanced, 1}).done == 1);
    REQUIRE(cache.close_step());
    CHECK(cache.publish(sequence, 64, keys));
    CHECK(cache.complete(Ticket{salt}));
    CHECK(cache.preempt(sequence));
  }
  CHECK(cache.metrics().pinned_checkpoints == 1);
}
