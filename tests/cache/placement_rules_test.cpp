// Where checkpoints are kept and when they are let go: rules L9 and L10.
#include "support/cache_driver.hpp"

using namespace hybridmem_test;

namespace {

/// Checkpoints that somebody holds.
template <class Driver>
std::uint32_t referenced_states(const Driver& driver) {
  const auto& organization = driver.cache.organization();
  std::uint32_t count = 0;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(organization.checkpoint_capacity()); ++i)
    count += organization.references(CheckpointId{i}) > 0 ? 1U : 0U;
  return count;
}

}  // namespace

TEST_CASE_TEMPLATE("L9: checkpoints lie on the interval grid and nowhere else", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 30, [](CacheOptions& o) { o.keep_tail = false; });
  const Text text(1);
  REQUIRE(driver.serve(text, 176, 48));  // chunks end at 48, 96, 144, 176
  for (Tokens tokens = 1; tokens <= 200; ++tokens) {
    CAPTURE(tokens);
    CHECK(driver.match(text, tokens).recurrent_depth == std::min((tokens - 1) / 32 * 32, 160U));
  }
  CHECK(driver.cache.metrics().published_checkpoints == 5);
}

TEST_CASE_TEMPLATE("L9: prompt anchors are the last multiples of a block at or below n - 1 and n",
                   O, CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Tokens prompt : {15U, 16U, 17U, 48U, 63U, 64U, 65U, 100U, 112U, 113U}) {
    for (const Tokens chunk : {13U, 64U, 512U}) {
      CAPTURE(prompt);
      CAPTURE(chunk);
      auto driver = make_driver<O>(80, 30, [](CacheOptions& o) {
        o.prompt_anchors = true;
        o.keep_tail = false;
      });
      const Text text(1);
      const auto request = driver.begin(text, prompt, prompt + 50);
      REQUIRE(driver.prefill(request, prompt + 40, chunk));
      std::set<Tokens> expected;
      for (Tokens at = 32; at <= prompt + 40; at += 32) expected.insert(at);
      for (const Tokens at : {(prompt - 1) / 16 * 16, prompt / 16 * 16})
        if (at > 0) expected.insert(at);
      std::set<Tokens> found;
      for (Tokens tokens = 2; tokens <= prompt + 41; ++tokens)
        if (const Tokens depth = driver.match(text, tokens).recurrent_depth; depth > 0)
          found.insert(depth);
      CHECK(found == expected);
      CHECK(driver.fault.empty());
    }
  }
}

TEST_CASE_TEMPLATE("L10: at its next advance a sequence lets go of what lies behind its interval",
                   O, CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 30);
  const Text text(1);
  const auto request = driver.begin(text, 300);
  REQUIRE(driver.step(request, 100));  // holds 32, 64, 96
  CHECK(referenced_states(driver) == 4);
  driver.publish(request);
  REQUIRE(driver.step(request, 1));  // from 100: all lie below 128
  CHECK(referenced_states(driver) == 1);
  REQUIRE(driver.step(request, 27));
  CHECK(referenced_states(driver) == 1);
  driver.publish(request);
  REQUIRE(driver.step(request, 1));  // from 128: leaves it behind and holds it
  CHECK(referenced_states(driver) == 2);
  REQUIRE(driver.step(request, 1));  // from 129: below 160
  CHECK(referenced_states(driver) == 1);
  CHECK(driver.match(text, 129).joint_depth == 128);  // cached, still found
}

TEST_CASE_TEMPLATE("L10: a checkpoint whose key is not known is held for the steps in flight more",
                   O, CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const std::uint32_t steps : {1U, 2U, 5U}) {
    CAPTURE(steps);
    auto driver = make_driver<O>(80, 30, [&](CacheOptions& o) { o.max_steps_in_flight = steps; });
    const Text text(1);
    const auto request = driver.begin(text, 300);
    REQUIRE(driver.step(request, 40));  // s@32 is saved in this step
    CHECK(referenced_states(driver) == 2);
    for (std::uint32_t i = 0; i < steps; ++i) {
      REQUIRE(driver.step(request, 1));
      CHECK(referenced_states(driver) == 2);
    }
    REQUIRE(driver.step(request, 1));
    CHECK(referenced_states(driver) == 1);
    driver.publish(request, 35);
    CHECK(driver.match(text, 40).joint_depth == 0);

    // Published within that time it is cached when let go.
    auto later = make_driver<O>(80, 30, [&](CacheOptions& o) { o.max_steps_in_flight = steps; });
    const auto second = later.begin(text, 300);
    REQUIRE(later.step(second, 40));
    for (std::uint32_t i = 0; i < steps; ++i) REQUIRE(later.step(second, 1));
    later.publish(second, 40);
    REQUIRE(later.step(second, 1));
    CHECK(referenced_states(later) == 1);
    CHECK(later.match(text, 40).joint_depth == 32);
  }
}

TEST_CASE_TEMPLATE("L10: an adopted checkpoint is let go at the advance after the next", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 30);
  const Text text(1);
  REQUIRE(driver.serve(text, 64, 32));
  const auto request = driver.begin(Text(text, 64, 2), 200);
  CHECK(driver.placed(request) == 64);
  CHECK(referenced_states(driver) == 1);
  REQUIRE(driver.step(request, 5));
  CHECK(referenced_states(driver) == 2);  // the step reads it
  REQUIRE(driver.step(request, 5));
  CHECK(referenced_states(driver) == 1);
  CHECK(driver.match(text, 65).joint_depth == 64);
}
