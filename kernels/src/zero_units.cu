// zero_units: the kernel and its launcher.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "hybridmem/core/arithmetic.hpp"
#include "hybridmem/kernels/zero_units.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::kernels {

static_assert(std::is_same_v<cudaStream_t, CUstream_st*>);

namespace {

constexpr int threads = 256;
constexpr std::uint64_t vector_bytes = sizeof(uint4);
constexpr std::uint64_t tile_bytes = 16'384;  // four vectors a thread
constexpr std::uint64_t alignment = 256;

// One block clears one tile of one page.
__global__ void __launch_bounds__(threads)
    clear_tiles(unsigned char* pool, std::uint64_t page_bytes, const std::int32_t* page_ids,
                std::uint32_t tiles_per_page) {
  const std::int32_t page = page_ids[blockIdx.x / tiles_per_page];
  if (page < 0) return;
  const std::uint64_t first = (blockIdx.x % tiles_per_page) * tile_bytes;
  const std::uint64_t rest = page_bytes - first;
  const std::uint64_t bytes = rest < tile_bytes ? rest : tile_bytes;
  unsigned char* const tile = pool + static_cast<std::uint64_t>(page) * page_bytes + first;
  for (std::uint64_t at = threadIdx.x * vector_bytes; at < bytes; at += threads * vector_bytes)
    *reinterpret_cast<uint4*>(tile + at) = make_uint4(0, 0, 0, 0);
}

LaunchError refused(Error code, const char* field, std::uint64_t value, const char* expected) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return LaunchError{
      InputError{code, field, static_cast<std::int64_t>(std::min(value, most)), expected}, 0};
}

}  // namespace

LaunchStatus zero_units(const ZeroUnits& units, CUstream_st* stream) {
  if (units.count < 0)
    return LaunchError{InputError{Error::bad_argument, "count", units.count, "0 or more ids"}, 0};
  if (units.page_bytes == 0)
    return refused(Error::bad_argument, "page_bytes", 0, "a positive multiple of 256");
  if (units.page_bytes % alignment != 0)
    return refused(Error::not_divisible, "page_bytes", units.page_bytes, "a multiple of 256");
  if (units.count == 0) return Ok::ok;
  if (units.pool == nullptr) return refused(Error::missing, "pool", 0, "a device address");
  if (units.page_ids == nullptr) return refused(Error::missing, "page_ids", 0, "a device address");
  const auto address = reinterpret_cast<std::uintptr_t>(units.pool);
  if (address % alignment != 0)
    return refused(Error::not_divisible, "pool", address, "an address aligned to 256 bytes");

  constexpr std::uint64_t most_blocks = std::numeric_limits<std::int32_t>::max();
  const std::uint64_t tiles = divide_up(units.page_bytes, tile_bytes);
  const Checked blocks = Checked{tiles} * Checked{static_cast<std::uint64_t>(units.count)};
  if (blocks.value() > most_blocks)
    return refused(Error::overflow, "count", static_cast<std::uint64_t>(units.count),
                   "at most 2^31 - 1 tiles of 16 KiB in one launch");

  clear_tiles<<<static_cast<unsigned>(blocks.value()), threads, 0, stream>>>(
      static_cast<unsigned char*>(units.pool), units.page_bytes, units.page_ids,
      static_cast<std::uint32_t>(tiles));
  const cudaError_t outcome = cudaGetLastError();
  if (outcome != cudaSuccess) return LaunchError{{}, static_cast<int>(outcome)};
  return Ok::ok;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::kernels
