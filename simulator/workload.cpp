#include "simulator/workload.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <queue>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulator/random.hpp"

namespace hybridmem_simulator {

namespace {

constexpr Tokens shortest = 4;  // of a suffix, a message or an output

enum Stream : std::uint64_t { arrival_stream, length_stream, context_stream, sharing_stream };

void expect(bool holds, const std::string& what) {
  if (!holds) throw std::invalid_argument("workload: " + what);
}

void expect_lengths(const TokenLengths& lengths, const std::string& name) {
  expect(std::isfinite(lengths.log_mean) && std::isfinite(lengths.log_deviation) &&
             lengths.log_deviation >= 0.0,
         name + ": a mean and a deviation that are finite are expected");
  expect(lengths.limit >= shortest, name + ": a limit of at least 4 tokens is expected");
}

void expect_rate(double rate) {
  expect(std::isfinite(rate) && rate > 0.0, "rate: a positive number is expected");
}

void expect_popularity(double exponent) {
  expect(std::isfinite(exponent) && std::abs(exponent) <= 32.0,
         "popularity exponent: a number from -32 to 32 is expected");
}

void expect_sum_fits(std::uint64_t input, std::uint64_t output) {
  expect(input + output <= std::numeric_limits<Tokens>::max(),
         "lengths: input and output together beyond 32 bits");
}

Tokens draw(Random& random, const TokenLengths& lengths) {
  const double value = random.lognormal(lengths.log_mean, lengths.log_deviation);
  if (value >= static_cast<double>(lengths.limit)) return lengths.limit;
  return std::max(shortest, static_cast<Tokens>(value));
}

// Scales the arrivals so that the last is at `last_s`; their order stays.
void scale_arrivals(std::vector<Request>& requests, double last_s) {
  const double factor = last_s / requests.back().arrival_s;
  for (Request& request : requests)
    request.arrival_s = std::min(request.arrival_s * factor, last_s);
  requests.back().arrival_s = last_s;
}

void set_arrivals(std::vector<Request>& requests, const Arrivals& arrivals, std::uint64_t seed) {
  Random random(seed, arrival_stream);
  double now = 0.0;
  for (Request& request : requests) {
    now += random.exponential();
    request.arrival_s = now;
  }
  const double count = static_cast<double>(requests.size());
  if (!arrivals.bursts) {
    scale_arrivals(requests, count / arrivals.rate_per_s);
    return;
  }
  const double period = arrivals.on_s + arrivals.off_s;
  scale_arrivals(requests, count / (arrivals.rate_per_s * (period / arrivals.on_s)));
  for (Request& request : requests) {
    const double bursts_before = std::floor(request.arrival_s / arrivals.on_s);
    request.arrival_s += bursts_before * arrivals.off_s;
  }
}

// Names `count` more chunks of `workload` by `first`, `first + 1` and so on; the place of the
// first.
std::uint32_t append_chunks(Workload& workload, std::uint64_t first, std::uint32_t count) {
  expect(workload.chunks.size() + count <= std::numeric_limits<std::uint32_t>::max(),
         "more than 2^32 - 1 named chunks");
  const auto place = static_cast<std::uint32_t>(workload.chunks.size());
  for (std::uint32_t i = 0; i < count; ++i) workload.chunks.push_back(first + i);
  return place;
}

void check(const PaperWorkload& options) {
  expect_rate(options.arrivals.rate_per_s);
  const auto duration = [](double seconds) { return std::isfinite(seconds) && seconds >= 0.0; };
  expect(duration(options.arrivals.on_s) && options.arrivals.on_s > 0.0 &&
             duration(options.arrivals.off_s),
         "bursts: a positive time on and a time off are expected");
  expect(options.requests > 0, "requests: at least 1 is expected");
  expect(options.contexts > 0, "contexts: at least 1 is expected");
  expect(options.context_min_tokens > 0 && options.context_min_tokens <= options.context_max_tokens,
         "context tokens: a range from at least 1 is expected");
  expect_popularity(options.popularity_exponent);
  expect_lengths(options.suffix, "suffix");
  expect_lengths(options.output, "output");
  expect_sum_fits(std::uint64_t{options.context_max_tokens} + options.suffix.limit,
                  options.output.limit);
  expect(options.sharing >= 0.0 && options.sharing <= 1.0, "sharing: 0 to 1 is expected");
  expect(options.chunk_tokens > 0, "chunk tokens: at least 1 is expected");
}

void check(const ChatWorkload& options) {
  expect_rate(options.rate_per_s);
  expect(options.requests > 0, "requests: at least 1 is expected");
  expect(options.system_prompts > 0, "system prompts: at least 1 is expected");
  expect(options.system_min_tokens > 0 && options.system_min_tokens <= options.system_max_tokens,
         "system tokens: a range from at least 1 is expected");
  expect_popularity(options.popularity_exponent);
  expect(options.max_turns > 0, "turns: at least 1 is expected");
  expect_lengths(options.message, "message");
  expect_lengths(options.output, "output");
  expect(std::isfinite(options.think_s) && options.think_s >= 0.0,
         "pause between turns: at least 0 is expected");
  expect(
      std::uint64_t{options.system_max_tokens} + options.message.limit <= options.max_input_tokens,
      "longest input: less than the longest first one");
  expect_sum_fits(options.max_input_tokens, options.output.limit);
  expect(options.chunk_tokens > 0, "chunk tokens: at least 1 is expected");
}

// A turn that has not arrived yet; turns that arrive together keep the order they were made in.
struct Turn {
  Request request;
  std::uint64_t number;
};

struct Later {
  bool operator()(const Turn& a, const Turn& b) const noexcept {
    if (a.request.arrival_s != b.request.arrival_s)
      return a.request.arrival_s > b.request.arrival_s;
    return a.number > b.number;
  }
};

struct SystemPrompt {
  Tokens tokens;
  std::uint64_t first_number;
};

}  // namespace

Workload paper_workload(const PaperWorkload& options) {
  check(options);
  Random lengths(options.seed, length_stream);
  Random choice(options.seed, context_stream);
  Random sharing(options.seed, sharing_stream);

  Workload workload;
  workload.name = options.arrivals.bursts ? "burst" : "paper";
  workload.chunk_tokens = options.chunk_tokens;
  struct Context {
    Tokens tokens;
    std::uint32_t first_chunk;
  };
  std::vector<Context> contexts;
  for (std::uint32_t i = 0; i < options.contexts; ++i) {
    const Tokens tokens = lengths.between(options.context_min_tokens, options.context_max_tokens);
    contexts.push_back(
        {tokens, append_chunks(workload, workload.chunks.size(), tokens / options.chunk_tokens)});
  }
  const std::vector<double> shares = zipf_shares(options.contexts, options.popularity_exponent);
  for (std::uint32_t i = 0; i < options.requests; ++i) {
    const Context& context = contexts[choice.pick(shares)];
    Request request;
    request.input_tokens = context.tokens + draw(lengths, options.suffix);
    request.output_tokens = draw(lengths, options.output);
    if (sharing.unit() < options.sharing) {
      request.first_chunk = context.first_chunk;
      request.chunk_count = context.tokens / options.chunk_tokens;
    }
    if (options.isolate) request.salt = std::uint64_t{i} + 1;
    workload.requests.push_back(request);
  }
  set_arrivals(workload.requests, options.arrivals, options.seed);
  return workload;
}

Workload burst_workload(PaperWorkload options) {
  options.arrivals.bursts = true;
  return paper_workload(options);
}

Workload chat_workload(const ChatWorkload& options) {
  check(options);
  Random arrivals(options.seed, arrival_stream);
  Random lengths(options.seed, length_stream);
  Random choice(options.seed, context_stream);

  Workload workload;
  workload.name = "chat";
  workload.chunk_tokens = options.chunk_tokens;
  std::uint64_t next_number = 0;
  std::vector<SystemPrompt> prompts;
  for (std::uint32_t i = 0; i < options.system_prompts; ++i) {
    const Tokens tokens = lengths.between(options.system_min_tokens, options.system_max_tokens);
    prompts.push_back({tokens, next_number});
    next_number += tokens / options.chunk_tokens;
  }
  const std::vector<double> shares =
      zipf_shares(options.system_prompts, options.popularity_exponent);

  // Sessions start as a Poisson process; what arrives before the next one starts is final.
  const double sessions_per_s = options.rate_per_s * 2.0 / (1.0 + options.max_turns);
  std::priority_queue<Turn, std::vector<Turn>, Later> pending;
  std::uint64_t turn_number = 0;
  for (double start = 0.0; workload.requests.size() < options.requests;) {
    start += arrivals.exponential() / sessions_per_s;
    while (!pending.empty() && pending.top().request.arrival_s <= start &&
           workload.requests.size() < options.requests) {
      workload.requests.push_back(pending.top().request);
      pending.pop();
    }
    const SystemPrompt& prompt = prompts[choice.pick(shares)];
    const std::uint32_t turns = choice.between(1, options.max_turns);
    const Tokens prompt_chunks = prompt.tokens / options.chunk_tokens;
    Request request;
    request.first_chunk = append_chunks(workload, prompt.first_number, prompt_chunks);
    request.arrival_s = start;
    Tokens named = prompt_chunks;
    std::uint64_t history = prompt.tokens;
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
      history += draw(lengths, options.message);
      if (history > options.max_input_tokens) break;
      request.input_tokens = static_cast<Tokens>(history);
      request.output_tokens = draw(lengths, options.output);
      request.chunk_count = request.input_tokens / options.chunk_tokens;
      append_chunks(workload, next_number, request.chunk_count - named);
      next_number += request.chunk_count - named;
      named = request.chunk_count;
      pending.push({request, turn_number++});
      history += request.output_tokens;
      request.arrival_s += options.think_s * arrivals.exponential();
    }
  }
  scale_arrivals(workload.requests, static_cast<double>(options.requests) / options.rate_per_s);
  return workload;
}

Workload sample_workload() {
  PaperWorkload options;
  options.seed = 1;
  options.sharing = 2.0 / 3.0;
  options.chunk_tokens = 64;
  Workload workload = paper_workload(options);
  workload.name = "sample";
  return workload;
}

}  // namespace hybridmem_simulator
