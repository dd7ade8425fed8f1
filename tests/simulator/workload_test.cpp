// Generated workloads have the statistics they are made for, and are the same everywhere.
#include "simulator/workload.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulator/sharing_bound.hpp"
#include "simulator/trace_reader.hpp"

namespace {

using namespace hybridmem_simulator;

// FNV-1a over all that a workload holds, arrivals by their bits.
std::uint64_t digest(const Workload& workload) {
  std::ostringstream text;
  text << workload.chunk_tokens << workload.has_sharing;
  for (const Request& request : workload.requests)
    text << ' ' << std::bit_cast<std::uint64_t>(request.arrival_s) << ' ' << request.input_tokens
         << ' ' << request.output_tokens << ' ' << request.first_chunk << ' ' << request.chunk_count
         << ' ' << request.salt;
  for (const std::uint64_t chunk : workload.chunks) text << ' ' << chunk;
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text.str()) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

bool ordered(const Workload& workload) {
  return std::ranges::is_sorted(workload.requests, {}, &Request::arrival_s);
}

}  // namespace

TEST_CASE("the paper's workload: lengths over many seeds") {
  double input = 0.0;
  double long_output = 0.0;
  double short_output = 0.0;
  constexpr std::uint64_t seeds = 1'000;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const Workload workload = paper_workload({.seed = seed});
    REQUIRE(workload.requests.size() == 300);
    for (const Request& request : workload.requests) {
      input += request.input_tokens;
      long_output += request.output_tokens;
      CHECK_MESSAGE((request.output_tokens >= 4 && request.output_tokens <= 1'024), seed);
      CHECK_MESSAGE((request.input_tokens >= 3'104 && request.input_tokens <= 5'300), seed);
    }
    for (const Request& request :
         paper_workload({.seed = seed, .output = output_mean_243}).requests)
      short_output += request.output_tokens;
  }
  const double count = 300.0 * seeds;
  CHECK(input / count == doctest::Approx(3'365.0).epsilon(0.001));
  CHECK(long_output / count == doctest::Approx(261.5).epsilon(0.005));
  CHECK(short_output / count == doctest::Approx(242.5).epsilon(0.005));
}

TEST_CASE("the last request arrives at n over the rate, the others like a Poisson process") {
  for (const double rate : {0.8, 3.0, 4.5}) {
    const Workload workload = paper_workload({.seed = 5, .arrivals = {.rate_per_s = rate}});
    CHECK(workload.requests.back().arrival_s == 300.0 / rate);
    CHECK(workload.requests.front().arrival_s > 0.0);
    CHECK(ordered(workload));
  }
  // Gaps of a Poisson process deviate as much as they last on average.
  const Workload workload =
      paper_workload({.seed = 9, .requests = 20'000, .arrivals = {.rate_per_s = 2.0}});
  double squares = 0.0;
  double last = 0.0;
  for (const Request& request : workload.requests) {
    const double gap = request.arrival_s - last;
    squares += gap * gap;
    last = request.arrival_s;
  }
  CHECK(squares / 20'000.0 == doctest::Approx(2.0 * 0.25).epsilon(0.05));
}

TEST_CASE("contexts: popularity, and shares of whole chunks alone") {
  std::vector<double> shares(8);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Workload workload = paper_workload({.seed = seed});
    CHECK(workload.chunk_tokens == 16);
    CHECK(workload.has_sharing);
    std::map<std::uint32_t, std::size_t> counts;  // by the place of the context's chunks, in order
    for (const Request& request : workload.requests) {
      ++counts[request.first_chunk];
      CHECK(request.chunk_count >= 3'100 / 16);
      CHECK(request.chunk_count <= 3'300 / 16);
      CHECK(request.chunk_count * 16 <= request.input_tokens - 4);
    }
    CHECK(workload.chunks.size() ==
          std::set(workload.chunks.begin(), workload.chunks.end()).size());
    REQUIRE(counts.size() == 8);
    std::size_t rank = 0;
    for (const auto& [place, count] : counts)
      shares[rank++] += static_cast<double>(count) / (300.0 * 200.0);
  }
  double sum = 0.0;
  for (int rank = 1; rank <= 8; ++rank) sum += std::pow(rank, -1.2);
  for (std::size_t rank = 0; rank < 8; ++rank)
    CHECK(std::abs(shares[rank] - std::pow(static_cast<double>(rank + 1), -1.2) / sum) < 0.01);
}

TEST_CASE("a shared prefix of 3,187 tokens shares 6 chunks of 512 or 199 of 16") {
  PaperWorkload options;
  options.contexts = 1;
  options.context_min_tokens = options.context_max_tokens = 3'187;
  options.requests = 2;
  CHECK(shared_prefixes(paper_workload(options)) == std::vector<Tokens>{0, 199 * 16});
  options.chunk_tokens = 512;
  CHECK(shared_prefixes(paper_workload(options)) == std::vector<Tokens>{0, 6 * 512});
}

TEST_CASE("the sharing fraction and ISOLATE change what is shared and nothing else") {
  const Workload all = paper_workload({.seed = 3, .requests = 2'000});
  const Workload half = paper_workload({.seed = 3, .requests = 2'000, .sharing = 0.5});
  const Workload none = paper_workload({.seed = 3, .requests = 2'000, .sharing = 0.0});
  const Workload isolated = paper_workload({.seed = 3, .requests = 2'000, .isolate = true});
  std::size_t sharing = 0;
  std::set<std::uint64_t> salts;
  for (std::size_t i = 0; i < all.requests.size(); ++i) {
    for (const Workload* other : {&half, &none, &isolated}) {
      CHECK(other->requests[i].arrival_s == all.requests[i].arrival_s);
      CHECK(other->requests[i].input_tokens == all.requests[i].input_tokens);
      CHECK(other->requests[i].output_tokens == all.requests[i].output_tokens);
    }
    sharing += half.requests[i].chunk_count > 0 ? 1U : 0U;
    CHECK(none.requests[i].chunk_count == 0);
    CHECK(all.requests[i].salt == 0);
    CHECK(isolated.requests[i].chunk_count == all.requests[i].chunk_count);
    salts.insert(isolated.requests[i].salt);
  }
  CHECK(std::abs(static_cast<double>(sharing) - 1'000.0) < 100.0);
  CHECK(salts.size() == 2'000);
  CHECK(salts.count(0) == 0);
  CHECK(sharing_bound(all, 512, 512).hit_requests == 1'992);
  CHECK(sharing_bound(none, 512, 512).saved_tokens == 0);
  CHECK(sharing_bound(isolated, 512, 512).saved_tokens == 0);
}

TEST_CASE("bursts: 5 s on, 15 s off, at the mean rate") {
  PaperWorkload options{.seed = 1, .requests = 1'700, .arrivals = {.rate_per_s = 1.7}};
  const Workload burst = burst_workload(options);
  CHECK(burst.name == "burst");
  CHECK(ordered(burst));
  for (const Request& request : burst.requests) CHECK(std::fmod(request.arrival_s, 20.0) <= 5.0);
  // 1,700 requests at 6.8/s take 250 s on: 49 full periods and 5 s.
  CHECK(burst.requests.back().arrival_s >= 980.0);
  CHECK(burst.requests.back().arrival_s <= 1'000.0);
  CHECK(burst_workload().requests.size() == 300);
  const Workload steady = paper_workload(options);
  CHECK(steady.requests[7].input_tokens == burst.requests[7].input_tokens);
}

TEST_CASE("conversations: histories grow, and are shared within a session and by system prompt") {
  const Workload chat = chat_workload({.seed = 2, .requests = 3'000});
  REQUIRE(chat.requests.size() == 3'000);
  CHECK(ordered(chat));
  CHECK(chat.requests.back().arrival_s == 1'000.0);
  std::map<std::uint32_t, Request> last_turn;  // of a session, by the place of its chunks
  const std::vector<Tokens> shared = shared_prefixes(chat);
  std::size_t later_turns = 0;
  for (std::size_t i = 0; i < chat.requests.size(); ++i) {
    const Request& request = chat.requests[i];
    CHECK(request.input_tokens <= 7'168);
    CHECK(request.chunk_count == request.input_tokens / 16);
    const auto [turn, first] = last_turn.try_emplace(request.first_chunk, request);
    if (!first) {
      ++later_turns;
      // All of the turn before, its answer and a new message of at least 4 tokens.
      CHECK(request.input_tokens >= turn->second.input_tokens + turn->second.output_tokens + 4);
      CHECK(shared[i] == turn->second.chunk_count * 16);
      turn->second = request;
    }
  }
  CHECK(later_turns > 1'500);
  CHECK(sharing_bound(chat, 512, 512).share() > 0.5);
}

TEST_CASE("the same options give the same workload, on every platform") {
  CHECK(digest(paper_workload({.seed = 42'000})) == 5984614441624262459U);
  CHECK(digest(paper_workload({.seed = 3, .sharing = 0.5, .isolate = true})) ==
        2486953017755250282U);
  CHECK(digest(burst_workload()) == 2686945321617429634U);
  CHECK(digest(chat_workload({.seed = 4})) == 9540923960375136711U);
  CHECK(digest(paper_workload({.seed = 1})) != digest(paper_workload({.seed = 2})));
  const Workload paper = paper_workload({});
  CHECK(paper.requests[0].arrival_s == 0x1.46f613fc7ed9p+0);
  CHECK(paper.requests[0].input_tokens == 3'314);
  CHECK(paper.requests[0].output_tokens == 143);
}

TEST_CASE("the sample trace of the project is what the sample workload writes") {
  const std::string path = std::string(HYBRIDMEM_SOURCE_DIR) + "/examples/data/sample_trace.jsonl";
  std::ostringstream written;
  write_trace(written, sample_workload());
  CHECK(written.str().size() < 200'000);
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  std::ostringstream stored;
  stored << file.rdbuf();
  CHECK(stored.str() == written.str());

  const Workload read = read_trace(std::filesystem::path(path));
  CHECK(read.requests.size() == 300);
  CHECK(read.has_sharing);
  CHECK(sharing_bound(read, 512, 512).hit_requests > 150);
  CHECK(std::ranges::count(read.requests, 0U, &Request::chunk_count) > 50);
}

TEST_CASE("options of nonsense are refused") {
  const auto refused = [](const PaperWorkload& options) {
    CHECK_THROWS_AS(paper_workload(options), std::invalid_argument);
  };
  refused({.requests = 0});
  refused({.arrivals = {.rate_per_s = 0.0}});
  refused({.arrivals = {.rate_per_s = std::nan("")}});
  refused({.arrivals = {.bursts = true, .on_s = 0.0}});
  refused({.contexts = 0});
  refused({.context_min_tokens = 0});
  refused({.context_min_tokens = 10, .context_max_tokens = 9});
  refused({.context_max_tokens = std::numeric_limits<Tokens>::max()});
  refused({.popularity_exponent = std::numeric_limits<double>::infinity()});
  refused({.suffix = {1.0, -1.0, 100}});
  refused({.output = {1.0, 1.0, 3}});
  refused({.sharing = 1.01});
  refused({.sharing = std::nan("")});
  refused({.chunk_tokens = 0});
  CHECK_THROWS_AS(chat_workload({.rate_per_s = -1.0}), std::invalid_argument);
  CHECK_THROWS_AS(chat_workload({.max_turns = 0}), std::invalid_argument);
  CHECK_THROWS_AS(chat_workload({.think_s = -1.0}), std::invalid_argument);
  CHECK_THROWS_AS(chat_workload({.max_input_tokens = 3'000}), std::invalid_argument);
}

TEST_CASE("extreme lengths stay within their limits") {
  for (const double mean : {-1e300, 1e300})
    for (const Request& request : paper_workload({.output = {mean, 1.0, 1'024}}).requests)
      CHECK(request.output_tokens == (mean < 0.0 ? 4U : 1'024U));
}
