// Ends and turns: rule L13.
#include "support/cache_driver.hpp"

using namespace hybridmem_test;

TEST_CASE_TEMPLATE("L13: each turn in each state is legal or refused with a reason", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  enum At { queued, in_open_step, in_flight, idle, preempted, damaged, ended };
  struct Expected {
    At at;
    Error preempt, resume, finish, abort, truncate, fork, publish;
  };
  constexpr Error ok = Error::none;
  constexpr Error wrong = Error::wrong_state;
  constexpr Error stale = Error::stale_handle;
  const std::array table{
      Expected{queued, ok, wrong, ok, ok, ok, ok, ok},
      Expected{in_open_step, ok, wrong, ok, ok, wrong, wrong, ok},
      Expected{in_flight, ok, wrong, ok, ok, ok, ok, ok},
      Expected{idle, ok, wrong, ok, ok, ok, ok, ok},
      Expected{preempted, wrong, ok, ok, ok, wrong, wrong, wrong},
      Expected{damaged, ok, wrong, ok, ok, ok, Error::damaged, Error::damaged},
      Expected{ended, stale, stale, stale, stale, stale, stale, stale},
  };
  for (const Expected& row : table) {
    for (int turn = 0; turn < 7; ++turn) {
      for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
        CAPTURE(static_cast<int>(row.at));
        CAPTURE(turn);
        CAPTURE(static_cast<int>(reuse));
        auto driver = make_driver<O>(80, 30, [&](CacheOptions& o) { o.reuse = reuse; });
        const auto start = driver.counts();
        auto request = driver.begin(Text(1), 100);
        if (row.at != queued) REQUIRE(driver.prefill(request, 40, 512, false));
        if (row.at == in_open_step || row.at == in_flight || row.at == damaged) {
          const Ticket ticket = driver.open();
          REQUIRE(driver.advance(request, 20));
          if (row.at != in_open_step) driver.close();
          if (row.at == damaged) driver.fail(ticket);
        }
        if (row.at == preempted) REQUIRE(driver.cache.preempt(request.sequence));
        if (row.at == ended) REQUIRE(driver.cache.abort(request.sequence));
        if (turn == 5 && row.at != in_open_step) driver.open();  // fork needs an open step
        const auto before = driver.counts();
        const Tokens placed = driver.placed(request);
        Sequence child{};
        const auto error = [&] {
          const auto of = [](const auto& result) { return result ? Error::none : result.error(); };
          switch (turn) {
            case 0:
              return of(driver.cache.preempt(request.sequence));
            case 1:
              return of(driver.resume(request, 100));
            case 2:
              return of(driver.finish(request));
            case 3:
              return of(driver.cache.abort(request.sequence));
            case 4:
              return of(driver.truncate(request, 0, 5));
            case 5: {
              const auto made = driver.cache.fork(request.sequence);
              if (made) child = *made;
              return of(made);
            }
            default:
              return of(driver.cache.publish(request.sequence, 5, {}));
          }
        }();
        Error expected =
            std::array{row.preempt,  row.resume, row.finish, row.abort,
                       row.truncate, row.fork,   row.publish}[static_cast<std::size_t>(turn)];
        if (turn == 4 && row.at == in_flight && reuse == Reuse::ticket)
          expected = Error::ticket_order;
        CHECK(name_of(error) == doctest::String(name_of(expected)));
        if (error != Error::none) {
          CHECK(driver.counts() == before);
          CHECK(driver.placed(request) == placed);
        }
        // Counts are exact afterwards: with everything over, all is as it was but for the cached.
        static_cast<void>(driver.cache.abort(request.sequence));
        static_cast<void>(driver.cache.abort(child));
        static_cast<void>(driver.cache.close_step());
        driver.launch();
        for (std::uint64_t ticket = 1; ticket < 9; ++ticket)
          static_cast<void>(driver.cache.complete(Ticket{ticket}));
        CHECK(driver.referenced() == 0);
        driver.cache.clear();
        CHECK(driver.counts() == start);
        CHECK(driver.cache.metrics().running == 0);
        CHECK(driver.cache.metrics().closing == 0);
      }
    }
  }
}

TEST_CASE_TEMPLATE("L13: a second release is refused, also when the slot is somebody else's", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 30);
  const auto first = driver.begin(Text(1), 10);
  REQUIRE(driver.cache.abort(first.sequence));
  const auto second = driver.begin(Text(2), 10);
  CHECK(second.sequence.slot == first.sequence.slot);
  CHECK(second.sequence.generation != first.sequence.generation);
  CHECK(driver.cache.abort(first.sequence).error() == Error::stale_handle);
  CHECK(driver.cache.finish(first.sequence, 0, {}).error() == Error::stale_handle);
  CHECK(driver.cache.preempt(first.sequence).error() == Error::stale_handle);
  CHECK(driver.cache.position(first.sequence).error() == Error::stale_handle);
  CHECK(driver.cache.blocks_of(first.sequence).empty());
  CHECK(!driver.cache.state_of(first.sequence).present());
  CHECK(driver.cache.last_ticket(first.sequence) == Ticket::none);
  CHECK(driver.cache.releasable(first.sequence) == PoolUnits{});
  REQUIRE(driver.cache.position(second.sequence));
}

TEST_CASE_TEMPLATE("L13: truncate goes back to a state that is held, or to nothing", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 30);
  auto request = driver.begin(Text(1), 300);
  REQUIRE(driver.step(request, 100));
  CHECK(driver.cache.restart_at_or_below(request.sequence, 300) == 100);
  CHECK(driver.cache.restart_at_or_below(request.sequence, 99) == 96);
  CHECK(driver.cache.restart_at_or_below(request.sequence, 95) == 64);
  CHECK(driver.cache.restart_at_or_below(request.sequence, 31) == 0);
  for (const Tokens to : {101U, 99U, 95U, 48U, 1U}) {
    CAPTURE(to);
    const auto before = driver.counts();
    CHECK(driver.cache.truncate(request.sequence, to).error() == Error::no_state);
    CHECK(driver.counts() == before);
  }
  REQUIRE(driver.truncate(request, 100, 2));  // nothing to do
  REQUIRE(driver.truncate(request, 64, 2));
  CHECK(driver.placed(request) == 64);
  CHECK(driver.cache.position(request.sequence)->settled == 64);
  CHECK(driver.cache.blocks_of(request.sequence).size() == 4);
  REQUIRE(driver.prefill(request, 120, 13));
  CHECK(driver.match(request.text, 200).joint_depth == 96);
  CHECK(driver.match(Text(1), 200).joint_depth == 64);
  REQUIRE(driver.truncate(request, 0, 3));
  CHECK(driver.cache.blocks_of(request.sequence).empty());
  REQUIRE(driver.prefill(request, 50, 13));
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("L13: a state published and gone back to is not overwritten where it is found",
                   O, CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 30);
  const Text text(1);
  auto request = driver.begin(text, 300);
  REQUIRE(driver.step(request, 70));
  driver.publish(request);
  const auto adopter = driver.begin(Text(text, 64, 8), 100);
  CHECK(driver.placed(adopter) == 64);
  REQUIRE(driver.truncate(request, 64, 2));
  REQUIRE(driver.prefill(request, 80, 5));
  REQUIRE(driver.prefill(adopter, 100, 9));
  CHECK(driver.match(text, 65).joint_depth == 64);
  const auto third = driver.begin(Text(text, 64, 9), 80);
  REQUIRE(driver.prefill(third, 80));
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("L13: a preempted sequence keeps nothing, and its outputs in flight are stale",
                   O, CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 30);
  auto request = driver.begin(Text(1), 100);
  const auto expects = [&] { return driver.cache.releasable(request.sequence); };
  REQUIRE(driver.prefill(request, 40, 32));
  driver.open();
  REQUIRE(driver.advance(request, 10));
  driver.close();
  CHECK(driver.cache.last_ticket(request.sequence) == Ticket{3});
  const PoolUnits gives = expects();
  const auto before = driver.counts();
  REQUIRE(driver.cache.preempt(request.sequence));
  CHECK(driver.cache.last_ticket(request.sequence) == Ticket{3});
  const auto after = driver.counts();
  for (std::uint8_t pool = 0; pool < driver.cache.layout().pools; ++pool) {
    const std::uint64_t slab = driver.cache.layout().has_slabs() ? 1 : 0;
    CHECK(before[pool].referenced - after[pool].referenced == gives[pool] + slab);
  }
  CHECK(driver.placed(request) == 0);
  REQUIRE(driver.complete());
  CHECK(driver.cache.position(request.sequence)->settled == 0);
  REQUIRE(driver.resume(request, 60));
  CHECK(driver.placed(request) == 32);
  REQUIRE(driver.prefill(request, 60));
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("L13: rows for ended sequences run out as a typed refusal", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 30, [](CacheOptions& o) {
    o.max_sequences = 1;
    o.reuse = Reuse::ticket;
    o.max_steps_in_flight = 4;
  });
  driver.open();
  std::uint64_t aborted = 0;
  for (; aborted < 5; ++aborted) {
    const auto request = driver.begin(Text(1 + aborted), 20);
    if (driver.error != Error::none) break;
    REQUIRE(driver.advance(request, 20));
    driver.close();
    REQUIRE(driver.cache.abort(request.sequence));
    driver.open();
  }
  CHECK(aborted == 2);
  CHECK(driver.error == Error::capacity);
  driver.close();
  while (driver.complete()) {
  }
  driver.begin(Text(9), 20);
  CHECK(driver.error == Error::none);
}

TEST_CASE_TEMPLATE("L13: a refused chunk first lets its own retained checkpoints go, oldest first",
                   O, CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(12, 5, [](CacheOptions& o) {
    o.retention = 1;
    if (o.units[1] == 0) o.units[0] -= 3;
  });
  const Text text(1);
  const auto request = driver.begin(text, 192);  // demands its own boundaries
  std::set<Tokens> had;
  std::set<Tokens> lost;
  const auto held = [&](Tokens at) {
    return driver.cache.restart_at_or_below(request.sequence, at) == at;
  };
  while (driver.placed(request) < 192) {
    REQUIRE(driver.step(request, 8));
    driver.publish(request);
    for (Tokens at = 32; at < driver.placed(request); at += 32) {
      if (held(at)) {
        had.insert(at);
      } else if (had.count(at) > 0 && lost.count(at) == 0) {
        CHECK(at == 32 * (lost.size() + 1));
        lost.insert(at);
      }
    }
  }
  CHECK(driver.cache.metrics().retained > 0);
  if (driver.cache.layout().pools == 1) CHECK(lost.size() > 0);
  CHECK(lost.size() < 5);
  CHECK(driver.cache.metrics().refusals == 0);
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("L13: alone, pins drop oldest first before a request waits", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(8, 4, [](CacheOptions& o) { o.preemption_pinning = 1; });
  std::vector<typename CacheDriver<O>::Request> pinned;
  for (std::uint64_t salt = 1; salt <= 2; ++salt) {
    pinned.push_back(driver.begin(Text(salt), 33));
    REQUIRE(driver.error == Error::none);
    REQUIRE(driver.prefill(pinned.back(), 33, 32));
    REQUIRE(driver.cache.preempt(pinned.back().sequence));
  }
  CHECK(driver.cache.metrics().pinned_checkpoints == 2);
  CHECK(driver.cache.metrics().pins == 2);
  // A prompt that fits beside one pin only, or beside none.
  const auto& layout = driver.cache.layout();
  for (const std::uint64_t left : {1U, 0U}) {
    Tokens tokens = 16;
    const auto fits_beside = [&](Tokens asked, std::uint64_t pins) {
      StateDemand demand{divide_up(asked, 16U), 1};
      const std::uint64_t slab = layout.has_slabs() ? 1 : 0;
      if (layout.pools == 2) return demand.blocks <= 8 && 1 + pins <= 4;
      return demand.blocks + (1 + pins) * layout.units_per_checkpoint() + slab <=
             driver.counts()[0].units;
    };
    while (fits_beside(tokens + 16, left)) tokens += 16;
    if (layout.pools == 2 || fits_beside(tokens, left + 1)) continue;
    if (tokens > 16 * 8 && layout.pools == 1 &&
        driver.plan(Text(7), tokens).verdict == Verdict::unservable)
      continue;
    CHECK(driver.plan(Text(7), tokens).verdict == Verdict::ready);
    const auto request = driver.begin(Text(7), tokens);
    CHECK(driver.error == Error::none);
    CHECK(driver.cache.metrics().pinned_checkpoints == left);
    REQUIRE(driver.cache.abort(request.sequence));
    if (left == 0) continue;
    REQUIRE(driver.cache.abort(pinned[0].sequence));  // the younger pin is the one that stays
    CHECK(driver.cache.metrics().pinned_checkpoints == 1);
  }
  for (auto& one : pinned) static_cast<void>(driver.cache.abort(one.sequence));
  CHECK(driver.referenced() == 0);
  CHECK(driver.cache.metrics().pinned_checkpoints == 0);
}

TEST_CASE_TEMPLATE("L13: resume takes its references before its pin drops", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(8, 3, [](CacheOptions& o) { o.preemption_pinning = 1; });
  const Text text(1);
  auto request = driver.begin(text, 33, 60);
  REQUIRE(driver.prefill(request, 33, 32));
  const CheckpointId state = [&] {
    for (std::int32_t i = 0;; ++i)
      if (driver.cache.organization().references(CheckpointId{i}) > 0 &&
          CheckpointId{i} != driver.cache.state_of(request.sequence))
        return CheckpointId{i};
  }();
  REQUIRE(driver.cache.preempt(request.sequence));
  CHECK(driver.cache.organization().references(state) == 1);
  REQUIRE(driver.resume(request, 40));
  CHECK(driver.placed(request) == 32);
  CHECK(driver.cache.state_of(request.sequence) == state);
  CHECK(driver.cache.organization().references(state) == 1);
  CHECK(driver.cache.metrics().pinned_checkpoints == 0);
  CHECK(driver.cache.metrics().pins_dropped == 0);
}
