// The bound on saved tokens by hand, and beside a search over all pairs of requests.
#include "simulator/sharing_bound.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <vector>

#include "simulator/random.hpp"

namespace {

using namespace hybridmem_simulator;

void add(Workload& workload, Tokens input, std::initializer_list<std::uint64_t> chunks,
         std::uint64_t salt = 0) {
  Request request;
  request.input_tokens = input;
  request.output_tokens = 1;
  request.first_chunk = static_cast<std::uint32_t>(workload.chunks.size());
  request.chunk_count = static_cast<std::uint32_t>(chunks.size());
  request.salt = salt;
  workload.requests.push_back(request);
  workload.chunks.insert(workload.chunks.end(), chunks);
}

Workload with_chunks_of(Tokens tokens) {
  Workload workload;
  workload.chunk_tokens = tokens;
  return workload;
}

// The tokens two requests have in common at their start.
Tokens common(const Workload& workload, const Request& a, const Request& b) {
  if (a.salt != b.salt) return 0;
  const Tokens most =
      std::min({a.chunk_count, b.chunk_count, a.input_tokens / workload.chunk_tokens,
                b.input_tokens / workload.chunk_tokens});
  Tokens same = 0;
  while (same < most &&
         workload.chunks[a.first_chunk + same] == workload.chunks[b.first_chunk + same])
    ++same;
  return same * workload.chunk_tokens;
}

}  // namespace

TEST_CASE("by hand: prefixes, the last token, the interval") {
  Workload workload = with_chunks_of(512);
  add(workload, 2'048, {1, 2, 3, 4});
  add(workload, 2'048, {1, 2, 3, 4});     // all but the last token
  add(workload, 3'000, {1, 2, 3, 9, 5});  // three chunks
  add(workload, 600, {2});                // chunk 2 is elsewhere
  add(workload, 3'000, {1, 2, 3, 9, 6});  // of the third request
  CHECK(shared_prefixes(workload) == std::vector<Tokens>{0, 2'048, 1'536, 0, 2'048});

  const SharingBound fine = sharing_bound(workload, 512, 512);
  CHECK(fine.saved_tokens == 1'536 + 1'536 + 2'048);
  CHECK(fine.input_tokens == 2'048 + 2'048 + 3'000 + 600 + 3'000);
  CHECK(fine.hit_requests == 3);
  CHECK(fine.share() == doctest::Approx(5'120.0 / 10'696.0));

  const SharingBound coarse = sharing_bound(workload, 1'792, 16);
  CHECK(coarse.saved_tokens == 1'792 + 0 + 1'792);
  CHECK(coarse.hit_requests == 2);
  // Both a block and a checkpoint end only at their common multiples.
  CHECK(sharing_bound(workload, 768, 512).saved_tokens == 1'536 * 3);
  CHECK(sharing_bound(workload, 1'000, 512).saved_tokens == 0);
}

TEST_CASE("salts part requests") {
  Workload workload = with_chunks_of(16);
  add(workload, 33, {1, 2}, 5);
  add(workload, 33, {1, 2});
  add(workload, 33, {1, 2}, 5);
  add(workload, 33, {1, 2}, 6);
  CHECK(shared_prefixes(workload) == std::vector<Tokens>{0, 0, 32, 0});
}

TEST_CASE("a number for a last partial chunk is not a whole chunk") {
  Workload workload = with_chunks_of(16);
  add(workload, 20, {1, 2});
  add(workload, 20, {1, 2});
  CHECK(shared_prefixes(workload) == std::vector<Tokens>{0, 16});
}

TEST_CASE("nothing shared, nothing there, nothing asked") {
  CHECK(sharing_bound({}, 512, 512).share() == 0.0);
  Workload workload = with_chunks_of(16);
  add(workload, 1, {});
  add(workload, 1, {});
  CHECK(sharing_bound(workload, 1, 1).saved_tokens == 0);
  CHECK_THROWS_AS(sharing_bound(workload, 0, 16), std::invalid_argument);
  CHECK_THROWS_AS(sharing_bound(workload, 16, 0), std::invalid_argument);
}

TEST_CASE("it equals a search over all pairs") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    Workload workload = with_chunks_of(random.between(1, 40));
    for (int i = 0; i < 60; ++i) {
      Request request;
      request.first_chunk = static_cast<std::uint32_t>(workload.chunks.size());
      request.chunk_count = random.between(0, 8);
      request.input_tokens =
          std::max(1U, request.chunk_count * workload.chunk_tokens + random.between(0, 9));
      request.salt = random.between(0, 1);
      for (std::uint32_t k = 0; k < request.chunk_count; ++k)
        workload.chunks.push_back(random.between(0, 1));
      workload.requests.push_back(request);
    }
    const Tokens grid = random.between(1, 60);
    std::uint64_t saved = 0;
    for (std::size_t i = 0; i < workload.requests.size(); ++i) {
      Tokens best = 0;
      for (std::size_t k = 0; k < i; ++k)
        best = std::max(best, common(workload, workload.requests[i], workload.requests[k]));
      saved += std::min(best, workload.requests[i].input_tokens - 1) / grid * grid;
    }
    CHECK(sharing_bound(workload, grid, 1).saved_tokens == saved);
  }
}
