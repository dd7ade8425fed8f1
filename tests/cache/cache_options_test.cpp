// CacheOptions: what `check` refuses, each with the field that is wrong.
#include "hybridmem/cache/cache_options.hpp"

#include <limits>

#include "support/cache_driver.hpp"

using namespace hybridmem_test;

TEST_CASE_TEMPLATE("check names the field that is wrong", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  const OrganizationLayout layout = small_layout<O>();
  const CacheOptions good = room_for(layout, 10, 3);
  const auto wrong = [&](auto&& change) {
    CacheOptions options = good;
    change(options);
    const InputError found = StateCache<O>::check(layout, options);
    const auto cache = StateCache<O>::create(layout, options);
    CHECK(cache.has_value() == (found.code == Error::none));
    return found.field == nullptr ? std::string() : std::string(found.field);
  };
  using Options = CacheOptions&;
  CHECK(wrong([](Options) {}).empty());
  CHECK(wrong([](Options o) { o.max_sequences = 0; }) == "max_sequences");
  CHECK(wrong([](Options o) { o.max_sequences = (1U << 20U) + 1; }) == "max_sequences");
  CHECK(wrong([](Options o) { o.max_steps_in_flight = 0; }) == "max_steps_in_flight");
  CHECK(wrong([](Options o) { o.max_steps_in_flight = 65; }) == "max_steps_in_flight");
  CHECK(wrong([](Options o) { o.max_sequence_tokens = 0; }) == "max_sequence_tokens");
  CHECK(wrong([](Options o) { o.max_chunk_tokens = 0; }) == "max_chunk_tokens");
  CHECK(wrong([](Options o) { o.headroom = -0.1; }) == "headroom");
  CHECK(wrong([](Options o) { o.headroom = 1.0; }) == "headroom");
  CHECK(wrong([](Options o) { o.headroom = std::numeric_limits<double>::quiet_NaN(); }) ==
        "headroom");
  CHECK(wrong([](Options o) { o.key_tokens = 0; }) == "key_tokens");
  CHECK(wrong([](Options o) { o.key_tokens = 12; }) == "key_tokens");
  CHECK(wrong([](Options o) { o.units = {0, 0}; }) == "units");
  CHECK(wrong([](Options o) { o.units[0] = std::uint64_t{1} << 31U; }) == "units");
}

TEST_CASE_TEMPLATE("check refuses the layout of another organization, or none", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  OrganizationLayout layout = small_layout<O>();
  const CacheOptions options = room_for(layout, 10, 3);
  layout.kind = layout.kind == OrganizationKind::slab_packed ? OrganizationKind::coarse_pages
                                                             : OrganizationKind::slab_packed;
  CHECK(std::string(StateCache<O>::check(layout, options).field) == "layout.kind");
  layout = small_layout<O>();
  layout.checkpoint_interval_tokens = 0;
  CHECK(StateCache<O>::check(layout, options).code == Error::layout);
  layout.checkpoint_interval_tokens = 40;  // no multiple of the block
  CHECK(StateCache<O>::check(layout, options).code == Error::layout);
}

TEST_CASE_TEMPLATE("the least room is a block and a running state", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  const OrganizationLayout layout = small_layout<O>();
  CacheOptions options = room_for(layout, 1, 1);
  CHECK(StateCache<O>::check(layout, options).code == Error::none);
  --options.units[layout.pools - 1U];
  CHECK(StateCache<O>::check(layout, options).code == Error::capacity);
}
