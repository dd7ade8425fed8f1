// Publishing and sharing: rules L11 and L12.
#include "support/cache_driver.hpp"

using namespace hybridmem_test;

TEST_CASE_TEMPLATE("L11: publish covers what is placed at or below its argument", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 30);
  const Text text(1);
  const auto request = driver.begin(text, 300);
  REQUIRE(driver.step(request, 100));
  const auto published = [&] {
    return std::pair(driver.cache.metrics().published_blocks,
                     driver.cache.metrics().published_checkpoints);
  };
  using Counts = std::pair<std::uint64_t, std::uint64_t>;
  CHECK(driver.publish(request, 15) == 15);
  CHECK(published() == Counts{0, 0});
  CHECK(driver.publish(request, 50) == 50);
  CHECK(published() == Counts{3, 1});
  CHECK(driver.publish(request, 20) == 20);  // what is published stays
  CHECK(published() == Counts{3, 1});
  CHECK(driver.publish(request, 64) == 64);
  CHECK(published() == Counts{4, 2});
  const auto keys = text.keys(400, 8);
  CHECK(*driver.cache.publish(request.sequence, 400, keys) == 100);
  CHECK(published() == Counts{6, 3});
  CHECK(driver.match(text, 101).attention_depth == 96);
  CHECK(driver.match(text, 101).joint_depth == 96);
  CHECK(driver.cache.metrics().duplicates_published == 0);
}

TEST_CASE_TEMPLATE("L11: publish refuses with a reason and changes nothing", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 30, [](CacheOptions& o) { o.interior = Interior::none; });
  const Text text(1);
  const auto request = driver.begin(text, 300);
  REQUIRE(driver.step(request, 34));  // passes 32 without a state there
  const auto keys = text.keys(300, 8);
  const auto version = driver.cache.version();
  const auto refusal = [&](Sequence sequence, Tokens upto, std::size_t count) {
    const auto result = driver.cache.publish(sequence, upto, std::span(keys).first(count));
    return result ? Error::none : result.error();
  };
  CHECK(refusal(request.sequence, 32, 30) == Error::position_mismatch);
  CHECK(refusal(request.sequence, 34, 3) == Error::keys_short);
  CHECK(refusal(request.sequence, 300, 3) == Error::keys_short);
  CHECK(refusal(Sequence{7, 0}, 10, 30) == Error::stale_handle);
  CHECK(driver.cache.version() == version);
  CHECK(driver.cache.metrics().published_blocks == 0);
  CHECK(refusal(request.sequence, 34, 4) == Error::none);
  CHECK(driver.match(text, 40).attention_depth == 32);
  CHECK(driver.match(text, 40).joint_depth == 0);
  REQUIRE(driver.cache.preempt(request.sequence));
  CHECK(refusal(request.sequence, 10, 30) == Error::wrong_state);
}

TEST_CASE_TEMPLATE("L11: a launched publication survives the end of its sequence as pending", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    for (const int end : {0, 1, 2}) {
      for (const bool fails : {false, true}) {
        CAPTURE(static_cast<int>(reuse));
        CAPTURE(end);
        CAPTURE(fails);
        auto driver = make_driver<O>(80, 30, [&](CacheOptions& o) { o.reuse = reuse; });
        const Text text(1);
        const auto request = driver.begin(text, 300);
        const Ticket ticket = driver.open();
        REQUIRE(driver.advance(request, 64));
        driver.publish(request);
        driver.close();
        if (end == 0) REQUIRE(driver.cache.preempt(request.sequence));
        if (end == 1) REQUIRE(driver.cache.abort(request.sequence));
        if (end == 2) REQUIRE(driver.finish(request));
        Match match = driver.match(text, 65);
        CHECK(match.pending_depth == 64);
        CHECK(match.joint_depth == (reuse == Reuse::stream ? 64 : 0));
        if (fails) {
          CHECK(driver.fail(ticket).empty());
          match = driver.match(text, 65);
          CHECK(match.joint_depth == 0);
          CHECK(match.pending_depth == 0);
          CHECK(driver.used(0) + driver.used(1) == 0);
          continue;
        }
        REQUIRE(driver.complete());
        CHECK(driver.match(text, 65).joint_depth == 64);
        const auto adopts = driver.begin(Text(text, 64, 2), 100);
        CHECK(driver.placed(adopts) == 64);
        REQUIRE(driver.prefill(adopts, 100));
        CHECK(driver.referenced() > 0);
        CHECK(driver.fault.empty());
      }
    }
  }
}

TEST_CASE_TEMPLATE("L11: what was published in the open step goes with the chunk that wrote it", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const bool drops : {false, true}) {
    auto driver = make_driver<O>(80, 30);
    const Text text(1);
    const auto request = driver.begin(text, 300);
    REQUIRE(driver.step(request, 40));  // written, not published yet
    driver.open();
    REQUIRE(driver.advance(request, 60));
    driver.publish(request);
    CHECK(driver.cache.metrics().published_blocks == 6);
    if (drops) {
      REQUIRE(driver.drop());
      CHECK(driver.match(text, 200).attention_depth == 0);  // it was published in that step
      driver.publish(request);
      CHECK(driver.match(text, 200).joint_depth == 32);
      REQUIRE(driver.step(request, 60));
      CHECK(driver.publish(request) == 100);
      CHECK(driver.match(text, 200).joint_depth == 96);
    } else {
      REQUIRE(driver.cache.preempt(request.sequence));
      driver.close();
      REQUIRE(driver.complete());
      const Match match = driver.match(text, 200);
      CHECK(match.attention_depth == 32);
      CHECK(match.joint_depth == 32);
    }
    CHECK(driver.fault.empty());
  }
}

TEST_CASE_TEMPLATE("L11: finish publishes the running state where it stands on the block grid", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const bool keep_tail : {false, true}) {
    for (const Tokens tokens : {32U, 47U, 48U, 49U}) {
      CAPTURE(tokens);
      auto driver = make_driver<O>(80, 30, [&](CacheOptions& o) { o.keep_tail = keep_tail; });
      const Text text(1);
      const auto request = driver.begin(text, 300);
      REQUIRE(driver.prefill(request, tokens, 512, false));
      REQUIRE(driver.finish(request));
      const Tokens expected = keep_tail && tokens == 48 ? 48 : 32;
      CHECK(driver.match(text, 100).joint_depth == expected);
      CHECK(driver.referenced() == 0);
    }
  }
  // Beyond `valid` nothing is matched, and a state that has gone past it is not at `valid`.
  auto driver = make_driver<O>(80, 30);
  const Text text(1);
  const auto request = driver.begin(text, 300);
  REQUIRE(driver.prefill(request, 49, 512, false));
  REQUIRE(driver.finish(request, 48));
  CHECK(driver.match(text, 100).attention_depth == 48);
  CHECK(driver.match(text, 100).joint_depth == 32);
}

TEST_CASE_TEMPLATE("L12: a partial last block is never found", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 30);
  const Text text(1);
  REQUIRE(driver.serve(text, 47));
  CHECK(driver.match(text, 100).attention_depth == 32);
  CHECK(driver.cache.metrics().published_blocks == 2);
}

TEST_CASE_TEMPLATE("L12: a fork shares whole blocks and the state, and copies the last block", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    auto driver = make_driver<O>(80, 30, [&](CacheOptions& o) { o.reuse = reuse; });
    const auto parent = driver.begin(Text(1), 300);
    REQUIRE(driver.prefill(parent, 40));
    driver.open();
    const auto child = driver.fork(parent, 2);
    REQUIRE(driver.error == Error::none);
    const auto of = [&](const auto& one) {
      const auto blocks = driver.cache.blocks_of(one.sequence);
      return std::vector<BlockId>(blocks.begin(), blocks.end());
    };
    const auto before = of(parent);
    REQUIRE(of(child).size() == 3);
    CHECK(of(child)[0] == before[0]);
    CHECK(of(child)[1] == before[1]);
    CHECK(of(child)[2] != before[2]);
    const CheckpointId shared = driver.cache.state_of(parent.sequence);
    CHECK(driver.cache.state_of(child.sequence) == shared);
    // Both in one step: each gets a destination of its own.
    REQUIRE(driver.advance(parent, 4));
    REQUIRE(driver.advance(child, 4));
    CHECK(driver.cache.state_of(parent.sequence) != shared);
    CHECK(driver.cache.state_of(child.sequence) != shared);
    CHECK(driver.cache.state_of(child.sequence) != driver.cache.state_of(parent.sequence));
    const StepWork work = driver.close();
    const auto pages = driver.cache.organization().pages(before[2]);
    REQUIRE(work.copies.size() == pages.size());
    CHECK(work.copies[0].source == pages[0]);
    CHECK(work.zeros.empty());
    REQUIRE(driver.complete());
    REQUIRE(driver.prefill(parent, 90, 11));
    REQUIRE(driver.prefill(child, 90, 7));
    CHECK(driver.fault.empty());
    CHECK(driver.match(parent.text, 91).joint_depth == 64);
    CHECK(driver.match(child.text, 91).joint_depth == 64);
    REQUIRE(driver.finish(parent));
    REQUIRE(driver.finish(child));
    CHECK(driver.referenced() == 0);
  }
}

TEST_CASE_TEMPLATE("L12: while a state is shared the next advance leaves it, the last owner stays",
                   O, CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 30);
  const auto parent = driver.begin(Text(1), 300);
  REQUIRE(driver.prefill(parent, 40));
  driver.open();
  const auto child = driver.fork(parent, 2);
  driver.close();
  driver.complete();
  const CheckpointId shared = driver.cache.state_of(parent.sequence);
  REQUIRE(driver.step(parent, 1));
  CHECK(driver.cache.state_of(parent.sequence) != shared);
  CHECK(driver.cache.organization().references(shared) == 2);
  REQUIRE(driver.step(parent, 1));
  CHECK(driver.cache.organization().references(shared) == 1);
  REQUIRE(driver.step(child, 1));
  CHECK(driver.cache.state_of(child.sequence) == shared);
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("L12: the source of a copy is guarded until the step has made it", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    auto driver = make_driver<O>(80, 30, [&](CacheOptions& o) { o.reuse = reuse; });
    const auto parent = driver.begin(Text(1), 300);
    REQUIRE(driver.prefill(parent, 40));
    const BlockId tail = driver.cache.blocks_of(parent.sequence)[2];
    driver.open();
    const auto child = driver.fork(parent, 2);
    REQUIRE(driver.cache.abort(parent.sequence));
    CHECK(driver.cache.organization().references(tail) == 1);
    REQUIRE(driver.advance(child, 3));
    driver.close();
    CHECK(driver.cache.organization().references(tail) == (reuse == Reuse::stream ? 0 : 1));
    REQUIRE(driver.complete());
    CHECK(driver.cache.organization().references(tail) == 0);
    REQUIRE(driver.prefill(child, 60));
    CHECK(driver.fault.empty());
  }
}

TEST_CASE_TEMPLATE("L12: going back inside a block that others share is refused", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 30);
  const Text text(1);
  auto parent = driver.begin(text, 300);
  REQUIRE(driver.prefill(parent, 40));
  driver.open();
  const auto child = driver.fork(parent, 2);
  REQUIRE(driver.advance(parent, 1));  // holds the shared state at 40
  driver.close();
  driver.complete();
  CHECK(driver.cache.restart_at_or_below(parent.sequence, 40) == 40);
  REQUIRE(driver.step(parent, 9));  // fills the block, and lets go of 40
  driver.publish(parent);
  CHECK(driver.match(text, 60).attention_depth == 48);
  CHECK(driver.cache.restart_at_or_below(parent.sequence, 49) == 0);
  REQUIRE(driver.cache.abort(child.sequence));

  // The same with the state at 40 still held when the block is whole.
  for (const bool shared : {false, true}) {
    auto again = make_driver<O>(80, 30);
    auto owner = again.begin(text, 300);
    REQUIRE(again.prefill(owner, 40));
    again.open();
    const auto fork = again.fork(owner, 2);
    REQUIRE(again.advance(owner, 8));
    again.close();
    again.complete();
    again.publish(owner);
    CHECK(again.match(text, 60).attention_depth == 48);
    if (shared) {
      again.open();
      again.fork(owner, 3);
      again.close();
      again.complete();
      CHECK(again.cache.restart_at_or_below(owner.sequence, 47) == 0);
      CHECK(again.truncate(owner, 40, 4).error() == Error::no_state);
    } else {
      CHECK(again.cache.restart_at_or_below(owner.sequence, 47) == 40);
      REQUIRE(again.truncate(owner, 40, 4));
      CHECK(again.match(text, 60).attention_depth == 32);  // it writes on in the third block
      REQUIRE(again.prefill(owner, 70, 9));
      REQUIRE(again.cache.abort(fork.sequence));
      const auto adopts = again.begin(Text(owner.text, 64, 9), 80);
      CHECK(again.placed(adopts) == 64);
      REQUIRE(again.prefill(adopts, 80));
    }
    CHECK(again.fault.empty());
  }
}
