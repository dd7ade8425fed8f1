// A cache over every organization without exceptions and without RTTI: every member is
// instantiated, and one request goes through its life.
#include <array>
#include <utility>

#include "hybridmem/cache/state_cache.hpp"
#include "hybridmem/organization/coarse_pages.hpp"
#include "hybridmem/organization/paged_recurrent.hpp"
#include "hybridmem/organization/slab_packed.hpp"
#include "hybridmem/organization/static_dual_pool.hpp"

template class hybridmem::StateCache<hybridmem::CoarsePages>;
template class hybridmem::StateCache<hybridmem::PagedRecurrent>;
template class hybridmem::StateCache<hybridmem::SlabPacked>;
template class hybridmem::StateCache<hybridmem::StaticDualPool>;

const char* cache_failure();

namespace {

hybridmem::OrganizationLayout layout() {
  hybridmem::OrganizationLayout layout;
  layout.kind = hybridmem::OrganizationKind::slab_packed;
  layout.unit_bytes = {256, 256};
  layout.block_tokens = 16;
  layout.checkpoint_interval_tokens = 32;
  layout.attention_stacks = layout.recurrent_stacks = 1;
  layout.units_per_block = 1;
  layout.member_units = 3;
  layout.lines_per_checkpoint = layout.slots_per_checkpoint = 1;
  layout.slots_per_slab = 4;
  return layout;
}

}  // namespace

/// What goes wrong, null if nothing does.
const char* cache_failure() {
  using Cache = hybridmem::StateCache<hybridmem::SlabPacked>;
  hybridmem::CacheOptions options;
  options.max_sequences = 4;
  options.max_sequence_tokens = 256;
  const auto refused = Cache::create(layout(), options);  // no units
  if (refused || refused.error().code != hybridmem::Error::capacity)
    return "a budget of nothing is an error value";
  options.units = {64, 0};
  auto made = Cache::create(layout(), options);
  if (!made) return "a cache is created";
  const std::unique_ptr<Cache> cache = std::move(made.value());
  const std::array<hybridmem::Key, 4> keys{{{0, 1}, {0, 2}, {0, 3}, {0, 4}}};
  const hybridmem::Prompt prompt{keys, {9, 9}, 64, 64};
  const auto sequence = cache->commit(prompt);
  if (!sequence || !cache->open_step()) return "a request is admitted";
  const hybridmem::Chunk chunk{*sequence, 64};
  hybridmem::Advanced advanced;
  if (cache->advance({&chunk, 1}, {&advanced, 1}).done != 1) return "a chunk is placed";
  const auto work = cache->close_step();
  if (!work || work->zeros.size() != 4) return "its blocks are cleared";
  if (!cache->complete(work->ticket) || !cache->finish(*sequence, 64, keys))
    return "a request ends";
  if (cache->match(prompt).joint_depth != 32) return "what it left is found";
  if (cache->abort(*sequence).error() != hybridmem::Error::stale_handle)
    return "a stale handle is an error value";
  return cache->audit({}) == 0 ? nullptr : "the cache agrees with itself";
}
