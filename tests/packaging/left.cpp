// One translation unit: hands a list to a function that another one defines.
#include "hybridmem/core/ids.hpp"
#include "hybridmem/core/index_list.hpp"

int length_of(const hybridmem::IndexList<hybridmem::PageId>& list);

int main() {
  return length_of(hybridmem::IndexList<hybridmem::PageId>{});
}
