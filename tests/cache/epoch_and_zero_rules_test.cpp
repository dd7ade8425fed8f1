// Epochs, and what must be cleared: rules L14 and L15.
#include "support/cache_driver.hpp"

using namespace hybridmem_test;

TEST_CASE_TEMPLATE(
    "L14: nothing of an old epoch matches, and its sequences finish, publish nothing", O,
    CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 30, [](CacheOptions& o) { o.preemption_pinning = 1; });
  const Text text(1);
  REQUIRE(driver.serve(text, 64, 32));
  const auto old = driver.begin(Text(text, 64, 2), 200);
  auto pinned = driver.begin(Text(text, 64, 3), 100);
  REQUIRE(driver.cache.preempt(pinned.sequence));
  CHECK(driver.cache.metrics().pinned_checkpoints == 1);
  const auto before = driver.counts();
  driver.cache.advance_epoch();
  CHECK(driver.cache.metrics().pinned_checkpoints == 0);
  CHECK(driver.counts() == before);  // `old` holds the pinned one too
  CHECK(driver.match(text, 65).joint_depth == 0);
  CHECK(driver.match(text, 65).attention_depth == 0);
  REQUIRE(driver.prefill(old, 150, 20, false));
  CHECK(driver.cache.publish(old.sequence, 150, old.text.keys(150, 8)).error() == Error::old_epoch);
  // It forks and is cut as before; its checkpoint cannot be pinned.
  auto again = driver.begin(Text(text, 64, 4), 100);
  CHECK(driver.placed(again) == 0);
  REQUIRE(driver.prefill(again, 100));
  CHECK(driver.match(again.text, 100).joint_depth == 96);
  REQUIRE(driver.finish(old));
  CHECK(driver.match(old.text, 150).attention_depth == 64);  // what `again` published
  CHECK(driver.fault.empty());

  auto late = make_driver<O>(80, 30, [](CacheOptions& o) { o.preemption_pinning = 1; });
  const auto victim = late.begin(text, 100);
  REQUIRE(late.prefill(victim, 64, 32));
  late.cache.advance_epoch();
  REQUIRE(late.cache.preempt(victim.sequence));
  CHECK(late.cache.metrics().pinned_checkpoints == 0);
  CHECK(late.referenced() == 0);
}

TEST_CASE_TEMPLATE("L14: a preempted sequence comes back in the epoch of its resume", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 30);
  const Text text(1);
  auto request = driver.begin(text, 100);
  REQUIRE(driver.prefill(request, 64, 32));
  REQUIRE(driver.cache.preempt(request.sequence));
  driver.cache.advance_epoch();
  REQUIRE(driver.resume(request, 100));
  CHECK(driver.placed(request) == 0);
  REQUIRE(driver.prefill(request, 100, 32));
  CHECK(driver.match(text, 100).joint_depth == 96);
}

TEST_CASE_TEMPLATE("L14: clear forgets what is cached, reset makes all handles stale", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 30, [](CacheOptions& o) { o.checkpoint_units = 40; });
  const Text text(1);
  REQUIRE(driver.serve(text, 96, 32));
  const auto runs = driver.begin(Text(text, 64, 2), 100);
  driver.cache.clear();
  CHECK(driver.match(text, 97).attention_depth == 0);
  CHECK(driver.counts()[0].cached + driver.counts()[1].cached == 0);
  CHECK(driver.placed(runs) == 64);
  REQUIRE(driver.prefill(runs, 100, 9));
  CHECK(driver.fault.empty());
  driver.open();
  CHECK(driver.cache.reset().error() == Error::wrong_state);
  driver.close();
  driver.complete();
  REQUIRE(driver.cache.reset());
  CHECK(driver.cache.position(runs.sequence).error() == Error::stale_handle);
  CHECK(driver.used(0) + driver.used(1) == 0);
  CHECK(driver.match(text, 97).joint_depth == 0);
  REQUIRE(driver.cache.audit({}) == 0);
  CHECK(*driver.cache.open_step() == Ticket{1});
}

TEST_CASE_TEMPLATE("L15: attention pages entering use are cleared once, states never", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const bool reserve : {false, true}) {
    CAPTURE(reserve);
    auto driver = make_driver<O>(40, 12, [&](CacheOptions& o) { o.reserve_prompt = reserve; });
    const Text text(1);
    const auto request = driver.begin(text, 100);
    std::multiset<std::int32_t> zeroed;
    const auto step = [&](const auto& one, Tokens tokens) {
      driver.open();
      REQUIRE(driver.advance(one, tokens));
      const StepWork work = driver.close();
      for (const UnitZero& zero : work.zeros) {
        CHECK(zero.place == Place::attention_page);
        zeroed.insert(zero.id);
      }
      driver.complete();
      driver.publish(one);
      return work.zeros.size();
    };
    for (const Tokens tokens : {10U, 10U, 30U, 50U}) step(request, tokens);
    std::multiset<std::int32_t> pages;
    for (const BlockId id : driver.cache.blocks_of(request.sequence))
      for (const std::int32_t page : driver.cache.organization().pages(id)) pages.insert(page);
    CHECK(zeroed == pages);
    // Adopted blocks are not cleared.
    const auto adopts = driver.begin(Text(text, 96, 2), 130);
    CHECK(driver.placed(adopts) == 96);
    CHECK(step(adopts, 34) == 3);
    CHECK(driver.fault.empty());
  }
}

TEST_CASE_TEMPLATE("L15: what a dropped step would have cleared is cleared by the next", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const bool reserve : {false, true}) {
    auto driver = make_driver<O>(40, 12, [&](CacheOptions& o) { o.reserve_prompt = reserve; });
    const auto request = driver.begin(Text(1), 64);
    driver.open();
    REQUIRE(driver.advance(request, 64));
    CHECK(driver.close().zeros.size() == 4);
    REQUIRE(driver.drop());
    driver.open();
    REQUIRE(driver.advance(request, 20));
    CHECK(driver.close().zeros.size() >= 2);
    REQUIRE(driver.complete());
    REQUIRE(driver.prefill(request, 64));
    CHECK(driver.fault.empty());
  }
}

TEST_CASE_TEMPLATE("L15: a sequence that starts from nothing is fresh, once", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(40, 12);
  const Text text(1);
  const auto fresh = [&](const auto& request) {
    const Ticket ticket = driver.open();
    REQUIRE(driver.advance(request, 20));
    driver.close();
    std::vector<std::int32_t> source(8, -5);
    std::vector<std::int32_t> target(64, -5);
    std::vector<std::int32_t> source_line(1, -5);
    std::vector<std::int32_t> target_line(8, -5);
    std::array<std::uint32_t, 2> begin{};
    std::array<std::uint8_t, 1> flag{7};
    REQUIRE(driver.cache.fill_states(ticket, 0, {&request.sequence, 1},
                                     StateTablesOut{{source.data(), 8, 1, 8, -1},
                                                    {target.data(), 8, 8, 8, -1},
                                                    source_line,
                                                    target_line,
                                                    begin,
                                                    {},
                                                    flag}));
    CHECK((source[0] < 0) == (flag[0] == 1));
    CHECK((source_line[0] < 0) == (flag[0] == 1));
    CHECK(target[0] >= 0);
    CHECK(target[8 * begin[1]] == -1);  // rows beyond are absent
    driver.complete();
    driver.publish(request);
    return flag[0] == 1;
  };
  auto first = driver.begin(text, 100);
  CHECK(fresh(first));
  CHECK(!fresh(first));
  CHECK(!fresh(driver.begin(Text(text, 32, 2), 100)));
  REQUIRE(driver.truncate(first, 0, 3));
  CHECK(fresh(first));
  CHECK(driver.fault.empty());
}
