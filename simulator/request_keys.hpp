// RequestKeys: the prefix keys of a request, made from the numbers of its chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "hybridmem/core/arithmetic.hpp"
#include "hybridmem/prefix/key.hpp"
#include "simulator/request.hpp"

namespace hybridmem_simulator {

namespace detail {

/// A fixed bijection of 64 bits that spreads every bit (the finaliser of a multiply-xorshift
/// generator).
constexpr std::uint64_t spread(std::uint64_t value) noexcept {
  value = (value ^ value >> 30U) * 0xbf58476d1ce4e5b9U;
  value = (value ^ value >> 27U) * 0x94d049bb133111ebU;
  return value ^ value >> 31U;
}

constexpr hybridmem::Key name_of(std::uint64_t kind, std::uint64_t number, std::uint64_t place,
                                 std::uint64_t salt) noexcept {
  const std::uint64_t first = spread(number + spread(kind * 0x9e3779b97f4a7c15U + salt));
  const std::uint64_t second = spread(place + first);
  return {first ^ spread(second), second};
}

}  // namespace detail

/// Fills `keys` with the keys of a request's first `tokens` tokens, one for each `key_tokens`. A
/// key inside a named chunk depends on the chunk's number, the place and the salt: equal chunks at
/// equal places have equal keys, of any grid. Other keys belong to the request, `index`, alone.
inline void fill_keys(const Workload& workload, std::size_t index, Tokens tokens, Tokens key_tokens,
                      std::vector<hybridmem::Key>& keys) {
  const Request& request = workload.requests[index];
  const std::uint64_t named = std::min<std::uint64_t>(
      std::uint64_t{request.chunk_count} * workload.chunk_tokens, request.input_tokens);
  keys.clear();
  keys.reserve(tokens / key_tokens);
  for (std::uint64_t end = key_tokens; end <= tokens; end += key_tokens) {
    if (end <= named) {
      const std::uint64_t chunk = (end - 1) / workload.chunk_tokens;
      keys.push_back(
          detail::name_of(1, workload.chunks[request.first_chunk + static_cast<std::size_t>(chunk)],
                          end, request.salt));
    } else {
      keys.push_back(detail::name_of(2, index, end, request.salt));
    }
  }
}

}  // namespace hybridmem_simulator
