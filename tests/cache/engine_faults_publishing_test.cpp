// Faults that engines shipped in publishing, fences and contents, as small cases. The name in
// brackets is where each was reported.
#include "support/cache_driver.hpp"

using namespace hybridmem_test;

TEST_CASE_TEMPLATE("hit before written (vllm 56525, 29387, sglang 24221)", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    for (const bool drops : {false, true}) {
      auto driver = make_driver<O>(120, 40, [&](CacheOptions& o) { o.reuse = reuse; });
      const Text text(1);
      const auto request = driver.begin(text, 512);
      const Ticket ticket = driver.open();
      REQUIRE(driver.advance(request, 512));  // 32 blocks
      driver.publish(request);
      driver.close();
      if (drops)
        REQUIRE(driver.drop());
      else
        driver.fail(ticket);
      const Match match = driver.match(text, 513);
      CHECK(match.attention_depth == 0);
      CHECK(match.joint_depth == 0);
      CHECK(match.pending_depth == 0);
    }
  }
  auto ticket = make_driver<O>(120, 40, [](CacheOptions& o) { o.reuse = Reuse::ticket; });
  const Text text(1);
  for (int i = 0; i < 4; ++i) {
    ticket.open();
    ticket.close();
    ticket.complete();
  }
  const auto request = ticket.begin(text, 512);
  CHECK(ticket.open() == Ticket{5});
  REQUIRE(ticket.advance(request, 512));
  ticket.publish(request);
  ticket.close();
  Match match = ticket.match(text, 513);
  CHECK(match.joint_depth == 0);
  CHECK(match.pending_depth == 512);
  CHECK(match.pending_until == Ticket{5});
  REQUIRE(ticket.complete());
  CHECK(ticket.match(text, 513).joint_depth == 512);

  auto stream = make_driver<O>(120, 40);
  const auto other = stream.begin(text, 512);
  stream.open();
  REQUIRE(stream.advance(other, 512));
  stream.publish(other);
  CHECK(stream.match(text, 513).joint_depth == 0);
  stream.close();
  stream.open();
  CHECK(stream.match(text, 513).joint_depth == 512);
}

TEST_CASE_TEMPLATE("wait is not out of memory (vllm 29387): the caller chooses", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(200, 60, [](CacheOptions& o) { o.reuse = Reuse::ticket; });
  const Text text(1);
  const auto request = driver.begin(text, 64);
  const Ticket ticket = driver.open();
  REQUIRE(driver.advance(request, 64));
  driver.publish(request);
  driver.close();
  const Admission plan = driver.plan(Text(text, 64, 2), 100);
  CHECK(plan.verdict == Verdict::ready);  // it may go on without
  CHECK(plan.match.joint_depth == 0);
  CHECK(plan.match.pending_depth == 64);  // or wait for the ticket
  CHECK(plan.match.pending_until == ticket);
  const auto without = driver.begin(Text(text, 64, 2), 100);
  CHECK(driver.placed(without) == 0);
  REQUIRE(driver.complete());
  const auto with = driver.begin(Text(text, 64, 3), 100);
  CHECK(driver.placed(with) == 64);
  // Neither is a wait for units.
  const auto big = driver.begin(Text(5), 16 * 150);
  REQUIRE(driver.prefill(big, 16 * 150));
  const Tokens most = driver.cache.layout().pools == 1 ? 4'096 : 3'200;
  CHECK(driver.plan(Text(6), most, most).verdict == Verdict::wait_units);
}

TEST_CASE_TEMPLATE("reuse before the reader is done (sglang 24954)", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    CAPTURE(static_cast<int>(reuse));
    auto driver = make_driver<O>(9, 4, [&](CacheOptions& o) {
      o.reuse = reuse;
      o.max_steps_in_flight = 4;
    });
    const auto reader = driver.begin(Text(1), 64);
    REQUIRE(driver.prefill(reader, 10));
    driver.open();
    REQUIRE(driver.advance(reader, 54));
    std::set<std::int32_t> pages;
    for (const BlockId id : driver.cache.blocks_of(reader.sequence))
      pages.insert(driver.cache.organization().pages(id)[0]);
    driver.close();
    REQUIRE(driver.cache.abort(reader.sequence));
    driver.open();
    const auto taker = driver.begin(Text(2), 1, 9 * 16);
    REQUIRE(driver.error == Error::none);
    std::set<std::int32_t> taken;
    const auto take = [&] {
      const bool done = driver.advance(taker, 80);
      if (done && driver.cache.layout().pools == 1)
        for (std::int32_t i = 0;
             i < static_cast<std::int32_t>(driver.cache.organization().checkpoint_capacity()); ++i)
          if (driver.cache.organization().references(CheckpointId{i}) > 0)
            for (const std::int32_t page : driver.cache.organization().pages(CheckpointId{i}))
              taken.insert(page);
      for (const BlockId id : driver.cache.blocks_of(taker.sequence))
        taken.insert(driver.cache.organization().pages(id)[0]);
      driver.close();
      return done;
    };
    const bool first = take();
    std::vector<std::int32_t> common;
    std::ranges::set_intersection(taken, pages, std::back_inserter(common));
    CHECK(common.empty() == (reuse == Reuse::ticket));
    if (reuse == Reuse::stream) CHECK(first);
    while (driver.complete()) {
    }
    driver.open();
    if (!first) CHECK(driver.advance(taker, 80));
    driver.close();
    driver.complete();
    CHECK(driver.fault.empty());
  }
}

TEST_CASE_TEMPLATE("stale bytes across kinds (vllm 35219, 56524, sglang 24717)", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  // The driver poisons every free unit and looks at what each step finds in the units it is given.
  auto driver = make_driver<O>(10, 4);
  for (std::uint64_t round = 0; round < 20; ++round) {
    CAPTURE(round);
    const auto request = driver.begin(Text(round), 70);
    REQUIRE(driver.error == Error::none);
    std::multiset<std::int32_t> zeroed;
    for (const Tokens tokens : {30U, 30U, 10U}) {
      driver.open();
      REQUIRE(driver.advance(request, tokens));
      const StepWork work = driver.close();
      for (const UnitZero& zero : work.zeros) zeroed.insert(zero.id);
      for (const UnitZero& zero : work.zeros)
        for (const StateWrite& write : work.writes)
          if (driver.cache.layout().pools == 1)
            for (const std::int32_t page : driver.cache.organization().pages(write.state))
              CHECK(page != zero.id);
      driver.complete();
      driver.publish(request);
    }
    std::multiset<std::int32_t> pages;
    for (const BlockId id : driver.cache.blocks_of(request.sequence))
      for (const std::int32_t page : driver.cache.organization().pages(id)) pages.insert(page);
    CHECK(zeroed == pages);
    if (round % 3 == 0)
      REQUIRE(driver.finish(request));
    else
      REQUIRE(driver.cache.abort(request.sequence));
  }
  CHECK_MESSAGE(driver.fault.empty(), driver.fault);
}

TEST_CASE_TEMPLATE("moved weights (vllm 42695): an epoch on, nothing matches, counts stay", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(40, 12);
  const Text text(1);
  REQUIRE(driver.serve(text, 96, 32));
  const auto before = driver.counts();
  driver.cache.advance_epoch();
  CHECK(driver.match(text, 97).attention_depth == 0);
  CHECK(driver.match(text, 97).recurrent_depth == 0);
  CHECK(driver.match(text, 97).joint_depth == 0);
  CHECK(driver.counts() == before);
  REQUIRE(driver.serve(text, 96, 32));
  CHECK(driver.match(text, 97).joint_depth == 96);
}
