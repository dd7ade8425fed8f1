// Request, Workload: what a serving simulation is fed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hybridmem/core/ids.hpp"

namespace hybridmem_simulator {

using hybridmem::Tokens;

/// One request. Its input is a row of chunks of `Workload::chunk_tokens` tokens, each named by a
/// number: equal numbers at equal places mean an equal prefix up to there. Tokens beyond the named
/// chunks, and everything generated, belong to this request alone.
struct Request {
  double arrival_s = 0.0;
  Tokens input_tokens = 0;        ///< at least 1
  Tokens output_tokens = 0;       ///< at least 1; the simulation knows it, the scheduler does not
  std::uint32_t first_chunk = 0;  ///< place of its first number in `Workload::chunks`
  std::uint32_t chunk_count = 0;  ///< numbers it has
  /// Requests with different salts share nothing; 0 for all that may share.
  std::uint64_t salt = 0;
};

/// Requests in order of arrival.
struct Workload {
  std::string name;  ///< for output
  std::vector<Request> requests;
  std::vector<std::uint64_t> chunks;  ///< numbers of all requests; their ranges may overlap
  Tokens chunk_tokens = 512;
  bool has_sharing = true;  ///< false where the source says nothing of prefixes
};

}  // namespace hybridmem_simulator
