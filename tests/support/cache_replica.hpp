// CacheReplica: what a router keeps of a cache that it knows only by its events, and answers
// matches from. Maps and scans.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>

#include "hybridmem/cache/cache_types.hpp"
#include "hybridmem/observe/event.hpp"

namespace hybridmem_test {

/// Constants of the cache, known beforehand.
struct ReplicaShape {
  hybridmem::Tokens block_tokens = 0;
  hybridmem::Tokens interval_tokens = 0;
  hybridmem::Tokens key_tokens = 0;
  bool attention = true;  ///< the model has attention layers
  bool stream = true;     ///< `Reuse::stream`
};

class CacheReplica {
 public:
  using Tokens = hybridmem::Tokens;
  using Key = hybridmem::Key;

  explicit CacheReplica(const ReplicaShape& shape) : shape_(shape) {}

  bool complete() const { return complete_; }
  std::uint64_t seen() const { return number_; }

  void apply(const hybridmem::Event& event) {
    if (event.number != number_ + 1) throw std::runtime_error("events are missing");
    number_ = event.number;
    complete_ = event.kind == hybridmem::EventKind::end_of_stream;
    switch (event.kind) {
      case hybridmem::EventKind::step_opened:
        last_ = event.ticket;
        open_ = true;
        failed_.erase(last_);
        break;
      case hybridmem::EventKind::step_closed:
        open_ = false;
        break;
      case hybridmem::EventKind::step_dropped:
        last_ = event.ticket - 1;
        open_ = false;
        break;
      case hybridmem::EventKind::step_completed:
        completed_ = event.ticket;
        skip_failed();
        break;
      case hybridmem::EventKind::steps_failed:
        for (std::uint64_t at = event.ticket; at <= last_; ++at) failed_[at] = true;
        open_ = false;
        skip_failed();
        break;
      case hybridmem::EventKind::published:
        objects_[{event.object_kind, event.object}] = {{event.key_high, event.key_low},
                                                       {event.parent_high, event.parent_low},
                                                       event.epoch,
                                                       event.end,
                                                       event.ticket,
                                                       event.number};
        break;
      case hybridmem::EventKind::lost:
        if (objects_.erase({event.object_kind, event.object}) != 1)
          throw std::runtime_error("an object is lost that was never published");
        break;
      case hybridmem::EventKind::epoch:
        epoch_ = event.epoch;
        break;
      case hybridmem::EventKind::reset:
        *this = CacheReplica(shape_);
        number_ = event.number;
        epoch_ = event.epoch;
        break;
      case hybridmem::EventKind::admitted:
      case hybridmem::EventKind::preempted:
      case hybridmem::EventKind::ended:
      case hybridmem::EventKind::end_of_stream:
        break;
    }
  }

  hybridmem::Match match(const hybridmem::Prompt& prompt) const {
    hybridmem::Match match;
    if (prompt.tokens == 0) return match;
    const Tokens most = prompt.tokens - 1;
    const Tokens cap = std::min(most, prompt.match_cap);
    std::uint64_t newest = 0;
    match.attention_depth = std::min(most, blocks(prompt, prompt.tokens, false, newest));
    match.recurrent_depth = state(prompt, most, false, newest);
    const Tokens reach = std::min(match.attention_depth, cap);
    match.joint_depth = state(prompt, reach, false, newest);
    if (state(prompt, cap, false, newest) > match.joint_depth)
      match.limited_by = hybridmem::LimitedBy::attention;
    else if (reach / shape_.interval_tokens > match.joint_depth / shape_.interval_tokens)
      match.limited_by = hybridmem::LimitedBy::recurrent;
    match.pending_depth = match.joint_depth;
    const Tokens deeper =
        state(prompt, std::min(cap, blocks(prompt, cap, true, newest)), true, newest);
    if (deeper <= match.joint_depth) return match;
    newest = 0;
    blocks(prompt, deeper, true, newest);
    state(prompt, deeper, true, newest);
    match.pending_depth = deeper;
    match.pending_until = hybridmem::Ticket{newest};
    return match;
  }

 private:
  struct Object {
    Key key;
    Key parent;
    hybridmem::Epoch epoch = 0;
    Tokens end = 0;
    std::uint64_t ticket = 0;
    std::uint64_t number = 0;  ///< of the event: older ones first
  };
  using Id = std::pair<hybridmem::EventObject, std::int32_t>;

  void skip_failed() {
    while (failed_.contains(completed_ + 1)) failed_.erase(++completed_);
  }
  bool visible(std::uint64_t ticket) const {
    return shape_.stream ? ticket < (open_ ? last_ : last_ + 1) : ticket <= completed_;
  }
  Key key_at(const hybridmem::Prompt& prompt, Tokens at) const {
    return at == 0 ? prompt.root : prompt.keys[at / shape_.key_tokens - 1];
  }

  const Object* find(hybridmem::EventObject kind, const Key& key, const Key& parent,
                     bool pending) const {
    const Object* oldest = nullptr;
    for (const auto& [id, object] : objects_)
      if (id.first == kind && object.key == key && object.parent == parent &&
          object.epoch == epoch_ && (pending || visible(object.ticket)) &&
          (oldest == nullptr || object.number < oldest->number))
        oldest = &object;
    return oldest;
  }

  /// Tokens of the leading blocks, and the newest step among them.
  Tokens blocks(const hybridmem::Prompt& prompt, Tokens limit, bool pending,
                std::uint64_t& newest) const {
    if (!shape_.attention) return limit;
    Tokens depth = 0;
    for (Tokens at = shape_.block_tokens;
         at <= limit && at <= prompt.keys.size() * shape_.key_tokens; at += shape_.block_tokens) {
      const Object* const block = find(hybridmem::EventObject::attention_block, key_at(prompt, at),
                                       key_at(prompt, at - shape_.block_tokens), pending);
      if (block == nullptr) break;
      newest = std::max(newest, block->ticket);
      depth = at;
    }
    return depth;
  }
  /// The deepest checkpoint at or below `limit`.
  Tokens state(const hybridmem::Prompt& prompt, Tokens limit, bool pending,
               std::uint64_t& newest) const {
    const Tokens key = shape_.key_tokens;
    for (Tokens at = limit / key * key; at > 0; at -= key) {
      if (at > prompt.keys.size() * key) continue;
      const Object* const state = find(hybridmem::EventObject::checkpoint, key_at(prompt, at),
                                       key_at(prompt, at - key), pending);
      if (state == nullptr) continue;
      newest = std::max(newest, state->ticket);
      return at;
    }
    return 0;
  }

  ReplicaShape shape_;
  std::map<Id, Object> objects_;
  std::map<std::uint64_t, bool> failed_;
  std::uint64_t number_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t completed_ = 0;
  hybridmem::Epoch epoch_ = 1;
  bool open_ = false;
  bool complete_ = false;
};

}  // namespace hybridmem_test
