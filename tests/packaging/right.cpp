// The other translation unit, compiled at a check level of its own.
#include "hybridmem/core/ids.hpp"
#include "hybridmem/core/index_list.hpp"

int length_of(const hybridmem::IndexList<hybridmem::PageId>& list);

int length_of(const hybridmem::IndexList<hybridmem::PageId>& list) {
  return static_cast<int>(list.size());
}
