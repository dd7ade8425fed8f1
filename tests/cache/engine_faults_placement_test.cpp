// Faults that engines shipped in placement and matching, as small cases. The name in brackets is
// where each was reported.
#include <algorithm>

#include "hybridmem/model/layout_solver.hpp"
#include "hybridmem/model/make_geometry.hpp"
#include "hybridmem/model/preset.hpp"
#include "hybridmem/organization/organization_layout.hpp"
#include "support/cache_driver.hpp"

using namespace hybridmem_test;

TEST_CASE_TEMPLATE("giant pages (vllm 54458): one short request holds its own bytes", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  // 22 recurrent groups and one attention group.
  OrganizationLayout layout = small_layout<O>();
  layout.recurrent_stacks = layout.lines_per_checkpoint = 22;
  layout.member_units =
      O::kind == OrganizationKind::coarse_pages || O::kind == OrganizationKind::static_dual_pool
          ? 22
          : 66;
  if (O::kind == OrganizationKind::paged_recurrent) layout.conv_units = 22;
  if (O::kind == OrganizationKind::slab_packed) layout.slots_per_checkpoint = 22;
  CacheDriver<O> driver(layout, room_for(layout, 40, 4));
  const auto request = driver.begin(Text(1), 12);
  REQUIRE(driver.step(request, 12));
  const std::uint64_t state = layout.units_per_checkpoint() + layout.least_slabs(1);
  CHECK(driver.used(0) + driver.used(1) == layout.units_per_block + state);
}

TEST_CASE_TEMPLATE("short prompts never hit (vllm 40696): prompt anchors", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(
      100, 12, [](CacheOptions& o) { o.prompt_anchors = true; }, Shape{16, 512, 1, 4});
  const Text text(1);
  REQUIRE(driver.serve(text, 480));
  CHECK(driver.match(text, 480).joint_depth == 464);
  CHECK(driver.match(text, 481).joint_depth == 480);
  CHECK(driver.match(Text(text, 480, 2), 900).joint_depth == 480);
}

TEST_CASE_TEMPLATE("checkpoint lottery (vllm 45238): the hit never depends on the length", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const auto& [shared, own] : {std::pair{1'600U, 600U}, std::pair{1'500U, 700U},
                                    std::pair{2'000U, 200U}, std::pair{300U, 1'900U}}) {
    CAPTURE(shared);
    auto driver = make_driver<O>(
        400, 120,
        [](CacheOptions& o) {
          o.max_chunk_tokens = 8'192;
          o.key_tokens = 16;
        },
        Shape{64, 64, 1, 16});
    const Text stem(1);
    for (std::uint64_t i = 0; i < 8; ++i) {
      CAPTURE(i);
      const auto request = driver.begin(Text(stem, shared, 10 + i), shared + own);
      REQUIRE(driver.error == Error::none);
      CHECK(driver.placed(request) == (i == 0 ? 0 : shared / 64 * 64));
      REQUIRE(driver.prefill(request, shared + own, 8'192));
      REQUIRE(driver.finish(request));
    }
    CHECK(driver.fault.empty());
  }
}

TEST_CASE_TEMPLATE("full hit on a boundary (vllm 44599, sglang 22935): one token is left", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(
      120, 6, [](CacheOptions& o) { o.key_tokens = 1; }, Shape{1, 100, 1, 4});
  const Text text(1);
  const auto producer = driver.begin(text, 101);
  REQUIRE(driver.prefill(producer, 100));
  REQUIRE(driver.finish(producer));
  const Match all = driver.match(text, 100);
  CHECK(all.attention_depth == 99);
  CHECK(all.joint_depth == 0);
  const auto again = driver.begin(text, 100);
  CHECK(driver.placed(again) == 0);
  CHECK(driver.match(text, 101).joint_depth == 100);  // untouched
  const auto more = driver.begin(text, 101);
  CHECK(driver.placed(more) == 100);
}

TEST_CASE_TEMPLATE("kinds diverge (vllm 46453, LMCache 2845): the joint depth is what both have", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(
      40, 8, [](CacheOptions& o) { o.retention = 1; }, Shape{16, 256, 1, 4});
  const Text text(1);
  const auto filler = driver.begin(Text(2), 1, 500);
  REQUIRE(driver.step(filler, 1));
  REQUIRE(driver.serve(text, 512, 256));
  CHECK(driver.match(text, 513).joint_depth == 512);
  REQUIRE(squeeze(driver, filler, [&] { return driver.match(text, 513).attention_depth <= 300; }));
  const Match match = driver.match(text, 513);
  CHECK(match.attention_depth >= 256);
  CHECK(match.recurrent_depth == 512);
  CHECK(match.joint_depth == 256);
  CHECK(match.limited_by == LimitedBy::attention);

  auto bare = make_driver<O>(
      80, 4,
      [](CacheOptions& o) {
        o.interior = Interior::none;
        o.keep_tail = false;
        o.max_chunk_tokens = 2'000;
      },
      Shape{16, 256, 1, 4});
  REQUIRE(bare.serve(text, 1'030, 1'030));
  CHECK(bare.match(text, 1'100).attention_depth == 1'024);
  CHECK(bare.match(text, 1'100).joint_depth == 0);
}

TEST_CASE_TEMPLATE("attention gone, state kept (xInfer 231): no match beyond the hole", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(
      12, 8,
      [](CacheOptions& o) {
        o.retention = 1;
        o.key_tokens = 16;
        o.max_chunk_tokens = 64;
      },
      Shape{64, 64, 1, 4});
  const Text text(1);
  const auto filler = driver.begin(Text(2), 1, 700);
  REQUIRE(driver.step(filler, 1));
  REQUIRE(driver.serve(text, 512, 64));
  const bool held = driver.match(text, 513).recurrent_depth == 512;
  REQUIRE(squeeze(driver, filler, [&] { return driver.match(text, 513).attention_depth <= 192; }));
  const Match match = driver.match(text, 513);
  CHECK(match.joint_depth <= 192);
  if (held) CHECK(match.recurrent_depth >= match.joint_depth);
  const auto adopts = driver.begin(Text(text, 512, 3), 520);
  if (driver.error == Error::none) CHECK(driver.placed(adopts) <= 192);
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("position mismatch (trtllm 15653, vllm 43559): a key leads to its own state", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(
      80, 10, [](CacheOptions& o) { o.interior = Interior::none; }, Shape{16, 128, 1, 4});
  const Text text(1);
  const auto request = driver.begin(text, 200);
  REQUIRE(driver.step(request, 130));
  const auto refused = driver.cache.publish(request.sequence, 128, text.keys(128, 8));
  REQUIRE(!refused);
  CHECK(refused.error() == Error::position_mismatch);
  CHECK(driver.match(text, 129).attention_depth == 0);

  // Any chunk sizes and starts: whatever is found under a key is what was computed for it.
  for (const Interior interior : {Interior::none, Interior::from_chunk_start, Interior::on_grid}) {
    auto random = make_driver<O>(
        400, 60,
        [&](CacheOptions& o) {
          o.interior = interior;
          o.kernel_chunk_tokens = 16;
        },
        Shape{16, 128, 1, 4});
    const Text stem(7);
    std::uint32_t state = 12'345;
    const auto below = [&](std::uint32_t limit) {
      state = state * 1'664'525U + 1'013'904'223U;
      return (state >> 8U) % limit;
    };
    for (std::uint64_t i = 0; i < 25; ++i) {
      const Tokens tokens = 1 + below(500);
      const auto one = random.begin(Text(stem, below(500), 100 + i), tokens);
      if (random.error != Error::none) continue;
      while (random.placed(one) < tokens) {
        const Tokens left = tokens - random.placed(one);
        const Tokens want = std::min(left, 1 + below(200));
        const Tokens chunk =
            below(2) == 0 ? want : std::max(1U, random.cache.next_stop(one.sequence, want));
        if (!random.step(one, chunk)) break;
        if (below(2) == 0) random.publish(one);
      }
      static_cast<void>(below(3) == 0 ? random.cache.abort(one.sequence) : random.finish(one));
    }
    CHECK_MESSAGE(random.fault.empty(), random.fault);
    CHECK(random.cache.metrics().hits > 0);
  }
}

TEST_CASE("interval not a chunk multiple (vllm 57266): refused, with the two nearest") {
  const auto geometry = make_geometry({.attention_layers = 4,
                                       .recurrent_layers = 4,
                                       .kv_bytes_per_token_layer = 1'024,
                                       .recurrent_bytes_layer = 262'144,
                                       .conv_bytes_layer = 4'096,
                                       .kernel_chunk_tokens = 256});
  REQUIRE(geometry);
  LayoutOptions options;
  options.block_tokens = 64;
  options.checkpoint_interval_tokens = 320;
  const auto layout = solve_layout(*geometry, options);
  REQUIRE(!layout);
  CHECK(layout.error().lower == 256);
  CHECK(layout.error().upper == 512);
  options.checkpoint_interval_tokens = 512;
  CHECK(solve_layout(*geometry, options).has_value());
}

TEST_CASE_TEMPLATE("key collision: an equal key under another parent is another prefix", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(80, 20);
  const Text text(1);
  REQUIRE(driver.serve(text, 64, 32));
  REQUIRE(driver.serve(Text(2), 16));
  // The second block and the checkpoint at 32 of the first text, behind the first block of another.
  std::vector<Key> keys = Text(2).keys(65, 8);
  keys[3] = text.keys(65, 8)[3];
  Prompt prompt = driver.prompt_of({{}, text, 65, 65, 0});
  prompt.keys = keys;
  const Match match = driver.cache.match(prompt);
  CHECK(match.attention_depth == 16);
  CHECK(match.recurrent_depth == 16);  // the tail that the second text kept
  CHECK(match.joint_depth == 16);
}

TEST_CASE_TEMPLATE("any page size (vllm 39031): a layout and a cache for every model", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const char* name : {"qwen3.5-0.8b", "nemotron-3-nano-30b-a3b", "kimi-linear-48b-a3b"}) {
    CAPTURE(name);
    const ModelPreset* const preset = find_preset(name);
    REQUIRE(preset != nullptr);
    const auto geometry = make_geometry(preset->architecture);
    REQUIRE(geometry);
    const auto pages = solve_layout(*geometry, {});
    REQUIRE(pages);
    const OrganizationLayout layout = organization_layout(*pages, O::kind);
    CacheOptions options;
    options.units = {2'000, 400};
    options.max_sequences = 4;
    options.max_sequence_tokens = 8'192;
    options.key_tokens = pages->key_tokens;
    CAPTURE(describe(StateCache<O>::check(layout, options)));
    const auto cache = StateCache<O>::create(layout, options);
    CHECK(cache.has_value());
  }
}
