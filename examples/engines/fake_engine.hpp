// What the three engines share: requests with known answers, and the launch of a step.
#pragma once

#include <cstdio>
#include <deque>
#include <memory>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "fake_device.hpp"
#include "fake_model.hpp"
#include "hybridmem/cache/state_cache.hpp"
#include "hybridmem/organization/coarse_pages.hpp"
#include "hybridmem/organization/paged_recurrent.hpp"
#include "hybridmem/organization/slab_packed.hpp"
#include "hybridmem/organization/static_dual_pool.hpp"
#include "hybridmem/prefix/key_chain.hpp"

namespace fake {

namespace hm = hybridmem;

/// The library checks itself after every call at check level 3, which takes time.
inline constexpr std::size_t request_count = HYBRIDMEM_CHECK_LEVEL >= 3 ? 40 : 240;
inline constexpr Tokens key_tokens = 16;

/// A request as an engine keeps it.
struct Request {
  std::uint64_t id = 0;
  std::vector<Token> tokens;    // the prompt, then what was sampled
  std::vector<Token> expected;  // the same, computed alone
  std::vector<hm::Key> keys;    // of the whole chunks of `tokens`
  Tokens prompt = 0;
  Tokens max_tokens = 0;
  hm::Sequence sequence{};
  Tokens target = 0;                    // tokens known when it was admitted, or went back
  hm::Ticket stale = hm::Ticket::none;  // outputs up to here are of a past life
  bool preempted = false;
  bool ended = false;

  Tokens known() const { return static_cast<Tokens>(tokens.size()); }
  /// Tokens that have a state: the newest one is not computed yet.
  Tokens computed() const { return known() - 1; }
  bool stopped() const { return known() == max_tokens || tokens.back() == stop_token; }

  void extend_keys(const hm::KeyChain<>& chain) {
    const std::size_t have = keys.size();
    keys.resize(chain.whole_chunks(tokens.size()));
    chain.fill(have == 0 ? chain.root() : keys[have - 1],
               std::span<const Token>(tokens).subspan(have * chain.key_tokens()),
               std::span(keys).subspan(have));
  }
  void add(Token token, const hm::KeyChain<>& chain) {
    tokens.push_back(token);
    extend_keys(chain);
  }
  hm::Prompt as_prompt(const hm::KeyChain<>& chain) const {
    return {.keys = keys,
            .root = chain.root(),
            .tokens = known(),
            .max_tokens = max_tokens,
            .requester = id};
  }
};

/// Requests that share system prompts, and some of them documents after these.
inline std::vector<Request> make_requests(std::size_t count, const hm::KeyChain<>& chain,
                                          std::uint32_t seed) {
  std::mt19937 random{seed};
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  const auto text = [&](std::size_t tokens) {
    std::vector<Token> out(tokens);
    for (Token& token : out) token = static_cast<Token>(8 + below(vocabulary - 8));
    return out;
  };
  std::vector<std::vector<Token>> systems, documents;
  for (int i = 0; i < 4; ++i) systems.push_back(text(70 + below(90)));
  for (int i = 0; i < 6; ++i) documents.push_back(text(40 + below(100)));

  std::vector<Request> requests(count);
  for (std::size_t i = 0; i < count; ++i) {
    Request& request = requests[i];
    request.id = i + 1;
    request.tokens = systems[below(4)];
    const auto append = [&](const std::vector<Token>& more) {
      request.tokens.insert(request.tokens.end(), more.begin(), more.end());
    };
    if (below(2) == 0) append(documents[below(6)]);
    append(text(1 + below(60)));
    request.prompt = request.known();
    request.max_tokens = request.prompt + 2 + below(70);
    request.expected = generate_alone(request.tokens, request.max_tokens);
    request.extend_keys(chain);
  }
  return requests;
}

/// The form in which a kernel wants its page tables.
enum class TableForm { dense, compressed, cells };

/// The launch of a closed step: the cache fills the tables of `sequences`, padded to `batch` rows.
template <class Cache>
Launch make_launch(const Cache& cache, const hm::StepWork& work,
                   std::span<const hm::Sequence> sequences, std::vector<LaunchRow> rows,
                   std::size_t batch, TableForm form) {
  const OrganizationLayout& layout = cache.layout();
  Launch launch;
  launch.ticket = work.ticket;
  launch.copies.assign(work.copies.begin(), work.copies.end());
  launch.zeros.assign(work.zeros.begin(), work.zeros.end());
  launch.rows = std::move(rows);
  launch.rows.resize(batch);

  const std::uint32_t pages_of_block = layout.units_per_block / layout.attention_stacks;
  for (std::uint32_t stack = 0; stack < layout.attention_stacks; ++stack) {
    AttentionTable& table = launch.attention.emplace_back();
    table.tokens_per_id = form == TableForm::cells ? 1 : layout.block_tokens / pages_of_block;
    table.bytes_per_id = form == TableForm::cells ? kv_bytes : layout.unit_bytes[0];
    const std::uint32_t columns =
        hm::divide_up(cache.options().max_sequence_tokens, table.tokens_per_id) + 2;
    table.ids.assign(batch * columns, -1);
    if (form == TableForm::compressed) {
      std::vector<std::int32_t> indptr(batch + 1), last(batch);
      const hm::CompressedOut out{.indptr = indptr, .indices = table.ids, .last_page_tokens = last};
      cache.fill_blocks(work.ticket, stack, sequences, out).value();
      table.begin.assign(indptr.begin(), indptr.end());
    } else {
      for (std::size_t r = 0; r < batch; ++r) table.begin.push_back(r * columns);
      const hm::TableOut out{.ids = table.ids.data(),
                             .row_stride = columns,
                             .rows = static_cast<std::uint32_t>(batch),
                             .columns = columns};
      cache.fill_blocks(work.ticket, stack, form == TableForm::cells ? 1 : 0, sequences, out)
          .value();
    }
  }

  for (std::uint32_t stack = 0; stack < layout.recurrent_stacks; ++stack) {
    StateTable& table = launch.states.emplace_back();
    table.members = layout.member_units / layout.recurrent_stacks;
    const std::size_t writes = work.writes.size() + batch;
    table.sources.assign(batch * table.members, -1);
    table.destinations.assign(writes * table.members, -1);
    table.source_lines.assign(batch, -1);
    table.destination_lines.assign(writes, -1);
    table.write_begin.assign(batch + 1, 0);
    table.write_positions.assign(writes, 0);
    table.fresh.assign(batch, 0);
    const auto out_of = [&](std::vector<std::int32_t>& ids) {
      return hm::TableOut{.ids = ids.data(),
                          .row_stride = table.members,
                          .rows = static_cast<std::uint32_t>(ids.size() / table.members),
                          .columns = table.members};
    };
    const hm::StateTablesOut out{.source = out_of(table.sources),
                                 .destination = out_of(table.destinations),
                                 .source_lines = table.source_lines,
                                 .destination_lines = table.destination_lines,
                                 .write_begin = table.write_begin,
                                 .write_positions = table.write_positions,
                                 .fresh = table.fresh};
    cache.fill_states(work.ticket, stack, sequences, out).value();
  }
  return launch;
}

/// The row of a chunk that takes `request` from `from` to `to`.
inline LaunchRow make_row(const Request& request, Tokens from, Tokens to) {
  const auto tokens = std::span(request.tokens).first(std::min(to, request.known()));
  const auto chunk = tokens.subspan(std::min<std::size_t>(from, tokens.size()));
  LaunchRow row;
  row.slot = request.sequence.slot;
  row.from = from;
  row.to = to;
  row.known.assign(chunk.begin(), chunk.end());
  row.samples = to >= request.target;
  return row;
}

/// A small pool: a few of the longest sequences fit at once.
inline hm::PoolUnits small_pool(OrganizationKind kind) {
  switch (kind) {
    case OrganizationKind::coarse_pages:
      return {140, 0};
    case OrganizationKind::paged_recurrent:
      return {260, 0};
    case OrganizationKind::slab_packed:
      return {240, 0};
    case OrganizationKind::static_dual_pool:
      return {240, 60};
  }
  return {};
}

/// Differences and findings of one run, and its line of output.
struct Report {
  std::size_t finished = 0;
  std::size_t different = 0;
  std::size_t aborted = 0;
  std::size_t dropped_steps = 0;

  void judge(const Request& request) {
    ++finished;
    if (request.tokens != request.expected) ++different;
  }

  static void print_head(const char* engine) {
    std::printf("%s, %zu requests\n%-18s %-7s %8s %8s %7s %9s %7s %7s %6s %9s %8s\n", engine,
                request_count, "organization", "reuse", "finished", "reused", "skipped",
                "preempted", "cross", "dropped", "failed", "different", "findings");
  }

  /// Prints the run; true if it is as it should be. Nothing may be held any more.
  template <class Cache>
  bool print(const Cache& cache) const {
    const hm::Metrics metrics = cache.metrics();
    std::size_t findings = cache.audit({});
    for (const hm::Metrics::Pool& pool : metrics.pools) findings += pool.referenced > 0 ? 1U : 0U;
    std::printf("%-18s %-7s %8zu %8llu %7llu %9llu %7llu %7zu %6llu %9zu %8zu\n",
                hm::name_of(cache.layout().kind),
                cache.options().reuse == hm::Reuse::stream ? "stream" : "ticket", finished,
                static_cast<unsigned long long>(metrics.adopted_tokens),
                static_cast<unsigned long long>(metrics.checkpoints_skipped),
                static_cast<unsigned long long>(metrics.preemptions),
                static_cast<unsigned long long>(metrics.cross_invalidations), dropped_steps,
                static_cast<unsigned long long>(metrics.failed_steps), different, findings);
    return different == 0 && findings == 0 && finished + aborted == request_count &&
           metrics.hits > 0;
  }
};

}  // namespace fake
