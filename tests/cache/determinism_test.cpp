// Identical calls give identical ids and digests, on ranks as on replicas (rule P10); a different
// call shows in the digest.
#include <doctest/doctest.h>

#include <set>

#include "hybridmem/organization/coarse_pages.hpp"
#include "hybridmem/organization/paged_recurrent.hpp"
#include "hybridmem/organization/slab_packed.hpp"
#include "hybridmem/organization/static_dual_pool.hpp"
#include "support/cache_driver.hpp"
#include "support/cache_script.hpp"

using namespace hybridmem_test;

TEST_CASE_TEMPLATE("identical calls give identical outcomes, ids and digests", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Choices first(seed);
    Choices second(seed);
    const CacheWorld world = any_cache_world(O::kind, first);
    any_cache_world(O::kind, second);
    StateCache<O> one(world.layout, world.options);
    StateCache<O> two(world.layout, world.options);
    CacheScript<StateCache<O>> here(one, first);
    CacheScript<StateCache<O>> there(two, second);
    for (int i = 0; i < 400; ++i) {
      here.call();
      there.call();
      REQUIRE(one.fingerprint() == two.fingerprint());
      REQUIRE(here.outcome() == there.outcome());
    }
  }
}

TEST_CASE_TEMPLATE("different calls give different digests", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  const OrganizationLayout layout = small_layout<O>();
  const CacheOptions options = room_for(layout, 32, 8);
  std::set<std::uint64_t> digests;
  const auto digest_after = [&](Tokens prompt, Tokens chunk, Tokens upto, bool ends) {
    CacheDriver<O> driver(layout, options);
    const auto request = driver.begin(Text(1), prompt);
    driver.step(request, chunk);
    driver.publish(request, upto);
    if (ends) CHECK(driver.finish(request));
    digests.insert(driver.cache.fingerprint());
  };
  digest_after(100, 64, 64, false);
  digest_after(100, 64, 64, true);
  digest_after(100, 64, 32, true);
  digest_after(100, 48, 48, true);
  digest_after(100, 63, 63, true);
  CHECK(digests.size() == 5);
}

TEST_CASE("a cache that was reset gives the ids of a new one") {
  const OrganizationLayout layout = small_layout<SlabPacked>();
  const CacheOptions options = room_for(layout, 32, 8);
  CacheDriver<SlabPacked> used(layout, options);
  REQUIRE(used.serve(Text(1), 100));
  REQUIRE(used.serve(Text(2), 200));
  REQUIRE(used.cache.reset());
  CHECK(used.used() == 0);
  StateCache<SlabPacked> fresh(layout, options);
  const auto keys = Text(3).keys(100, options.key_tokens);
  std::vector<std::int32_t> ids;
  for (StateCache<SlabPacked>* const cache : {&used.cache, &fresh}) {
    const Sequence sequence = *cache->commit({keys, Key{7, 7}, 100, 100});
    CHECK(sequence.slot == 0);
    const Chunk chunk{sequence, 100};
    Advanced advanced;
    CHECK(*cache->open_step() == Ticket{1});
    REQUIRE(cache->advance({&chunk, 1}, {&advanced, 1}).done == 1);
    ids.push_back(cache->state_of(sequence).value());
    for (const BlockId id : cache->blocks_of(sequence)) ids.push_back(id.value());
  }
  REQUIRE(ids.size() == 16);
  CHECK(std::equal(ids.begin(), ids.begin() + 8, ids.begin() + 8));
}
