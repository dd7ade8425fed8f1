#include "simulator/sharing_bound.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <unordered_map>

namespace hybridmem_simulator {

namespace {

// A node of the tree of all prefixes: how to get there from the node before.
struct Edge {
  std::uint64_t parent;
  std::uint64_t chunk;
  bool operator==(const Edge&) const = default;
};

struct EdgeHash {
  std::size_t operator()(const Edge& edge) const noexcept {
    std::uint64_t z = edge.parent * 0x9E3779B97F4A7C15U + edge.chunk;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return static_cast<std::size_t>(z ^ (z >> 31U));
  }
};

}  // namespace

std::vector<Tokens> shared_prefixes(const Workload& workload) {
  std::unordered_map<std::uint64_t, std::uint64_t> roots;  // by salt
  std::unordered_map<Edge, std::uint64_t, EdgeHash> nodes;
  std::uint64_t next_node = 0;
  std::vector<Tokens> shared;
  shared.reserve(workload.requests.size());
  for (const Request& request : workload.requests) {
    const Tokens whole = request.input_tokens / workload.chunk_tokens;
    const std::uint32_t count = std::min(request.chunk_count, whole);
    const auto root = roots.try_emplace(request.salt, next_node);
    if (root.second) ++next_node;
    std::uint64_t node = root.first->second;
    Tokens known = 0;  // chunks
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t chunk = workload.chunks[std::size_t{request.first_chunk} + i];
      const auto edge = nodes.try_emplace(Edge{node, chunk}, next_node);
      if (edge.second)
        ++next_node;
      else
        ++known;  // a new node has no known one below it
      node = edge.first->second;
    }
    shared.push_back(known * workload.chunk_tokens);
  }
  return shared;
}

SharingBound sharing_bound(const Workload& workload, Tokens interval_tokens, Tokens block_tokens) {
  if (interval_tokens == 0 || block_tokens == 0)
    throw std::invalid_argument("sharing_bound: an interval or block of 0 tokens");
  const std::uint64_t grid = std::lcm<std::uint64_t>(interval_tokens, block_tokens);
  const std::vector<Tokens> shared = shared_prefixes(workload);
  SharingBound bound;
  for (std::size_t i = 0; i < shared.size(); ++i) {
    const Tokens input = workload.requests[i].input_tokens;
    const std::uint64_t depth = std::min(shared[i], input - 1) / grid * grid;
    bound.input_tokens += input;
    bound.saved_tokens += depth;
    bound.hit_requests += depth > 0 ? 1U : 0U;
  }
  return bound;
}

}  // namespace hybridmem_simulator
