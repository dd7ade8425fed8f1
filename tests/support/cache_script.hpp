// CacheScript: an engine that makes every call of a cache in an order that choices decide, and
// digests every outcome. The same choices make the same calls, whatever the cache answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hybridmem/cache/state_cache.hpp"
#include "support/cache_memory.hpp"
#include "support/cache_worlds.hpp"

namespace hybridmem_test {

/// Calls a function as it is.
struct Plainly {
  template <class Call>
  auto operator()(Call&& call) const {
    return call();
  }
};

/// `Around` is called with each call of the cache and must make it.
template <class Cache, class Around = Plainly>
class CacheScript {
 public:
  using Tokens = hybridmem::Tokens;
  using Sequence = hybridmem::Sequence;

  CacheScript(Cache& cache, Choices& choices, Around around = {})
      : cache_(cache),
        options_(cache.options()),
        layout_(cache.layout()),
        choices_(choices),
        around_(around),
        texts_(options_) {
    for (std::uint32_t i = 0; i < options_.max_sequences + 2; ++i) {
      Client& client = clients_.emplace_back();
      client.text = texts_.any_text(choices_);
      client.keys = texts_.keys_of({1, 2}, client.text);
    }
    results_.resize(clients_.size());
    damaged_.resize(options_.max_sequences);
    const std::size_t columns =
        hybridmem::divide_up(options_.max_sequence_tokens, layout_.block_tokens) *
        std::max(layout_.units_per_block, 1U);
    ids_.resize(clients_.size() * std::max<std::size_t>(columns, 8));
    columns_ = static_cast<std::uint32_t>(columns);
    const std::size_t members = layout_.member_units / layout_.recurrent_stacks;
    const std::size_t writes = std::size_t{64} * clients_.size();
    source_.resize(clients_.size() * members + 1);
    destination_.resize(writes * members + 1);
    source_lines_.resize(clients_.size());
    destination_lines_.resize(writes);
    begin_.resize(clients_.size() + 1);
    indptr_.resize(clients_.size() + 1);
    last_.resize(clients_.size());
    fresh_.resize(clients_.size());
  }

  /// Everything that came back so far.
  std::uint64_t outcome() const { return digest_; }
  const Texts& texts() const { return texts_; }

  void call() {
    Client& client = clients_[choices_.below(static_cast<std::uint32_t>(clients_.size()))];
    const hybridmem::Prompt prompt{client.keys,
                                   {1, 2},
                                   1 + choices_.below(options_.max_sequence_tokens),
                                   options_.max_sequence_tokens,
                                   ~0U,
                                   choices_.below(4)};
    const Tokens some = choices_.below(options_.max_sequence_tokens + 1);
    const Sequence handle = client.handle;
    switch (choices_.below(24)) {
      case 0:
      case 1:
      case 2: {
        const auto match = around_([&] { return cache_.match(prompt); });
        const auto plan = around_([&] { return cache_.plan(match, prompt); });
        note(match.joint_depth, match.pending_depth, static_cast<int>(plan.verdict),
             plan.units_short);
        if (cache_.position(handle)) break;
        const auto made = around_([&] { return cache_.commit(prompt); });
        if (made) client.handle = *made;
        note_result(made);
        break;
      }
      case 3:
      case 4:
        note_result(around_([&] { return cache_.open_step(); }));
        break;
      case 5:
      case 6:
      case 7:
      case 8:
        advance();
        break;
      case 9:
      case 10:
        close();
        break;
      case 11:
      case 12:
        note_result(around_([&] { return cache_.complete(hybridmem::Ticket{completed_ + 1}); }) &&
                    (++completed_, true));
        break;
      case 13:
      case 14:
        note_result(around_([&] { return cache_.publish(handle, some, client.keys); }));
        break;
      case 15:
        note_result(around_([&] { return cache_.finish(handle, some, client.keys); }));
        break;
      case 16:
        note_result(around_([&] { return cache_.preempt(handle); }));
        break;
      case 17:
        note_result(around_([&] { return cache_.resume(handle, prompt); }));
        break;
      case 18:
        note_result(around_([&] { return cache_.truncate(handle, some); }));
        break;
      case 19:
        fork(client);
        break;
      case 20:
        note_result(around_([&] { return cache_.abort(handle); }));
        break;
      case 21:
        if (choices_.once_in(2))
          note_result(around_([&] { return cache_.drop_step(newest_); }));
        else if (choices_.once_in(3))
          fail();
        break;
      case 22:
        rare();
        break;
      default:
        ask(handle, some);
        break;
    }
    note(cache_.fingerprint(), cache_.version());
  }

 private:
  struct Client {
    std::vector<std::uint32_t> text;
    std::vector<hybridmem::Key> keys;
    Sequence handle{};
  };

  template <class... Numbers>
  void note(Numbers... numbers) {
    ((digest_ = digest(digest_, static_cast<std::uint64_t>(numbers))), ...);
  }
  void note_result(bool good) { note(good); }
  template <class T>
  void note_result(const hybridmem::Result<T>& result) {
    note(result.has_value(), result ? 0 : static_cast<int>(result.error()));
    if constexpr (std::is_same_v<T, Sequence>)
      if (result) note(result->slot, result->generation);
    if constexpr (std::is_same_v<T, hybridmem::Ticket>)
      if (result) newest_ = *result;
  }

  void advance() {
    chunks_.clear();
    const bool all = choices_.once_in(2);
    for (Client& client : clients_)
      if (all || choices_.once_in(3))
        chunks_.push_back({client.handle, around_([&] {
                             return cache_.next_stop(client.handle, 1 + (all ? 0 : chunk()));
                           })});
    const auto batch = around_([&] { return cache_.advance(chunks_, results_); });
    note(batch.done, static_cast<int>(batch.error), batch.units_short);
    for (std::size_t i = 0; i < batch.done; ++i) {
      note(results_[i].to, results_[i].states_saved, results_[i].states_skipped);
      note(cache_.state_of(chunks_[i].sequence).value());
      for (const hybridmem::BlockId id : cache_.blocks_of(chunks_[i].sequence)) note(id.value());
    }
  }
  Tokens chunk() { return options_.max_chunk_tokens / 2; }

  void close() {
    const auto work = around_([&] { return cache_.close_step(); });
    note_result(work.has_value());
    if (!work) return;
    for (const auto& zero : work->zeros) note(zero.id);
    for (const auto& copy : work->copies) note(copy.source, copy.destination);
    rows_.clear();
    for (const auto& write : work->writes) {
      note(write.position, write.state.value());
      if (rows_.empty() || rows_.back() != write.sequence) rows_.push_back(write.sequence);
    }
    tables(work->ticket);
  }

  void tables(hybridmem::Ticket ticket) {
    const auto rows = static_cast<std::uint32_t>(rows_.size());
    for (std::uint32_t stack = 0; stack < layout_.attention_stacks; ++stack) {
      note_result(around_([&] {
        return cache_.fill_blocks(ticket, stack, 0, rows_,
                                  {ids_.data(), columns_, rows, columns_, -1});
      }));
      note_result(around_([&] {
        return cache_.fill_blocks(ticket, stack, rows_,
                                  hybridmem::CompressedOut{indptr_, ids_, last_});
      }));
      for (std::uint32_t i = 0; i < rows; ++i) note(last_[i]);
    }
    const auto members = layout_.member_units / layout_.recurrent_stacks;
    const auto writes = static_cast<std::uint32_t>(destination_lines_.size());
    for (std::uint32_t stack = 0; stack < layout_.recurrent_stacks; ++stack) {
      note_result(around_([&] {
        return cache_.fill_states(ticket, stack, rows_,
                                  {{source_.data(), members, rows, members, -1},
                                   {destination_.data(), members, writes, members, -1},
                                   source_lines_,
                                   destination_lines_,
                                   begin_,
                                   {},
                                   fresh_});
      }));
      for (std::uint32_t i = 0; i < rows; ++i) note(fresh_[i], begin_[i + 1]);
    }
  }

  void fork(Client& client) {
    const auto made = around_([&] { return cache_.fork(client.handle); });
    note_result(made);
    if (!made) return;
    for (Client& other : clients_)
      if (!cache_.position(other.handle)) {
        other = client;
        other.handle = *made;
        return;
      }
    note_result(around_([&] { return cache_.abort(*made); }));
  }

  void fail() {
    const auto count = around_([&] { return cache_.fail(newest_, damaged_); });
    note_result(count);
    if (!count) return;
    note(*count);
    if (completed_ + 1 == static_cast<std::uint64_t>(newest_)) ++completed_;
  }

  void rare() {
    const std::uint32_t kind = choices_.below(12);
    if (kind == 0) around_([&] { return cache_.clear(), 0; });
    if (kind == 1) around_([&] { return cache_.advance_epoch(), 0; });
    if (kind == 2) {
      const auto status = around_([&] { return cache_.reset(); });
      note_result(status);
      if (status) completed_ = 0;
    }
  }

  void ask(Sequence handle, Tokens some) {
    note(around_([&] { return cache_.restart_at_or_below(handle, some); }),
         around_([&] { return cache_.capacity(some, some / 2); }),
         around_([&] { return cache_.releasable(handle)[0]; }),
         around_([&] { return cache_.metrics().running; }),
         around_([&] { return static_cast<int>(cache_.last_ticket(handle)); }),
         around_([&] { return cache_.audit({}); }));
  }

  Cache& cache_;
  hybridmem::CacheOptions options_;
  hybridmem::OrganizationLayout layout_;
  Choices& choices_;
  Around around_;
  Texts texts_;
  std::vector<Client> clients_;
  std::vector<hybridmem::Chunk> chunks_;
  std::vector<hybridmem::Advanced> results_;
  std::vector<Sequence> damaged_;
  std::vector<Sequence> rows_;
  std::vector<std::int32_t> ids_;
  std::vector<std::int32_t> source_;
  std::vector<std::int32_t> destination_;
  std::vector<std::int32_t> source_lines_;
  std::vector<std::int32_t> destination_lines_;
  std::vector<std::uint32_t> begin_;
  std::vector<std::int32_t> indptr_;
  std::vector<std::int32_t> last_;
  std::vector<std::uint8_t> fresh_;
  std::uint32_t columns_ = 0;
  hybridmem::Ticket newest_ = hybridmem::Ticket::none;
  std::uint64_t completed_ = 0;
  std::uint64_t digest_ = 0;
};

}  // namespace hybridmem_test
