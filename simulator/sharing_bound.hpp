// The most prompt tokens that prefix reuse can save on a workload, computed apart from any cache.
#pragma once

#include <cstdint>
#include <vector>

#include "hybridmem/core/ids.hpp"
#include "simulator/request.hpp"

namespace hybridmem_simulator {

/// What an infinite cache saves if no request arrives before the earlier ones are done.
struct SharingBound {
  std::uint64_t saved_tokens = 0;
  std::uint64_t input_tokens = 0;
  std::uint64_t hit_requests = 0;  ///< that save anything

  /// Saved tokens over input tokens; 0 for an empty workload.
  double share() const noexcept {
    return input_tokens == 0
               ? 0.0
               : static_cast<double>(saved_tokens) / static_cast<double>(input_tokens);
  }
};

/// For each request, in order, the tokens it has in common with the start of some earlier request:
/// whole named chunks that lie within its input, of requests with its salt. What an earlier request
/// generated counts for nothing. Expected time linear in the named chunks.
std::vector<Tokens> shared_prefixes(const Workload& workload);

/// The sum over all requests of the deepest boundary at or below both the shared prefix and the
/// input less its last token, which must be computed to generate anything. A boundary is where a
/// checkpoint and a whole attention block end: a multiple of `interval_tokens` and `block_tokens`.
/// Throws `std::invalid_argument` if one of the two is zero.
SharingBound sharing_bound(const Workload& workload, Tokens interval_tokens, Tokens block_tokens);

}  // namespace hybridmem_simulator
