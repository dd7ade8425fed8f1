// One translation unit: hands a list and a cache to functions that another one defines.
#include "hybridmem/cache/state_cache.hpp"
#include "hybridmem/core/ids.hpp"
#include "hybridmem/core/index_list.hpp"
#include "hybridmem/organization/slab_packed.hpp"

int length_of(const hybridmem::IndexList<hybridmem::PageId>& list);

int handles_of(const hybridmem::StateCache<hybridmem::SlabPacked>* cache);

int main() {
  return length_of(hybridmem::IndexList<hybridmem::PageId>{}) + handles_of(nullptr);
}
