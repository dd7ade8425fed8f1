// Steps: rules L5 to L8.
#include <numeric>

#include "support/cache_driver.hpp"
#include "support/frozen_memory.hpp"

using namespace hybridmem_test;

namespace {

template <class Driver>
std::vector<std::int32_t> ids_of(const Driver& driver, Sequence sequence) {
  std::vector<std::int32_t> ids;
  for (const BlockId id : driver.cache.blocks_of(sequence)) {
    ids.push_back(id.value());
    for (const std::int32_t page : driver.cache.organization().pages(id)) ids.push_back(page);
  }
  const CheckpointId state = driver.cache.state_of(sequence);
  ids.push_back(state.value());
  if (!state.present()) return ids;
  for (const std::int32_t page : driver.cache.organization().pages(state)) ids.push_back(page);
  for (const std::int32_t line : driver.cache.organization().lines(state)) ids.push_back(line);
  return ids;
}

}  // namespace

TEST_CASE_TEMPLATE("L5: work lists stay as they were closed until the ticket completes", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(40, 12, [](CacheOptions& o) { o.max_steps_in_flight = 3; });
  const auto parent = driver.begin(Text(1), 200);
  REQUIRE(driver.prefill(parent, 40));
  driver.open();
  const auto child = driver.fork(parent, 2);
  REQUIRE(driver.advance(child, 60));
  const StepWork work = driver.close();
  const auto bytes = [](const StepWork& one) {
    std::vector<std::int32_t> all;
    for (const UnitCopy& copy : one.copies) all.insert(all.end(), {copy.source, copy.destination});
    for (const UnitZero& zero : one.zeros) all.push_back(zero.id);
    for (const BlockAppend& append : one.appends)
      all.insert(all.end(), {append.sequence.slot, static_cast<std::int32_t>(append.first_block),
                             static_cast<std::int32_t>(append.count)});
    for (const StateWrite& write : one.writes)
      all.insert(all.end(), {write.sequence.slot, static_cast<std::int32_t>(write.position),
                             write.state.value(), write.saved ? 1 : 0});
    return all;
  };
  const auto before = bytes(work);
  CHECK(work.copies.size() == 1);
  CHECK(work.zeros.size() == 4);   // blocks 3 to 6
  CHECK(work.writes.size() == 3);  // 64, 96, 100
  REQUIRE(driver.cache.abort(child.sequence));
  driver.open();
  REQUIRE(driver.advance(parent, 50));
  driver.close();
  driver.open();
  REQUIRE(driver.advance(parent, 50));
  driver.close();
  CHECK(bytes(work) == before);
  while (driver.complete()) {
  }
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("L5: entries of sequences that left the open step are gone", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const int how : {0, 1, 2}) {
    CAPTURE(how);
    auto driver = make_driver<O>(40, 12);
    const auto stays = driver.begin(Text(1), 100);
    const auto leaves = driver.begin(Text(2), 100);
    driver.open();
    REQUIRE(driver.advance(leaves, 50));
    if (how == 0) REQUIRE(driver.cache.preempt(leaves.sequence));
    if (how == 1) REQUIRE(driver.cache.abort(leaves.sequence));
    if (how == 2) REQUIRE(driver.finish(leaves));
    // Its units are had again in the same step, and each is listed once.
    REQUIRE(driver.advance(stays, 50));
    const StepWork work = driver.close();
    CHECK(work.zeros.size() == 4);
    for (const StateWrite& write : work.writes) CHECK(write.sequence == stays.sequence);
    for (const BlockAppend& append : work.appends) CHECK(append.sequence == stays.sequence);
    REQUIRE(driver.complete());
    CHECK(driver.match(Text(2), 60).joint_depth == 0);
    CHECK(driver.fault.empty());
  }
}

TEST_CASE_TEMPLATE("L5: no copy of a step reads what the step writes: a fork of a fork", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(40, 12);
  const auto parent = driver.begin(Text(1), 100);
  REQUIRE(driver.prefill(parent, 40));
  driver.open();
  const auto child = driver.fork(parent, 2);
  const auto grandchild = driver.fork(child, 3);
  REQUIRE(driver.advance(grandchild, 4));
  REQUIRE(driver.advance(child, 4));
  REQUIRE(driver.advance(parent, 4));
  const StepWork work = driver.close();
  REQUIRE(work.copies.size() == 2);
  CHECK(work.copies[0].source == work.copies[1].source);
  REQUIRE(driver.complete());
  for (const auto& one : {parent, child, grandchild}) REQUIRE(driver.prefill(one, 80, 9));
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("L5: a fork that is preempted and resumed in its step is not copied to", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(8, 6);
  const Text text(1);
  const auto parent = driver.begin(text, 100);
  REQUIRE(driver.prefill(parent, 40, 32));
  driver.open();
  auto child = driver.fork(parent, 2);
  REQUIRE(driver.error == Error::none);
  const auto copied = driver.cache.blocks_of(child.sequence)[2];
  REQUIRE(driver.cache.preempt(child.sequence));
  REQUIRE(driver.resume(child, 41));
  CHECK(driver.placed(child) == 32);
  REQUIRE(driver.advance(child, 9));
  CHECK(driver.cache.blocks_of(child.sequence)[2] == copied);  // the same block, by chance
  const StepWork work = driver.close();
  CHECK(work.copies.empty());
  CHECK(work.zeros.size() == 1);
  REQUIRE(driver.drop());  // it is no fork of this step any more
  CHECK(driver.placed(child) == 32);
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("L5: as many steps in flight as allowed, tickets in order", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(40, 12, [](CacheOptions& o) { o.max_steps_in_flight = 2; });
  auto& cache = driver.cache;
  CHECK(cache.close_step().error() == Error::no_step);
  CHECK(*cache.open_step() == Ticket{1});
  CHECK(cache.open_step().error() == Error::wrong_state);
  CHECK(cache.complete(Ticket{1}).error() == Error::ticket_order);  // not closed
  REQUIRE(cache.close_step());
  CHECK(*cache.open_step() == Ticket{2});
  REQUIRE(cache.close_step());
  CHECK(cache.open_step().error() == Error::ticket_order);
  CHECK(cache.complete(Ticket{2}).error() == Error::ticket_order);
  CHECK(cache.complete(Ticket{0}).error() == Error::ticket_order);
  REQUIRE(cache.complete(Ticket{1}));
  CHECK(cache.complete(Ticket{1}).error() == Error::ticket_order);
  CHECK(cache.drop_step(Ticket{1}).error() == Error::ticket_order);
  CHECK(*cache.open_step() == Ticket{3});
  CHECK(cache.drop_step(Ticket{2}).error() == Error::ticket_order);
  REQUIRE(cache.drop_step(Ticket{3}));
  CHECK(*cache.open_step() == Ticket{3});
  CHECK(cache.fail(Ticket{4}, {}).error() == Error::ticket_order);
  CHECK(*cache.fail(Ticket{3}, {}) == 0);
  CHECK(cache.fail(Ticket{3}, {}).error() == Error::ticket_order);
  REQUIRE(cache.complete(Ticket{2}));
  CHECK(*cache.open_step() == Ticket{4});
}

TEST_CASE_TEMPLATE("L5: nothing allocates after construction", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  FrozenMemory metadata;
  FrozenMemory steps;
  const OrganizationLayout layout = small_layout<O>();
  CacheOptions options = room_for(layout, 20, 6);
  options.retention = options.preemption_pinning = 1;
  StateCache<O> cache(layout, options, {}, &metadata, &steps);
  CHECK(metadata.bytes() > 0);
  CHECK(steps.bytes() > 0);
  metadata.freeze();
  steps.freeze();
  for (std::uint64_t round = 0; round < 30; ++round) {
    const Text text(round % 5);
    const auto keys = text.keys(200, 8);
    const Prompt prompt{keys, Key{}, 160, 200, ~0U, round};
    const auto sequence = cache.commit(prompt);
    CAPTURE(round);
    REQUIRE(sequence.has_value());
    for (int i = 0; i < 6; ++i) {
      const auto ticket = cache.open_step();
      REQUIRE(ticket);
      const auto child = i == 3 ? cache.fork(*sequence) : Result<Sequence>(Error::none);
      const Chunk chunk{*sequence, 30};
      Advanced advanced;
      static_cast<void>(cache.advance({&chunk, 1}, {&advanced, 1}));
      static_cast<void>(cache.publish(*sequence, ~0U, keys));
      static_cast<void>(cache.close_step());
      if (i == 4 && round % 3 == 0) {
        static_cast<void>(cache.fail(*ticket, {}));
        static_cast<void>(cache.truncate(*sequence, 0));
      } else {
        static_cast<void>(cache.complete(*ticket));
      }
      if (child) static_cast<void>(cache.abort(*child));
    }
    if (round % 2 == 0) static_cast<void>(cache.preempt(*sequence));
    static_cast<void>(cache.finish(*sequence, ~0U, keys));
  }
  CHECK(cache.metrics().advances > 100);
}

TEST_CASE_TEMPLATE("L6: a publication is matched from the next step on, or from completion on", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    auto driver = make_driver<O>(40, 12, [&](CacheOptions& o) { o.reuse = reuse; });
    const Text text(1);
    const auto request = driver.begin(text, 64);
    driver.open();
    REQUIRE(driver.advance(request, 64));
    driver.publish(request);
    CHECK(driver.match(text, 65).joint_depth == 0);
    driver.close();
    driver.open();
    CHECK(driver.match(text, 65).joint_depth == (reuse == Reuse::stream ? 64 : 0));
    driver.close();
    REQUIRE(driver.complete());
    CHECK(driver.match(text, 65).joint_depth == 64);
  }
}

TEST_CASE_TEMPLATE("L6: what a step touches is had again after it, or after its completion", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    for (const bool preempts : {false, true}) {
      CAPTURE(static_cast<int>(reuse));
      auto driver = make_driver<O>(40, 12, [&](CacheOptions& o) { o.reuse = reuse; });
      const auto request = driver.begin(Text(1), 64);
      driver.open();
      REQUIRE(driver.advance(request, 60));
      driver.close();
      const auto held = driver.referenced();
      if (preempts)
        REQUIRE(driver.cache.preempt(request.sequence));
      else
        REQUIRE(driver.cache.abort(request.sequence));
      CHECK(driver.referenced() == (reuse == Reuse::stream ? 0 : held));
      CHECK(driver.cache.metrics().closing == (reuse == Reuse::stream ? 0 : 1));
      driver.open();
      driver.close();
      CHECK(driver.referenced() == (reuse == Reuse::stream ? 0 : held));
      REQUIRE(driver.complete());
      CHECK(driver.referenced() == 0);
    }
  }
}

TEST_CASE_TEMPLATE("L6: with tickets a checkpoint left behind stays until its reader is done", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(40, 12, [](CacheOptions& o) {
    o.reuse = Reuse::ticket;
    o.max_steps_in_flight = 4;
  });
  const auto request = driver.begin(Text(1), 200);
  REQUIRE(driver.prefill(request, 32));
  const CheckpointId behind = driver.cache.state_of(request.sequence);
  driver.open();
  REQUIRE(driver.advance(request, 10));  // reads `behind`
  driver.close();
  driver.open();
  REQUIRE(driver.advance(request, 10));
  driver.close();
  CHECK(driver.cache.organization().references(behind) == 1);
  REQUIRE(driver.complete());
  driver.open();
  REQUIRE(driver.advance(request, 10));
  CHECK(driver.cache.organization().references(behind) == 0);
  driver.close();
  // Blocks cut off are not let go under a step in flight.
  CHECK(driver.cache.truncate(request.sequence, 0).error() == Error::ticket_order);
  while (driver.complete()) {
  }
  CHECK(driver.cache.truncate(request.sequence, 0));
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("L6: drop_step undoes exactly: the same ids come again", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const bool reserve : {false, true}) {
    const auto trace = [&](bool dropped) {
      auto driver = make_driver<O>(80, 24, [&](CacheOptions& o) { o.reserve_prompt = reserve; });
      const auto first = driver.begin(Text(1), 100);
      const auto second = driver.begin(Text(2), 100);
      driver.prefill(first, 32);
      driver.prefill(second, 20);
      if (dropped) {
        for (const bool closed : {false, true}) {
          const auto before = driver.counts();
          const auto position = driver.cache.position(first.sequence);
          driver.open();
          REQUIRE(driver.advance(first, 70));
          REQUIRE(driver.advance(second, 50));
          driver.publish(first);
          const auto child = driver.fork(driver.begin(Text(3), 9), 4);
          if (closed) driver.close();
          REQUIRE(driver.drop());
          CHECK(driver.cache.position(child.sequence).error() == Error::stale_handle);
          if (!reserve) CHECK(driver.counts() == before);
          CHECK(driver.cache.position(first.sequence)->placed == position->placed);
          CHECK(driver.cache.last_ticket(first.sequence) < Ticket{3});
          CHECK(driver.match(Text(1), 101).joint_depth == 32);
        }
      }
      driver.prefill(first, 100);
      driver.prefill(second, 90);
      auto ids = ids_of(driver, first.sequence);
      const auto more = ids_of(driver, second.sequence);
      ids.insert(ids.end(), more.begin(), more.end());
      CHECK(driver.fault.empty());
      return ids;
    };
    if (!reserve) CHECK(trace(true) == trace(false));
    if (reserve) trace(true);
  }
}

TEST_CASE_TEMPLATE("L6: drop_step gives back a publication that the step would have overwritten", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(6, 1);
  const Text text(1);
  const auto request = driver.begin(text, 64);
  REQUIRE(driver.prefill(request, 32));
  CHECK(driver.match(text, 40).joint_depth == 32);
  driver.open();
  driver.advance(request, 8);
  if (driver.advanced.states_skipped == 0) return;  // this organization had room to leave it
  CHECK(driver.match(text, 40).joint_depth == 0);
  driver.close();
  REQUIRE(driver.drop());
  CHECK(driver.match(text, 40).joint_depth == 32);
  const auto adopts = driver.begin(text, 33);
  CHECK(driver.fault.empty());
  if (driver.error == Error::none) CHECK(driver.placed(adopts) == 32);
}

TEST_CASE_TEMPLATE("L6: who began with a dropped step's publications is damaged", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(40, 12);
  const Text text(1);
  const auto request = driver.begin(text, 64);
  driver.open();
  REQUIRE(driver.advance(request, 64));
  driver.publish(request);
  driver.close();
  auto adopter = driver.begin(Text(text, 64, 2), 80);
  CHECK(driver.placed(adopter) == 64);
  REQUIRE(driver.drop());
  CHECK(driver.match(text, 65).joint_depth == 0);
  driver.open();
  CHECK(!driver.advance(adopter, 4));
  CHECK(driver.error == Error::damaged);
  CHECK(driver.cache.restart_at_or_below(adopter.sequence, 80) == 0);
  REQUIRE(driver.truncate(adopter, 0, 5));
  REQUIRE(driver.advance(adopter, 20));
  REQUIRE(driver.advance(request, 64));
  driver.close();
  REQUIRE(driver.complete());
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("L6: a dropped step guards nothing", O, CoarsePages, PagedRecurrent, SlabPacked,
                   StaticDualPool) {
  auto driver = make_driver<O>(8, 2, [](CacheOptions& o) { o.reuse = Reuse::ticket; });
  const auto request = driver.begin(Text(1), 128);
  driver.open();
  REQUIRE(driver.advance(request, 120));
  driver.close();
  REQUIRE(driver.cache.abort(request.sequence));
  CHECK(driver.plan(Text(2), 128).verdict == Verdict::wait_ticket);
  REQUIRE(driver.drop());
  CHECK(driver.referenced() == 0);
  CHECK(driver.plan(Text(2), 128).verdict == Verdict::ready);
}

TEST_CASE_TEMPLATE("L6: a failed step publishes nothing, nor do those after it", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    CAPTURE(static_cast<int>(reuse));
    auto driver = make_driver<O>(80, 24, [&](CacheOptions& o) {
      o.reuse = reuse;
      o.max_steps_in_flight = 4;
    });
    const Text text(1);
    auto request = driver.begin(text, 200);
    const auto idle = driver.begin(Text(2), 50);
    REQUIRE(driver.prefill(request, 64, 32));
    REQUIRE(driver.prefill(idle, 20));
    const auto step = [&](Tokens tokens) {
      const Ticket ticket = driver.open();
      REQUIRE(driver.advance(request, tokens));
      driver.publish(request);
      driver.close();
      return ticket;
    };
    step(32);
    const Ticket bad = step(32);
    if (reuse == Reuse::ticket) step(32);  // on a stream it lets go of the state at 96
    const auto damaged = driver.fail(bad);
    CHECK(driver.error == Error::none);
    REQUIRE(damaged.size() == 1);
    CHECK(damaged[0] == request.sequence);
    while (driver.complete()) {
    }
    CHECK(driver.match(text, 200).joint_depth == 96);
    CHECK(driver.match(text, 200).attention_depth == 96);
    CHECK(driver.cache.publish(request.sequence, 1, text.keys(200, 8)).error() == Error::damaged);
    driver.open();
    CHECK(!driver.advance(request, 1));
    CHECK(driver.error == Error::damaged);
    REQUIRE(driver.advance(idle, 10));
    driver.close();
    while (driver.complete()) {
    }
    CHECK(driver.cache.restart_at_or_below(request.sequence, 200) == 96);
    CHECK(driver.cache.truncate(request.sequence, 128).error() == Error::no_state);
    REQUIRE(driver.truncate(request, 96, 7));
    REQUIRE(driver.prefill(request, 150, 20));
    CHECK(driver.fault.empty());
    REQUIRE(driver.finish(request));
    REQUIRE(driver.finish(idle));
    CHECK(driver.referenced() == 0);
  }
}

TEST_CASE_TEMPLATE("L6: fail damages neither who left the step nor who was not in it", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 24);
  const Text text(1);
  auto preempted = driver.begin(text, 100);
  auto cut = driver.begin(Text(2), 100);
  REQUIRE(driver.prefill(preempted, 32));
  REQUIRE(driver.prefill(cut, 32));
  driver.open();
  REQUIRE(driver.advance(preempted, 10));
  REQUIRE(driver.advance(cut, 10));
  const auto forked = driver.begin(Text(3), 9);
  driver.close();
  REQUIRE(driver.cache.preempt(preempted.sequence));
  REQUIRE(driver.resume(preempted, 60));
  REQUIRE(driver.truncate(cut, 32, 8));
  CHECK(driver.fail(driver.oldest()).empty());
  REQUIRE(driver.prefill(preempted, 60));
  REQUIRE(driver.prefill(cut, 60));
  REQUIRE(driver.prefill(forked, 9));
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("L6: a fork whose tail a failed step copied is damaged", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    auto driver = make_driver<O>(80, 24, [&](CacheOptions& o) { o.reuse = reuse; });
    const auto parent = driver.begin(Text(1), 100);
    REQUIRE(driver.prefill(parent, 40));
    const Ticket ticket = driver.open();
    const auto child = driver.fork(parent, 2);
    driver.close();
    if (reuse == Reuse::ticket) {  // the copy to its block is in flight
      const auto other = driver.begin(Text(3), 9);
      const auto referenced = driver.referenced();
      REQUIRE(driver.cache.preempt(child.sequence));
      CHECK(driver.referenced() == referenced);
      REQUIRE(driver.cache.abort(other.sequence));
      CHECK(driver.fail(ticket).empty());
    } else {
      const auto damaged = driver.fail(ticket);
      REQUIRE(damaged.size() == 1);
      CHECK(damaged[0] == child.sequence);
      CHECK(driver.cache.restart_at_or_below(child.sequence, 100) == 0);
    }
  }
}

TEST_CASE_TEMPLATE("L7: the first refusal ends the batch and has changed nothing", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    const auto trace = [&](bool refused) {
      auto driver = make_driver<O>(10, 4, [&](CacheOptions& o) { o.reuse = reuse; });
      const Text text(1);
      driver.serve(text, 32, 32);
      const auto first = driver.begin(Text(2), 60);
      const auto second = driver.begin(Text(3), 1, 140);
      driver.prefill(first, 33, 32);
      driver.prefill(second, 33, 32, false);
      driver.open();
      REQUIRE(driver.advance(first, 3));
      if (refused) {
        const auto before = driver.counts();
        const auto published = driver.cache.metrics().published_checkpoints;
        const std::array chunks{Chunk{second.sequence, 400}, Chunk{first.sequence, 1}};
        std::array<Advanced, 2> results{};
        const Batch batch = driver.cache.advance(chunks, results);
        CHECK(batch.done == 0);
        CHECK(batch.error == Error::shortfall);
        CHECK(batch.units_short > 0);
        CHECK(driver.counts() == before);
        CHECK(driver.cache.metrics().published_checkpoints == published);
        CHECK(driver.placed(second) == 33);
      }
      REQUIRE(driver.advance(second, 2));
      driver.close();
      driver.complete();
      driver.prefill(second, 60, 9, false);
      auto ids = ids_of(driver, second.sequence);
      driver.finish(first);
      const auto third = driver.begin(Text(5), 20);
      driver.prefill(third, 20);
      for (const std::int32_t id : ids_of(driver, third.sequence)) ids.push_back(id);
      CHECK(driver.fault.empty());
      return ids;
    };
    CHECK(trace(true) == trace(false));
  }
}

TEST_CASE_TEMPLATE("L7: every refusal is typed", O, CoarsePages, PagedRecurrent, SlabPacked,
                   StaticDualPool) {
  auto driver = make_driver<O>(40, 12, [](CacheOptions& o) {
    o.max_sequence_tokens = 100;
    o.max_chunk_tokens = 60;
  });
  const auto request = driver.begin(Text(1), 50);
  CHECK(!driver.advance(request, 1));
  CHECK(driver.error == Error::no_step);
  driver.open();
  CHECK(!driver.advance({Sequence{3, 9}, Text(1)}, 1));
  CHECK(driver.error == Error::stale_handle);
  CHECK(!driver.advance({Sequence{-1, 0}, Text(1)}, 1));
  CHECK(driver.error == Error::stale_handle);
  CHECK(!driver.advance(request, 0));
  CHECK(driver.error == Error::bad_argument);
  CHECK(!driver.advance(request, 61));
  CHECK(driver.error == Error::capacity);
  const Chunk chunk{request.sequence, 1};
  CHECK(driver.cache.advance({&chunk, 1}, {}).error == Error::bad_argument);
  REQUIRE(driver.advance(request, 60));
  CHECK(!driver.advance(request, 1));
  CHECK(driver.error == Error::wrong_state);
  driver.close();
  driver.complete();
  driver.open();
  CHECK(!driver.advance(request, 41));
  CHECK(driver.error == Error::capacity);
  REQUIRE(driver.advance(request, 40));
  driver.close();
  driver.complete();
  REQUIRE(driver.cache.preempt(request.sequence));
  driver.open();
  CHECK(!driver.advance(request, 1));
  CHECK(driver.error == Error::wrong_state);
}

TEST_CASE_TEMPLATE("L7: segments are cut at boundaries, each from where the last one ended", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(40, 12);
  const auto request = driver.begin(Text(1), 200);
  const auto writes = [&](Tokens tokens) {
    driver.open();
    REQUIRE(driver.advance(request, tokens));
    const StepWork work = driver.close();
    std::vector<std::pair<Tokens, bool>> all;
    for (const StateWrite& write : work.writes) all.emplace_back(write.position, write.saved);
    driver.complete();
    return all;
  };
  using Writes = std::vector<std::pair<Tokens, bool>>;
  CHECK(writes(10) == Writes{{10, false}});
  const CheckpointId place = driver.cache.state_of(request.sequence);
  CHECK(writes(10) == Writes{{20, false}});
  CHECK(driver.cache.state_of(request.sequence) == place);  // the same pages inside an interval
  const auto used = driver.used(0) + driver.used(1);
  CHECK(writes(12) == Writes{{32, true}});
  CHECK(driver.cache.state_of(request.sequence) == place);
  CHECK(driver.used(0) + driver.used(1) == used);  // ending on a boundary takes nothing more
  CHECK(writes(1) == Writes{{33, false}});
  CHECK(driver.cache.state_of(request.sequence) != place);
  CHECK(writes(70) == Writes{{64, true}, {96, true}, {103, false}});
  CHECK(driver.advanced.states_saved == 2);
  CHECK(driver.advanced.states_skipped == 0);
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("L7: next_stop says where a chunk should end for the kernel at hand", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  const auto stops = [](Interior interior, Tokens kernel, Tokens start, Tokens want) {
    auto driver = make_driver<O>(80, 30, [&](CacheOptions& o) {
      o.interior = interior;
      o.kernel_chunk_tokens = kernel;
      o.max_sequence_tokens = 300;
    });
    const auto request = driver.begin(Text(1), 280);
    if (start > 0) REQUIRE(driver.prefill(request, start));
    const Tokens stop = driver.cache.next_stop(request.sequence, want);
    REQUIRE(driver.step(request, stop));
    CHECK(driver.advanced.states_skipped == 0);
    CHECK(driver.cache.next_stop(Sequence{9, 9}, want) == 0);
    return stop;
  };
  CHECK(stops(Interior::none, 0, 0, 100) == 32);
  CHECK(stops(Interior::none, 0, 0, 32) == 32);
  CHECK(stops(Interior::none, 0, 0, 31) == 31);
  CHECK(stops(Interior::none, 0, 10, 100) == 22);
  CHECK(stops(Interior::on_grid, 0, 10, 100) == 100);
  CHECK(stops(Interior::on_grid, 0, 0, 1'000) == 300);
  CHECK(stops(Interior::from_chunk_start, 16, 0, 100) == 100);
  CHECK(stops(Interior::from_chunk_start, 16, 10, 100) == 22);
  CHECK(stops(Interior::from_chunk_start, 16, 16, 100) == 100);
  CHECK(stops(Interior::from_chunk_start, 48, 0, 100) == 32);
  // Whoever does not ask loses the states that the kernel cannot write, and is told.
  auto driver = make_driver<O>(80, 30, [](CacheOptions& o) { o.interior = Interior::none; });
  const auto request = driver.begin(Text(1), 100);
  REQUIRE(driver.step(request, 100));
  CHECK(driver.advanced.states_skipped == 3);
  CHECK(driver.advanced.states_saved == 0);
}

TEST_CASE_TEMPLATE("L8: a checkpoint is skipped and counted where units are short", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(10, 2);
  const Text text(1);
  const auto other = driver.begin(Text(2), 1, 1);
  REQUIRE(driver.step(other, 1));
  const auto request = driver.begin(text, 1, 144);
  std::uint64_t skipped = 0;
  while (driver.placed(request) < 144) {
    REQUIRE(driver.step(request, 1));
    skipped += driver.advanced.states_skipped;
    driver.publish(request);
  }
  CHECK(skipped > 0);
  CHECK(driver.cache.metrics().checkpoints_skipped == skipped);
  CHECK(driver.cache.metrics().refusals == 0);
  CHECK(driver.cache.metrics().preemptions == 0);
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("L8: a state that others share is never overwritten, whatever is short", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  const OrganizationLayout layout = small_layout<O>();
  auto driver = make_driver<O>(8, 1, [&](CacheOptions& o) {
    o.units =
        layout.pools == 1 ? PoolUnits{6 + layout.units_per_checkpoint() * 2, 0} : PoolUnits{6, 2};
  });
  const Text text(1);
  const auto first = driver.begin(text, 60);
  REQUIRE(driver.prefill(first, 32));
  const auto second = driver.begin(Text(text, 32, 2), 33);
  if (driver.error == Error::none) {
    CHECK(driver.placed(second) == 32);
    CHECK(driver.cache.state_of(second.sequence) == driver.cache.state_of(first.sequence));
    driver.open();
    for (const auto& one : {first, second}) driver.advance(one, 1);
    driver.close();
    driver.complete();
    CHECK(driver.cache.state_of(second.sequence) != driver.cache.state_of(first.sequence));
  }
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("L8: where checkpoints are required a chunk is refused without them", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(12, 4, [](CacheOptions& o) { o.checkpoints_yield = false; });
  const auto other = driver.begin(Text(2), 40);
  REQUIRE(driver.prefill(other, 33, 32));
  const auto request = driver.begin(Text(1), 64);
  if (driver.error != Error::none) return;
  driver.open();
  REQUIRE(driver.advance(request, 64));
  driver.close();
  driver.complete();
  CHECK(driver.cache.metrics().checkpoints_skipped == 0);
}

TEST_CASE_TEMPLATE("L8: a checkpoint whose key may still come never refuses a chunk", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  // An engine that publishes nothing: saved states would be held for steps to come.
  auto driver = make_driver<O>(5, 2, [](CacheOptions& o) {
    o.max_steps_in_flight = 8;
    o.units[0] -= o.units[1] == 0 ? 1U : 0U;  // a block short where the kinds share a pool
  });
  const auto request = driver.begin(Text(1), 80);
  REQUIRE(driver.step(request, 32));
  REQUIRE(driver.step(request, 32));
  REQUIRE(driver.step(request, 16));
  CHECK(driver.placed(request) == 80);
  CHECK(driver.cache.metrics().refusals == 0);
}

TEST_CASE_TEMPLATE("L7: a refusal that a ticket lifts names it", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(8, 3, [](CacheOptions& o) {
    o.reuse = Reuse::ticket;
    o.max_steps_in_flight = 4;
  });
  const auto ends = driver.begin(Text(1), 64);
  const auto stays = driver.begin(Text(2), 1, 112);
  const Ticket ticket = driver.open();
  REQUIRE(driver.advance(ends, 64));
  REQUIRE(driver.advance(stays, 1));
  driver.close();
  REQUIRE(driver.cache.abort(ends.sequence));
  driver.open();
  CHECK(!driver.advance(stays, 110));
  CHECK(driver.error == Error::shortfall);
  CHECK(driver.batch.wait_for == ticket);
  driver.close();
  REQUIRE(driver.complete());
  REQUIRE(driver.complete());
  driver.open();
  CHECK(driver.advance(stays, 110));
}

TEST_CASE_TEMPLATE("L8: what another sequence saved never refuses a chunk", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const bool published : {false, true}) {
    CAPTURE(published);
    auto driver = make_driver<O>(20, 4, [](CacheOptions& o) { o.max_steps_in_flight = 8; });
    const auto idle = driver.begin(Text(1), 100, 100);
    REQUIRE(driver.step(idle, 40));
    if (published) driver.publish(idle);
    CHECK(driver.cache.restart_at_or_below(idle.sequence, 39) == 32);
    auto other = driver.begin(Text(2), 1, 250);
    REQUIRE(driver.error == Error::none);
    while (driver.step(other, 1)) {
    }
    CHECK(driver.error == Error::shortfall);
    if (driver.cache.layout().pools == 2) continue;  // there it is blocks that are short
    CHECK(driver.cache.restart_at_or_below(idle.sequence, 39) == 0);
    // Refused, nothing more has changed.
    const auto before = driver.counts();
    CHECK(!driver.step(other, 1));
    CHECK(driver.counts() == before);
    CHECK(driver.fault.empty());
  }
}

TEST_CASE_TEMPLATE("L8: what another sequence reads in this step is not let go", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    bool refused = false;
    for (Tokens chunk = 15; !refused; chunk += 16) {
      CAPTURE(chunk);
      auto driver = make_driver<O>(20, 4, [&](CacheOptions& o) { o.reuse = reuse; });
      const auto reads = driver.begin(Text(1), 100, 100);
      REQUIRE(driver.prefill(reads, 32, 32, false));
      auto other = driver.begin(Text(2), 1, 250);
      REQUIRE(driver.step(other, 1));
      driver.open();
      REQUIRE(driver.advance(reads, 1));
      refused = !driver.advance(other, chunk);
      CHECK(driver.cache.restart_at_or_below(reads.sequence, 32) == 32);
      driver.close();
      REQUIRE(driver.complete());
      CHECK(driver.fault.empty());
    }
  }
}
