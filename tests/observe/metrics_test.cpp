// Metrics are one plain struct that says its own size; gauges add up and counters count.
#include "hybridmem/observe/metrics.hpp"

#include <doctest/doctest.h>

#include <type_traits>

#include "support/cache_driver.hpp"

using namespace hybridmem_test;

TEST_CASE("metrics are plain data whose size comes first") {
  static_assert(std::is_trivially_copyable_v<Metrics>);
  static_assert(std::is_standard_layout_v<Metrics>);
  const Metrics metrics;
  CHECK(metrics.struct_bytes == sizeof(Metrics));
  CHECK(static_cast<const void*>(&metrics.struct_bytes) == static_cast<const void*>(&metrics));
}

TEST_CASE_TEMPLATE("the units of each pool add up, and only pools that exist have any", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  const OrganizationLayout layout = small_layout<O>();
  const CacheOptions options = room_for(layout, 16, 6);
  CacheDriver<O> driver(layout, options);
  REQUIRE(driver.serve(Text(1), 100));
  const auto running = driver.begin(Text(2), 100);
  REQUIRE(driver.step(running, 40));
  const Metrics metrics = driver.cache.metrics();
  for (std::size_t pool = 0; pool < 2; ++pool) {
    const Metrics::Pool& units = metrics.pools[pool];
    CHECK(units.units == options.units[pool]);
    CHECK(units.free + units.cached + units.referenced == units.units);
    if (pool < layout.pools) CHECK(units.referenced > 0);
  }
  CHECK(metrics.pools[0].cached > 0);
  CHECK(metrics.slabs == (layout.has_slabs() ? 2 : 0));
  CHECK(metrics.slots_taken == (layout.has_slabs() ? 5 : 0));
}

TEST_CASE("counters tell a life apart") {
  const OrganizationLayout layout = small_layout<SlabPacked>();
  CacheDriver<SlabPacked> driver(layout, room_for(layout, 40, 12));
  REQUIRE(driver.serve(Text(1), 100));
  auto request = driver.begin(Text(1), 100);
  REQUIRE(driver.step(request, 4));
  auto other = driver.begin(Text(2), 64);
  CHECK(driver.cache.preempt(request.sequence));
  Metrics metrics = driver.cache.metrics();
  CHECK(metrics.running == 1);
  CHECK(metrics.preempted_waiting == 1);
  CHECK(metrics.commits == 3);
  CHECK(metrics.hits == 1);
  CHECK(metrics.adopted_tokens == 96);
  CHECK(metrics.preemptions == 1);
  CHECK(metrics.steps == 2);
  CHECK(metrics.advances == 2);
  CHECK(metrics.blocks_published == 6);
  CHECK(metrics.checkpoints_published == 3);
  CHECK(metrics.published_blocks == 6);
  CHECK(metrics.published_checkpoints == 3);
  CHECK(metrics.events == 0);
  CHECK(driver.resume(request, 100));
  metrics = driver.cache.metrics();
  CHECK(metrics.resumes == 1);
  CHECK(metrics.resumed_tokens == 96);
  CHECK(metrics.hits == 1);
  CHECK(metrics.preempted_waiting == 0);
  // A publication under a key that names an object already is a duplicate.
  auto twin = driver.begin(Text(2), 64);
  REQUIRE(driver.step(other, 64));
  REQUIRE(driver.step(twin, 64));
  driver.publish(other);
  driver.publish(twin);
  CHECK(driver.cache.metrics().duplicates_published == 6);
}
