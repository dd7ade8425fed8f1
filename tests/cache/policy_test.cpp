// Policies of the cache, each off by default: retention, pinning, the budget of checkpoints,
// orders.
#include "support/cache_driver.hpp"

using namespace hybridmem_test;

namespace {

template <class Driver>
std::uint32_t live_states(const Driver& driver) {
  const auto& organization = driver.cache.organization();
  std::uint32_t count = 0;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(organization.checkpoint_capacity()); ++i)
    count += organization.references(CheckpointId{i}) > 0 || organization.cached(CheckpointId{i});
  return count;
}

}  // namespace

TEST_CASE_TEMPLATE("policies are off by default", O, CoarsePages, PagedRecurrent, SlabPacked,
                   StaticDualPool) {
  const CacheOptions options;
  CHECK(options.headroom == 0);
  CHECK(options.retention == 0);
  CHECK(options.preemption_pinning == 0);
  CHECK(options.checkpoint_units == 0);
  CHECK(options.reserve_prompt == false);
  CHECK(options.prompt_anchors == false);
  CHECK(options.checkpoints_yield == true);
  CHECK(options.organization.free_order == FreeOrder::unpublished_first);
  CHECK(options.organization.slab_order == SlabOrder::last_release);
  CHECK(options.organization.slot_placement == SlotPlacement::fullest);
}

TEST_CASE_TEMPLATE("retention holds what enough distinct requesters demand while its producer runs",
                   O, CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const std::uint32_t demanded : {1U, 2U, 3U}) {
    CAPTURE(demanded);
    auto driver = make_driver<O>(80, 30, [](CacheOptions& o) { o.retention = 2; });
    const Text text(1);
    const auto producer = driver.begin(text, 80, 300, 1);
    // The same requester again is not another one; a resume is not counted.
    for (std::uint64_t who = 2; who <= demanded; ++who) {
      auto other = driver.begin(Text(text, 64, 10 + who), 70, 70, who);
      REQUIRE(driver.cache.preempt(other.sequence));
      REQUIRE(driver.cache.abort(other.sequence));
    }
    auto same = driver.begin(Text(text, 64, 10), 70, 70, 1);
    REQUIRE(driver.cache.abort(same.sequence));
    REQUIRE(driver.prefill(producer, 120, 32));
    const bool kept = demanded >= 2;
    CHECK(driver.cache.restart_at_or_below(producer.sequence, 64) == (kept ? 64 : 0));
    CHECK(driver.cache.restart_at_or_below(producer.sequence, 63) == (kept ? 32 : 0));
    CHECK((driver.cache.metrics().retained > 0) == kept);
    REQUIRE(driver.finish(producer));
    CHECK(driver.referenced() == 0);
  }
}

TEST_CASE_TEMPLATE("pinning keeps the rightmost eligible checkpoint of a victim, within its budget",
                   O, CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  const OrganizationLayout layout = small_layout<O>();
  for (const std::uint64_t pins : {0U, 1U, 2U}) {
    CAPTURE(pins);
    auto driver = make_driver<O>(80, 30, [&](CacheOptions& o) {
      o.preemption_pinning = 2;
      o.pinned_units = pins * layout.units_per_checkpoint();
    });
    const Text text(1);
    const auto producer = driver.begin(text, 100, 300, 1);
    REQUIRE(driver.prefill(producer, 100, 32));
    REQUIRE(driver.finish(producer));
    // Two requesters demand up to 64, one up to 96.
    std::vector<typename CacheDriver<O>::Request> victims;
    for (std::uint64_t who = 2; who <= 4; ++who) {
      victims.push_back(driver.begin(Text(text, 64, 10 + who), 70, 70, who));
      CHECK(driver.placed(victims.back()) == 64);
    }
    for (auto& victim : victims) REQUIRE(driver.cache.preempt(victim.sequence));
    const std::uint64_t expected = pins == 0 ? 3 : std::min<std::uint64_t>(pins, 3);
    CHECK(driver.cache.metrics().pinned_checkpoints == expected);
    CHECK(driver.referenced() > 0);
    for (auto& victim : victims) REQUIRE(driver.resume(victim, 70));
    CHECK(driver.cache.metrics().pinned_checkpoints == 0);
    for (auto& victim : victims) REQUIRE(driver.cache.abort(victim.sequence));
    CHECK(driver.referenced() == 0);
  }
  // Below the number of requesters nothing is pinned.
  auto driver = make_driver<O>(80, 30, [](CacheOptions& o) { o.preemption_pinning = 2; });
  const auto alone = driver.begin(Text(1), 70, 70, 1);
  REQUIRE(driver.prefill(alone, 64, 32));
  REQUIRE(driver.cache.preempt(alone.sequence));
  CHECK(driver.cache.metrics().pinned_checkpoints == 0);
}

TEST_CASE_TEMPLATE("a pin is never for a state of the sequence that had the row before", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 30, [](CacheOptions& o) { o.preemption_pinning = 1; });
  REQUIRE(driver.serve(Text(1), 100, 32));
  const auto next = driver.begin(Text(2), 10);
  REQUIRE(driver.prefill(next, 10));
  REQUIRE(driver.cache.preempt(next.sequence));
  CHECK(driver.cache.metrics().pinned_checkpoints == 0);
}

TEST_CASE_TEMPLATE(
    "a pinned state that the only running sequence adopted is written in place when short", O,
    CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  const OrganizationLayout layout = small_layout<O>();
  auto driver = make_driver<O>(8, 1, [&](CacheOptions& o) {
    o.preemption_pinning = 1;
    if (layout.pools == 2) o.units[1] = 1;
  });
  const Text text(1);
  auto victim = driver.begin(text, 33, 60, 1);
  REQUIRE(driver.prefill(victim, 32, 32));
  REQUIRE(driver.cache.preempt(victim.sequence));
  CHECK(driver.cache.metrics().pinned_checkpoints == 1);
  // It fills the pool; the pin goes rather than the sequence.
  const auto alone = driver.begin(Text(text, 32, 2), 33, 128, 2);
  REQUIRE(driver.error == Error::none);
  while (driver.placed(alone) < 128) REQUIRE(driver.step(alone, 1));
  CHECK(driver.cache.metrics().pinned_checkpoints == 0);
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("a budget of checkpoints bounds them and leaves attention alone", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  const OrganizationLayout layout = small_layout<O>();
  for (const std::uint32_t most : {1U, 2U, 4U}) {
    CAPTURE(most);
    auto driver = make_driver<O>(60, 30, [&](CacheOptions& o) {
      o.checkpoint_units = std::uint64_t{most} * layout.units_per_checkpoint();
    });
    for (std::uint64_t salt = 1; salt <= 6; ++salt) {
      const auto request = driver.begin(Text(salt), 96);
      REQUIRE(driver.error == Error::none);
      while (driver.placed(request) < 96) {
        REQUIRE(driver.step(request, 24));
        driver.publish(request);
        CHECK(live_states(driver) <= most + 2);  // and the running states, old and new
      }
      REQUIRE(driver.finish(request));
      CHECK(live_states(driver) <= most + 2);
      CHECK(driver.match(Text(salt), 97).attention_depth == 96);
    }
    CHECK(driver.cache.metrics().blocks_evicted == 0);
    CHECK(driver.cache.metrics().refusals == 0);
    CHECK(driver.cache.metrics().published_checkpoints > 0);
    CHECK(driver.fault.empty());
  }
}

TEST_CASE_TEMPLATE("a tighter budget of checkpoints skips rather than refuses", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  const OrganizationLayout layout = small_layout<O>();
  auto driver = make_driver<O>(
      80, 30, [&](CacheOptions& o) { o.checkpoint_units = layout.units_per_checkpoint(); });
  const auto request = driver.begin(Text(1), 200);
  REQUIRE(driver.step(request, 200));
  CHECK(driver.advanced.states_saved == 1);
  CHECK(driver.advanced.states_skipped == 5);
  driver.publish(request);
  CHECK(driver.match(Text(1), 200).joint_depth == 192);  // the deepest are kept
}

TEST_CASE_TEMPLATE("free order: unpublished units first, or one queue", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const FreeOrder order : {FreeOrder::unpublished_first, FreeOrder::release_order}) {
    auto driver = make_driver<O>(16, 6, [&](CacheOptions& o) {
      o.organization.free_order = order;
      o.keep_tail = false;
    });
    const Text text(1);
    REQUIRE(driver.serve(text, 64, 32));
    const auto unpublished = driver.begin(Text(2), 48);
    REQUIRE(driver.prefill(unpublished, 48, 48, false));
    REQUIRE(driver.cache.abort(unpublished.sequence));
    const auto cached = driver.counts()[0].cached;
    const auto filler = driver.begin(Text(3), 1, 12 * 16);
    REQUIRE(squeeze(driver, filler, [&] { return driver.placed(filler) >= 12 * 16; }));
    if (order == FreeOrder::unpublished_first) {
      CHECK(driver.match(text, 65).attention_depth == 64);
    } else {
      CHECK(cached >= 7 * driver.cache.layout().units_per_block);
      CHECK(driver.match(text, 65).attention_depth < 64);
    }
  }
}

TEST_CASE("slab order is an option that both ends of the cache take") {
  const auto depths = [](SlabOrder order) {
    auto driver =
        make_driver<SlabPacked>(30, 5, [&](CacheOptions& o) { o.organization.slab_order = order; });
    for (std::uint64_t salt = 1; salt <= 3; ++salt) driver.serve(Text(salt), 64, 32);
    const auto again = driver.begin(Text(Text(1), 64, 9), 70);  // refreshes the first
    driver.prefill(again, 70);
    driver.finish(again);
    const auto filler = driver.begin(Text(5), 1, 300);
    std::string seen;
    for (int i = 0; i < 18; ++i) {
      driver.step(filler, 16);
      seen += std::to_string(driver.match(Text(1), 65).joint_depth) + " ";
    }
    CHECK(driver.fault.empty());
    return seen;
  };
  CHECK(depths(SlabOrder::last_release) != depths(SlabOrder::creation));
}

TEST_CASE_TEMPLATE("salts isolate: another root shares nothing", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 30);
  const Text text(1);
  REQUIRE(driver.serve(text, 64, 32));
  Prompt prompt = driver.prompt_of({{}, text, 65, 65, 0});
  CHECK(driver.cache.match(prompt).joint_depth == 64);
  prompt.root = Key{1, 1};
  CHECK(driver.cache.match(prompt).joint_depth == 0);
}

TEST_CASE_TEMPLATE("required checkpoints: one for each boundary of the prompt, or a refusal", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(16, 6, [](CacheOptions& o) { o.checkpoints_yield = false; });
  const auto other = driver.begin(Text(2), 1, 16);
  REQUIRE(driver.step(other, 1));
  const Text text(1);
  const auto request = driver.begin(text, 96);
  REQUIRE(driver.error == Error::none);
  std::uint64_t refused = 0;
  while (driver.placed(request) < 96) {
    if (!driver.step(request, 48)) {
      ++refused;
      CHECK(driver.error == Error::shortfall);
      break;
    }
    driver.publish(request);
  }
  CHECK(driver.cache.metrics().checkpoints_skipped == 0);
  if (refused == 0) CHECK(driver.match(text, 97).joint_depth == 96);
  CHECK(driver.fault.empty());
  CHECK(driver.plan(Text(3), 16 * 16, 16 * 16).verdict == Verdict::unservable);
}
