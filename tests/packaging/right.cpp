// The other translation unit, compiled at a check level of its own.
#include "hybridmem/cache/state_cache.hpp"
#include "hybridmem/core/ids.hpp"
#include "hybridmem/core/index_list.hpp"
#include "hybridmem/organization/slab_packed.hpp"

int length_of(const hybridmem::IndexList<hybridmem::PageId>& list);

int length_of(const hybridmem::IndexList<hybridmem::PageId>& list) {
  return static_cast<int>(list.size());
}

int handles_of(const hybridmem::StateCache<hybridmem::SlabPacked>* cache);

int handles_of(const hybridmem::StateCache<hybridmem::SlabPacked>* cache) {
  return cache == nullptr ? 0 : static_cast<int>(cache->options().max_sequences);
}
