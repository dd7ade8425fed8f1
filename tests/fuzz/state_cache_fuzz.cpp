// Any sequence of calls leaves a cache, its model and the memory it hands out in agreement. The
// first byte chooses the organization; an exception that leaves here is a difference.
#include <cstddef>
#include <cstdint>
#include <span>

#include "hybridmem/organization/coarse_pages.hpp"
#include "hybridmem/organization/paged_recurrent.hpp"
#include "hybridmem/organization/slab_packed.hpp"
#include "hybridmem/organization/static_dual_pool.hpp"
#include "support/cache_steps.hpp"

namespace {

template <class O>
void run(std::span<const std::uint8_t> bytes) {
  hybridmem_test::Choices choices(bytes);
  hybridmem_test::CacheSteps<O> steps(choices);
  while (!choices.done()) steps.step();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::uint8_t> bytes(data + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      run<hybridmem::CoarsePages>(bytes);
      break;
    case 1:
      run<hybridmem::PagedRecurrent>(bytes);
      break;
    case 2:
      run<hybridmem::SlabPacked>(bytes);
      break;
    default:
      run<hybridmem::StaticDualPool>(bytes);
      break;
  }
  return 0;
}
