// Admission: rules L3 and L4.
#include "support/cache_driver.hpp"

using namespace hybridmem_test;

namespace {

std::uint64_t available(const PoolCounts& counts) {
  return std::uint64_t{counts.free} + counts.cached;
}

}  // namespace

TEST_CASE_TEMPLATE("L3: plan names the pool and how many units are short", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(12, 6);
  const auto first = driver.begin(Text(1), 1, 100);
  REQUIRE(driver.prefill(first, 100));
  const auto version = driver.cache.version();
  const Admission plan = driver.plan(Text(2), 16 * 12, 16 * 12);
  CHECK(driver.cache.version() == version);
  CHECK(plan.verdict == Verdict::wait_units);
  CHECK(plan.pool == 0);
  CHECK(plan.units_short + available(driver.counts()[plan.pool]) == plan.units_needed);
  CHECK(driver.plan(Text(2), 16).verdict == Verdict::ready);
  driver.begin(Text(2), 16 * 12);
  CHECK(driver.error == Error::shortfall);
}

TEST_CASE_TEMPLATE("L3: the match itself leaves the available units", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(8, 3);
  const Text text(1);
  REQUIRE(driver.serve(text, 64, 32));
  const Text other(text, 64, 2);
  const Admission with = driver.plan(other, 70);
  const Admission without = driver.plan(Text(3), 70);
  CHECK(with.match.joint_depth == 64);
  // The four cached blocks count as much as four new ones would, the cached state comes on top.
  const auto& layout = driver.cache.layout();
  if (layout.pools == 1)
    CHECK(with.units_needed >= without.units_needed - 2 * layout.units_per_checkpoint() - 1);
  CHECK(with.units_needed >= 5 * layout.units_per_block);
}

TEST_CASE_TEMPLATE("L3: unservable is what could not run alone to its end", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(8, 1, [](CacheOptions& options) {
    options.headroom = 0.9;
    options.max_sequence_tokens = 1'000;
  });
  CHECK(driver.plan(Text(1), 10, 128).verdict == Verdict::ready);
  CHECK(driver.plan(Text(1), 10, 129).verdict == Verdict::unservable);
  CHECK(driver.plan(Text(1), 129, 129).verdict == Verdict::unservable);
  driver.begin(Text(1), 10, 129);
  CHECK(driver.error == Error::capacity);
  const auto one = driver.begin(Text(1), 10, 128);
  REQUIRE(driver.error == Error::none);
  REQUIRE(driver.prefill(one, 128, 16));  // with everything else gone it gets there
  CHECK(driver.plan(Text(2), 10, 128).verdict == Verdict::wait_units);
  CHECK(driver.plan(Text(2), 10, 129).verdict == Verdict::unservable);

  auto roomy = make_driver<O>(80, 9, [](CacheOptions& o) { o.max_sequence_tokens = 1'000; });
  CHECK(roomy.plan(Text(1), 10, 1'000).verdict == Verdict::ready);
  CHECK(roomy.plan(Text(1), 10, 1'001).verdict == Verdict::unservable);
}

TEST_CASE_TEMPLATE("L3: the demand is the prompt's blocks, a running state, one step's boundaries",
                   O, CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(64, 32, [](CacheOptions& o) { o.max_chunk_tokens = 100; });
  const auto expected = [&](std::uint32_t blocks, std::uint32_t states) {
    const auto needed =
        driver.cache.organization().needed({blocks, states}, PoolUnits{}, CheckpointId::absent());
    return needed[0];
  };
  CHECK(driver.plan(Text(1), 1).units_needed == expected(1, 1));
  CHECK(driver.plan(Text(1), 32).units_needed == expected(2, 1));
  CHECK(driver.plan(Text(1), 33).units_needed == expected(3, 2));
  CHECK(driver.plan(Text(1), 100).units_needed == expected(7, 4));
  CHECK(driver.plan(Text(1), 500).units_needed == expected(32, 4));
  auto strict = make_driver<O>(64, 32, [](CacheOptions& o) {
    o.max_chunk_tokens = 100;
    o.checkpoints_yield = false;
  });
  CHECK(strict.plan(Text(1), 500).units_needed == expected(32, 16));
}

TEST_CASE_TEMPLATE("L3: headroom is floor(f * B) of each pool, and waived while nothing runs", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(16, 4, [](CacheOptions& o) { o.headroom = 0.3; });
  const Text big(1);
  CHECK(driver.plan(big, 16 * 13).verdict == Verdict::ready);  // alone
  const auto runs = driver.begin(Text(2), 1, 16);
  REQUIRE(driver.prefill(runs, 1));
  const auto needs = driver.plan(Text(3), 16);
  CHECK(needs.verdict == Verdict::ready);
  bool waited = false;
  for (Tokens tokens = 16; tokens <= 16 * 13; tokens += 16) {
    CAPTURE(tokens);
    const Admission plan = driver.plan(big, tokens);
    const PoolCounts pool = driver.counts()[plan.pool];
    const auto clear = static_cast<std::uint64_t>(0.3 * pool.units);
    const auto needed = driver.cache.organization().needed({tokens / 16, 1 + (tokens - 1) / 32},
                                                           PoolUnits{}, CheckpointId::absent());
    bool fits = true;
    for (std::uint8_t p = 0; p < driver.cache.layout().pools; ++p)
      fits = fits && needed[p] + static_cast<std::uint64_t>(0.3 * driver.counts()[p].units) <=
                         available(driver.counts()[p]);
    CHECK((plan.verdict == Verdict::ready) == fits);
    if (plan.verdict == Verdict::ready) continue;
    waited = true;
    CHECK(plan.units_short == plan.units_needed + clear - available(pool));
  }
  CHECK(waited);
  // A preempted one waits for the headroom too, until it is alone.
  auto large = driver.begin(big, 1, 16 * 12);
  REQUIRE(driver.error == Error::none);
  REQUIRE(driver.cache.preempt(large.sequence));
  CHECK(driver.resume(large, 16 * 12).error() == Error::shortfall);
  REQUIRE(driver.cache.abort(runs.sequence));
  CHECK(driver.resume(large, 16 * 12));
}

TEST_CASE_TEMPLATE("L3: units in flight are a wait for a ticket, distinct from one for units", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(8, 2, [](CacheOptions& o) {
    o.reuse = Reuse::ticket;
    o.max_steps_in_flight = 3;
  });
  const auto one = driver.begin(Text(1), 112);
  driver.open();
  REQUIRE(driver.advance(one, 64));
  driver.close();
  const Ticket last = driver.open();
  REQUIRE(driver.advance(one, 48));
  driver.close();
  CHECK(driver.plan(Text(2), 112).verdict == Verdict::wait_units);
  REQUIRE(driver.cache.abort(one.sequence));
  Admission plan = driver.plan(Text(2), 112);
  CHECK(plan.verdict == Verdict::wait_ticket);
  CHECK(plan.wait_for == last);
  driver.begin(Text(2), 112);
  CHECK(driver.error == Error::shortfall);
  REQUIRE(driver.complete());
  CHECK(driver.plan(Text(2), 112).verdict == Verdict::wait_ticket);
  REQUIRE(driver.complete());
  CHECK(driver.plan(Text(2), 112).verdict == Verdict::ready);
  CHECK(driver.referenced() == 0);
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("L3: alone, a request waits at most for tickets, never for units", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  // Pins and ended sequences hold everything between them: no pin drops before the ticket.
  auto driver = make_driver<O>(4, 3, [](CacheOptions& o) {
    o.reuse = Reuse::ticket;
    o.preemption_pinning = 1;
  });
  const Text text(1);
  auto pinned = driver.begin(text, 33);
  REQUIRE(driver.prefill(pinned, 33, 32));
  REQUIRE(driver.cache.preempt(pinned.sequence));
  REQUIRE(driver.cache.metrics().pinned_checkpoints == 1);
  const auto other = driver.begin(Text(2), 64);
  REQUIRE(driver.error == Error::none);
  const Ticket last = driver.open();
  REQUIRE(driver.advance(other, 64));
  driver.close();
  REQUIRE(driver.cache.abort(other.sequence));
  const Admission plan = driver.plan(Text(3), 64);
  CHECK(plan.verdict == Verdict::wait_ticket);
  CHECK(plan.wait_for == last);
  driver.begin(Text(3), 64);
  CHECK(driver.error == Error::shortfall);
  CHECK(driver.cache.metrics().pinned_checkpoints == 1);
  REQUIRE(driver.complete());
  CHECK(driver.plan(Text(3), 64).verdict == Verdict::ready);
  driver.begin(Text(3), 64);
  CHECK(driver.error == Error::none);
}

TEST_CASE_TEMPLATE("L4: a refused commit changes nothing, neither counts nor later ids", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  const auto trace = [](bool refused) {
    auto driver = make_driver<O>(10, 4);
    const Text text(1);
    driver.serve(text, 48, 32);
    const auto first = driver.begin(Text(2), 1, 80);
    driver.prefill(first, 70);
    const auto before = driver.counts();
    const auto version = driver.cache.version();
    if (refused) {
      const auto none = driver.begin(Text(text, 48, 3), 130);
      CHECK(driver.error == Error::shortfall);
      CHECK(none.sequence.slot == -1);
      driver.begin(Text(3), 1, 4'000);
      CHECK(driver.error == Error::capacity);
      CHECK(driver.cache.commit({{}, Key{}, 0, 0}).error() == Error::bad_argument);
      CHECK(driver.cache.commit({{}, Key{}, 5, 4}).error() == Error::bad_argument);
      CHECK(driver.counts() == before);
      CHECK(driver.cache.version() == version);
    }
    driver.finish(first);
    const auto second = driver.begin(Text(text, 48, 4), 60);
    driver.prefill(second, 60);
    std::vector<std::int32_t> ids{second.sequence.slot};
    for (const BlockId id : driver.cache.blocks_of(second.sequence)) {
      ids.push_back(id.value());
      ids.push_back(driver.cache.organization().pages(id)[0]);
    }
    for (const std::int32_t page :
         driver.cache.organization().pages(driver.cache.state_of(second.sequence)))
      ids.push_back(page);
    ids.push_back(static_cast<std::int32_t>(driver.cache.fingerprint()));
    CHECK(driver.fault.empty());
    return ids;
  };
  CHECK(trace(true) == trace(false));
}

TEST_CASE_TEMPLATE("L4: commit decides again, adopts, and counts hit and demand once", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(40, 12, [](CacheOptions& o) { o.retention = 2; });
  const Text text(1);
  const Match stale = driver.match(text, 97);
  REQUIRE(driver.serve(text, 96, 32));
  const Prompt prompt = driver.prompt_of({{}, text, 97, 97, 1});
  CHECK(driver.cache.plan(stale, prompt).match.joint_depth == 96);
  auto request = driver.begin(text, 97, 97, 1);
  CHECK(driver.placed(request) == 96);
  CHECK(driver.cache.blocks_of(request.sequence).size() == 6);
  CHECK(driver.cache.metrics().commits == 2);
  CHECK(driver.cache.metrics().hits == 1);
  CHECK(driver.cache.metrics().adopted_tokens == 96);
  REQUIRE(driver.cache.preempt(request.sequence));
  REQUIRE(driver.resume(request, 97));
  CHECK(driver.cache.metrics().commits == 2);
  CHECK(driver.cache.metrics().hits == 1);
  CHECK(driver.cache.metrics().adopted_tokens == 96);
  CHECK(driver.cache.metrics().resumes == 1);
  CHECK(driver.cache.metrics().resumed_tokens == 96);
  // Which kind limited it is counted too.
  driver.begin(Text(text, 40, 5), 60);
  CHECK(driver.cache.metrics().limited_by_recurrent == 0);
  CHECK(driver.cache.metrics().hits == 2);
}

TEST_CASE_TEMPLATE("L4: by default commit allocates nothing", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(40, 12);
  driver.begin(Text(1), 200);
  CHECK(driver.used(0) + driver.used(1) == 0);
}

TEST_CASE_TEMPLATE("L4: a reserved prompt cannot be refused inside", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  for (const Tokens chunk : {7U, 16U, 32U, 48U, 100U}) {
    CAPTURE(chunk);
    auto driver = make_driver<O>(20, 5, [](CacheOptions& o) { o.reserve_prompt = true; });
    const Text text(1);
    const auto reserved = driver.begin(text, 150);
    REQUIRE(driver.error == Error::none);
    // Others take what is left, and adopt every state that they can.
    std::vector<Sequence> others;
    while (driver.placed(reserved) < 150) {
      const auto other = driver.begin(Text(text, 64, 50 + others.size()), 70, 80);
      if (driver.error == Error::none) others.push_back(other.sequence);
      driver.open();
      for (const Sequence one : others) {
        const Chunk some{one, 5};
        Advanced advanced;
        static_cast<void>(driver.cache.advance({&some, 1}, {&advanced, 1}));
      }
      const bool done = driver.advance(reserved, std::min(chunk, 150 - driver.placed(reserved)));
      static_cast<void>(driver.cache.close_step());
      CHECK(done);
      if (!done) break;
      driver.publish(reserved);
      REQUIRE(driver.cache.complete(driver.cache.last_ticket(reserved.sequence)));
    }
    CHECK(driver.placed(reserved) == 150);
    CHECK(driver.cache.audit({}) == 0);
    for (const Sequence one : others) REQUIRE(driver.cache.abort(one));
    REQUIRE(driver.cache.abort(reserved.sequence));
    CHECK(driver.referenced() == 0);
  }
}

TEST_CASE_TEMPLATE("L4: a reserved prompt has its first state too, whatever others take", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(20, 3, [](CacheOptions& o) {
    o.reserve_prompt = true;
    o.max_chunk_tokens = 16;
  });
  const auto reserved = driver.begin(Text(1), 100);
  REQUIRE(driver.error == Error::none);
  std::vector<typename CacheDriver<O>::Request> others;
  for (std::uint64_t salt = 2; salt <= 9; ++salt) {
    others.push_back(driver.begin(Text(salt), 1, 200));
    if (driver.error != Error::none) others.pop_back();
  }
  for (const auto& one : others)
    while (driver.placed(one) < 400 && driver.step(one, 16)) {
    }
  CHECK(driver.cache.metrics().refusals > 0);
  REQUIRE(driver.prefill(reserved, 100, 16));
  CHECK(driver.fault.empty());
}
