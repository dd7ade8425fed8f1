// zero_units: sets the listed pages of a pool to zero, on a CUDA stream. Compiled into
// hybridmem::kernels.
#pragma once

#include <cstdint>

#include "hybridmem/kernels/launch_error.hpp"

// What a `cudaStream_t` points to. Declared here so that host code needs no CUDA header.
struct CUstream_st;

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::kernels {

/// The pages to clear. Page `i` lies at `pool + i * page_bytes`, computed in 64 bits.
struct ZeroUnits {
  void* pool = nullptr;                    ///< device address of page 0, aligned to 256 bytes
  std::uint64_t page_bytes = 0;            ///< a positive multiple of 256
  const std::int32_t* page_ids = nullptr;  ///< device address of `count` ids
  std::int32_t count = 0;                  ///< 0 is allowed and enqueues nothing
};

/// Enqueues the clearing of every listed page on `stream` (null: the default stream). A negative id
/// is skipped; page 0 is a page like any other. Does not wait and does not allocate, so it may be
/// captured in a graph.
///
/// Preconditions that only the device could check: every id that is not negative names a page
/// inside the pool. A page listed twice is cleared twice, which is harmless.
///
/// Errors, all before the launch: `missing` (null pool or ids with `count > 0`), `bad_argument`
/// (negative count, page bytes 0), `not_divisible` (page bytes or pool address, by 256), `overflow`
/// (more work than one grid holds: `count * ceil(page_bytes / 16 KiB)` above 2^31 - 1).
LaunchStatus zero_units(const ZeroUnits& units, CUstream_st* stream);

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::kernels
