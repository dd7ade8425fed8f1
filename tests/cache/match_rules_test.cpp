// Matching: rules L1 and L2.
#include "support/cache_driver.hpp"

using namespace hybridmem_test;

TEST_CASE_TEMPLATE("L1: match takes no reference and counts nothing", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(40, 12);
  const Text text(1);
  REQUIRE(driver.serve(text, 160, 32));
  const auto counts = driver.counts();
  const auto version = driver.cache.version();
  const auto fingerprint = driver.cache.fingerprint();
  CHECK(driver.match(text, 161).joint_depth == 160);
  CHECK(driver.counts() == counts);
  CHECK(driver.cache.version() == version);
  CHECK(driver.cache.fingerprint() == fingerprint);
  CHECK(driver.cache.metrics().hits == 0);
  CHECK(driver.referenced() == 0);
}

TEST_CASE_TEMPLATE("L1: depths of each kind, of both, and one token left to compute", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(40, 12);
  const Text text(1);
  REQUIRE(driver.serve(text, 160, 32));
  const auto depths = [&](Tokens tokens) {
    const Match match = driver.match(text, tokens);
    return std::array{match.attention_depth, match.recurrent_depth, match.joint_depth};
  };
  CHECK(depths(160) == std::array<Tokens, 3>{159, 128, 128});
  CHECK(depths(161) == std::array<Tokens, 3>{160, 160, 160});
  CHECK(depths(96) == std::array<Tokens, 3>{95, 64, 64});
  CHECK(depths(33) == std::array<Tokens, 3>{32, 32, 32});
  CHECK(depths(1) == std::array<Tokens, 3>{0, 0, 0});
  CHECK(depths(400) == std::array<Tokens, 3>{160, 160, 160});
  CHECK(driver.match(Text(text, 70, 9), 200).joint_depth == 64);
  CHECK(driver.match(Text(9), 200).joint_depth == 0);
}

TEST_CASE_TEMPLATE("L1: the caller's cap limits the joint depth and is not a kind that limits", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(40, 12);
  const Text text(1);
  REQUIRE(driver.serve(text, 160, 32));
  for (const Tokens cap : {0U, 31U, 32U, 63U, 100U, 128U, 159U}) {
    CAPTURE(cap);
    Prompt prompt = driver.prompt_of({{}, text, 200, 200, 0});
    prompt.match_cap = cap;
    const Match match = driver.cache.match(prompt);
    CHECK(match.joint_depth == cap / 32 * 32);
    CHECK(match.limited_by == LimitedBy::neither);
    CHECK(match.recurrent_depth == 160);
    CHECK(match.attention_depth == 160);
  }
}

TEST_CASE_TEMPLATE("L1: which kind limited the depth", O, CoarsePages, PagedRecurrent, SlabPacked,
                   StaticDualPool) {
  // Retention keeps the checkpoints until the end, so that blocks are the first to go.
  auto driver = make_driver<O>(16, 10, [](CacheOptions& options) { options.retention = 1; });
  const Text text(1);
  const auto filler = driver.begin(Text(2), 1, 200);
  REQUIRE(driver.serve(text, 160, 32));
  CHECK(driver.match(text, 161).limited_by == LimitedBy::neither);
  REQUIRE(squeeze(driver, filler, [&] { return driver.match(text, 161).attention_depth < 128; }));
  const Match match = driver.match(text, 161);
  CHECK(match.recurrent_depth == 160);
  CHECK(match.joint_depth == match.attention_depth / 32 * 32);
  CHECK(match.limited_by == LimitedBy::attention);

  // Without any state attention reaches deeper.
  auto bare = make_driver<O>(40, 12, [](CacheOptions& options) {
    options.interior = Interior::none;
    options.keep_tail = false;
  });
  REQUIRE(bare.serve(text, 150, 150));
  const Match none = bare.match(text, 161);
  CHECK(none.attention_depth == 144);
  CHECK(none.joint_depth == 0);
  CHECK(none.limited_by == LimitedBy::recurrent);
}

TEST_CASE("L1: without attention layers only the checkpoints count") {
  OrganizationLayout layout = small_layout<SlabPacked>();
  layout.attention_stacks = layout.units_per_block = 0;
  layout.block_tokens = layout.checkpoint_interval_tokens;
  CacheDriver<SlabPacked> driver(layout, room_for(layout, 0, 8));
  const Text text(1);
  const auto request = driver.begin(text, 100);
  for (const Tokens to : {32U, 64U, 96U, 100U}) {
    static_cast<void>(driver.cache.open_step());
    REQUIRE(driver.advance(request, to - driver.placed(request)));
    static_cast<void>(driver.cache.close_step());
    REQUIRE(driver.cache.complete(driver.cache.last_ticket(request.sequence)));
    driver.publish(request);
  }
  const Match match = driver.match(text, 97);
  CHECK(match.attention_depth == 96);
  CHECK(match.joint_depth == 96);
  CHECK(driver.match(text, 96).joint_depth == 64);
}

TEST_CASE_TEMPLATE("L1: pending depth is what the joint depth becomes", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    CAPTURE(static_cast<int>(reuse));
    auto driver = make_driver<O>(40, 12, [&](CacheOptions& options) { options.reuse = reuse; });
    const Text text(1);
    const auto request = driver.begin(text, 64);
    const Ticket first = driver.open();
    REQUIRE(driver.advance(request, 32));
    driver.publish(request);
    Match match = driver.match(text, 65);
    CHECK(match.joint_depth == 0);
    CHECK(match.pending_depth == 32);
    CHECK(match.pending_until == first);
    driver.close();
    match = driver.match(text, 65);
    CHECK(match.joint_depth == (reuse == Reuse::stream ? 32 : 0));
    CHECK(match.pending_depth == 32);
    const Ticket second = driver.open();
    REQUIRE(driver.advance(request, 32));
    driver.publish(request);
    driver.close();
    match = driver.match(text, 65);
    CHECK(match.pending_depth == 64);
    CHECK(match.pending_until == (reuse == Reuse::stream ? Ticket::none : second));
    REQUIRE(driver.complete());
    match = driver.match(text, 65);
    CHECK(match.joint_depth == (reuse == Reuse::stream ? 64 : 32));
    REQUIRE(driver.complete());
    match = driver.match(text, 65);
    CHECK(match.joint_depth == 64);
    CHECK(match.pending_depth == 64);
    CHECK(match.pending_until == Ticket::none);
    CHECK(driver.fault.empty());
  }
}

TEST_CASE_TEMPLATE("L2: the oldest object of a key answers, and its loss exposes the next", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(10, 6);
  const Text text(1);
  const auto first = driver.begin(text, 33);
  const auto second = driver.begin(text, 33);
  REQUIRE(driver.prefill(first, 32));
  const auto first_block = driver.cache.blocks_of(first.sequence)[0];
  REQUIRE(driver.prefill(second, 32));
  const auto second_block = driver.cache.blocks_of(second.sequence)[0];
  CHECK(first_block != second_block);
  CHECK(driver.cache.metrics().duplicates_published == 3);  // two blocks and a checkpoint
  CHECK(driver.cache.metrics().published_blocks == 4);
  REQUIRE(driver.finish(first));
  const auto third = driver.begin(text, 40);
  CHECK(driver.cache.blocks_of(third.sequence)[0] == first_block);
  CHECK(driver.placed(third) == 32);
  REQUIRE(driver.cache.abort(third.sequence));

  const auto filler = driver.begin(Text(2), 1, 150);
  REQUIRE(squeeze(driver, filler, [&] {
    return driver.cache.metrics().published_blocks <= 2 &&
           !driver.cache.organization().cached(first_block);
  }));
  CHECK(driver.match(text, 40).attention_depth == 32);
  CHECK(driver.match(text, 40).joint_depth == 32);
  REQUIRE(driver.cache.abort(filler.sequence));
  const auto fourth = driver.begin(text, 40);
  CHECK(driver.placed(fourth) == 32);
  CHECK(driver.cache.blocks_of(fourth.sequence)[0] == second_block);
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("L2: another parent or another epoch is a miss", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(40, 12);
  const Text text(1);
  REQUIRE(driver.serve(text, 96, 32));
  Prompt prompt = driver.prompt_of({{}, text, 97, 97, 0});
  CHECK(driver.cache.match(prompt).joint_depth == 96);
  prompt.root = Key{8, 8};
  CHECK(driver.cache.match(prompt).attention_depth == 0);
  CHECK(driver.cache.match(prompt).joint_depth == 0);
  // The checkpoint at 64 under its own key, the key before it another one.
  std::vector<Key> keys = text.keys(97, 8);
  keys[6] = Key{1, 2};
  prompt = driver.prompt_of({{}, text, 97, 97, 0});
  prompt.keys = keys;
  prompt.match_cap = 64;
  CHECK(driver.cache.match(prompt).joint_depth == 32);
  prompt.keys = std::span(keys).first(11);  // keys end early
  CHECK(driver.cache.match(prompt).attention_depth == 80);
}

TEST_CASE("L1: the organizations agree on depths where nothing is evicted") {
  const auto depths = [](auto driver_of) {
    auto driver = driver_of();
    std::vector<Tokens> seen;
    const Text stem(1);
    for (std::uint64_t i = 0; i < 12; ++i) {
      const Text text(stem, static_cast<Tokens>(i * 29 % 140), 10 + i);
      const auto tokens = static_cast<Tokens>(20 + i * 37 % 150);
      const Match match = driver.match(text, tokens);
      const auto request = driver.begin(text, tokens);
      driver.prefill(request, tokens, static_cast<Tokens>(7 + i * 5));
      for (const Tokens one : {match.attention_depth, match.recurrent_depth, match.joint_depth,
                               driver.placed(request)})
        seen.push_back(one);
      driver.finish(request);
      CHECK(driver.fault.empty());
    }
    return seen;
  };
  const auto expected = depths([] { return make_driver<CoarsePages>(200, 90); });
  CHECK(depths([] { return make_driver<PagedRecurrent>(200, 90); }) == expected);
  CHECK(depths([] { return make_driver<SlabPacked>(200, 90); }) == expected);
  CHECK(depths([] { return make_driver<StaticDualPool>(200, 90); }) == expected);
  CHECK(*std::max_element(expected.begin(), expected.end()) > 100);
}

TEST_CASE_TEMPLATE("L1: the version changes whenever a match does", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(12, 4);
  const Text text(1);
  std::uint64_t version = 0;
  Tokens joint = ~0U;
  const auto looks = [&](const char* after) {
    CAPTURE(after);
    const Match match = driver.match(text, 65);
    CHECK(match.version == driver.cache.version());
    if (match.joint_depth != joint) CHECK(match.version != version);
    version = match.version;
    joint = match.joint_depth;
  };
  looks("construction");
  const auto request = driver.begin(text, 64);
  looks("commit");
  driver.open();
  looks("open");
  driver.advance(request, 32);
  looks("advance");
  driver.publish(request);
  looks("publish");
  driver.close();
  looks("close");
  driver.open();
  driver.advance(request, 32);
  driver.publish(request);
  driver.close();
  looks("another step");
  driver.drop();
  looks("drop");
  driver.complete();
  looks("complete");
  driver.finish(request);
  looks("finish");
  driver.cache.advance_epoch();
  looks("epoch");
  CHECK(joint == 0);
  driver.serve(text, 64, 32);
  looks("again");
  CHECK(joint == 64);
  driver.cache.clear();
  looks("clear");
  CHECK(joint == 0);
}
