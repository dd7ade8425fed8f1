// Generated workloads: the paper's, conversations, and bursts.
#pragma once

#include <cstdint>

#include "hybridmem/core/ids.hpp"
#include "simulator/request.hpp"

namespace hybridmem_simulator {

/// A lognormal number of tokens: the whole part, at least 4 and at most `limit`.
struct TokenLengths {
  double log_mean = 0.0;
  double log_deviation = 0.0;
  Tokens limit = 1'024;
};

/// When requests arrive. A Poisson process scaled so that the last of n arrives at n / rate; in
/// bursts, the same process on a clock that runs for `on_s` seconds of every `on_s + off_s` and so
/// much faster that the mean rate is `rate_per_s`.
struct Arrivals {
  double rate_per_s = 3.0;
  bool bursts = false;
  double on_s = 5.0;
  double off_s = 15.0;
};

/// Output lengths with the means the paper's counters give for its two groups of seeds.
inline constexpr TokenLengths output_mean_262{5.442, 0.5, 1'024};   ///< seeds 42000 on
inline constexpr TokenLengths output_mean_243{5.3665, 0.5, 1'024};  ///< seeds 0 to 2

/// The paper's workload (section 4.2). The lengths of contexts, suffixes and outputs are fitted to
/// its counters; the exponent of popularity is a fitted knob without evidence of its own.
struct PaperWorkload {
  std::uint64_t seed = 0;
  std::uint32_t requests = 300;
  Arrivals arrivals{};
  std::uint32_t contexts = 8;
  Tokens context_min_tokens = 3'100;
  Tokens context_max_tokens = 3'300;
  double popularity_exponent = 1.2;
  TokenLengths suffix{4.9312, 0.6, 2'000};
  TokenLengths output = output_mean_262;
  /// The fraction q of requests whose context others may have; each of the rest has one of its own,
  /// of the length that the shared one would have had: q changes no length and no arrival.
  double sharing = 1.0;
  /// ISOLATE: a salt of its own for each request. Lengths, arrivals and contexts stay as in SHARE.
  bool isolate = false;
  Tokens chunk_tokens = 16;
};

/// Conversations: each turn's input is a system prompt, all earlier inputs and answers of its
/// session, and a new message. An answer becomes shareable when it comes back as input, not before.
struct ChatWorkload {
  std::uint64_t seed = 0;
  std::uint32_t requests = 300;
  double rate_per_s = 3.0;  ///< of turns; the last arrives at requests / rate
  std::uint32_t system_prompts = 4;
  Tokens system_min_tokens = 400;
  Tokens system_max_tokens = 1'600;
  double popularity_exponent = 1.2;
  std::uint32_t max_turns = 9;  ///< of a session, uniform from 1
  TokenLengths message{4.5, 0.8, 2'000};
  TokenLengths output = output_mean_262;
  double think_s = 20.0;            ///< mean pause between two turns; exponential
  Tokens max_input_tokens = 7'168;  ///< a session ends before a longer input
  Tokens chunk_tokens = 16;
};

/// All three draw arrivals, lengths, contexts and sharing from streams of their own and
/// are deterministic: the same options give the same bytes with every compiler. A chunk that
/// straddles the end of what is shared has no shared name. Requests with a prefix in common may
/// point to the same numbers of `Workload::chunks`. Throw `std::invalid_argument`, naming the
/// option, for a rate that is not positive, an empty range, a count of zero and the like.
Workload paper_workload(const PaperWorkload& options);
Workload chat_workload(const ChatWorkload& options);

/// The paper's workload in bursts: 5 s on, 15 s off, at a mean rate of 1.7 requests/s (E.4).
Workload burst_workload(PaperWorkload options = {.arrivals = {.rate_per_s = 1.7}});

/// The workload of examples/data/sample_trace.jsonl: the paper's, seed 1, of which two requests in
/// three share, in chunks of 64 tokens.
Workload sample_workload();

}  // namespace hybridmem_simulator
