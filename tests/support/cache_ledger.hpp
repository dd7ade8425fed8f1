// CacheLedger: the objects of one cache as the rules state them: their units, which an
// OrganizationModel keeps for each organization, and under which key they can be found.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "hybridmem/cache/cache_options.hpp"
#include "hybridmem/observe/event.hpp"
#include "hybridmem/prefix/key.hpp"
#include "support/organization_model.hpp"

namespace hybridmem_test {

/// Slow on purpose. Ids are bare ints, -1 for absent.
class CacheLedger {
 public:
  struct Entry {
    hybridmem::Key key;
    hybridmem::Key parent;
    hybridmem::Epoch epoch = 0;
    hybridmem::Tokens end = 0;
    std::uint64_t step = 0;  ///< in which it was published
    bool pending = false;    ///< that step is in flight
    std::uint64_t age = 0;   ///< older ones have lower numbers
  };
  using Entries = std::map<std::int32_t, Entry>;

  /// An object that can no longer be found.
  struct Loss {
    bool block = true;
    hybridmem::Key key;
    hybridmem::Tokens end = 0;
    hybridmem::LossCause cause = hybridmem::LossCause::none;

    friend bool operator==(const Loss&, const Loss&) = default;
  };

  CacheLedger(const hybridmem::OrganizationLayout& layout, const hybridmem::CacheOptions& options)
      : units(layout, options.units, options.organization),
        layout_(layout),
        one_queue_(options.organization.free_order == hybridmem::FreeOrder::release_order) {}

  OrganizationModel units;
  Entries blocks;
  Entries states;
  std::deque<std::int32_t> kept;  ///< cached checkpoints, released longest ago first
  std::vector<Loss> losses;       ///< of the present call
  std::uint64_t blocks_evicted = 0;
  std::uint64_t states_evicted = 0;
  std::uint64_t cross_invalidations = 0;
  std::uint64_t duplicates = 0;

  /// The oldest object of a key, parent and epoch that `accept` allows (rule L2).
  template <class Accept>
  std::int32_t find(const Entries& entries, const hybridmem::Key& key, const hybridmem::Key& parent,
                    hybridmem::Epoch epoch, Accept&& accept) const {
    std::int32_t best = -1;
    for (const auto& [id, entry] : entries)
      if (entry.key == key && entry.parent == parent && entry.epoch == epoch && accept(entry) &&
          (best < 0 || entry.age < entries.at(best).age))
        best = id;
    return best;
  }

  void publish(Entries& entries, std::int32_t id, Entry entry, bool again = false) {
    if (!again &&
        find(entries, entry.key, entry.parent, entry.epoch, [](const Entry&) { return true; }) >= 0)
      ++duplicates;
    entry.age = ++clock_;
    entries[id] = entry;
  }

  void forget_block(std::int32_t id, hybridmem::LossCause cause) { forget(blocks, id, cause); }
  void forget_state(std::int32_t id, hybridmem::LossCause cause) { forget(states, id, cause); }

  /// The publications of a step in flight, oldest first.
  std::vector<std::int32_t> pending_of(const Entries& entries, std::uint64_t step) const {
    std::vector<std::int32_t> ids;
    for (const auto& [id, entry] : entries)
      if (entry.pending && entry.step == step) ids.push_back(id);
    std::sort(ids.begin(), ids.end(), [&](std::int32_t a, std::int32_t b) {
      return entries.at(a).age < entries.at(b).age;
    });
    return ids;
  }
  void settle(std::uint64_t step) {
    for (Entries* entries : {&blocks, &states})
      for (auto& [id, entry] : *entries)
        if (entry.step == step) entry.pending = false;
  }

  std::int32_t take_block() {
    const std::int32_t id = units.allocate_block();
    note_evictions();
    return id;
  }
  /// A checkpoint, after which so many checkpoints and blocks are taken without asking again.
  std::int32_t take_state(const hybridmem::StateDemand& later) {
    const std::int32_t id = units.allocate_checkpoint(later.checkpoints, later.blocks);
    note_evictions();
    return id;
  }
  void reference_state(std::int32_t id) {
    std::erase(kept, id);
    units.reference_checkpoint(id);
  }
  void release_block(std::int32_t id) { units.release_block(id, blocks.contains(id)); }
  void release_state(std::int32_t id) {
    if (units.release_checkpoint(id, states.contains(id)) == hybridmem::Released::cached)
      kept.push_back(id);
  }

  bool cached_block(std::int32_t id) const { return references(units.blocks(), id) == 0; }
  bool cached_state(std::int32_t id) const { return references(units.checkpoints(), id) == 0; }

  /// A checkpoint that was released as if it could be found: unless it can, it goes now, but where
  /// one queue holds everything (rule P8).
  void settle_released(std::int32_t id) {
    if (!cached_state(id)) return;
    const bool queued = one_queue_ && layout_.units_per_checkpoint() > 0;
    if (!states.contains(id) && !queued)
      units.invalidate_checkpoint(id);
    else if (std::find(kept.begin(), kept.end(), id) == kept.end())
      kept.push_back(id);  // once, where several sequences let go of it together
  }

  /// Nothing that step wrote can be found: it was not written.
  void revoke(std::uint64_t step) {
    for (const std::int32_t id : pending_of(blocks, step)) {
      forget_block(id, hybridmem::LossCause::unwritten);
      if (cached_block(id) && !one_queue_) units.invalidate_block(id);
    }
    for (const std::int32_t id : pending_of(states, step)) {
      forget_state(id, hybridmem::LossCause::unwritten);
      std::erase(kept, id);
      settle_released(id);
    }
  }

  void evict_oldest_kept() {
    const std::int32_t id = kept.front();
    kept.pop_front();
    ++states_evicted;
    if (states.contains(id)) forget_state(id, hybridmem::LossCause::evicted);
    units.invalidate_checkpoint(id);
  }

  void clear() {
    const auto ids = [](const auto& all) {
      std::vector<std::int32_t> out;
      for (const auto& [id, object] : all) out.push_back(id);
      return out;
    };
    for (const std::int32_t id : ids(units.blocks())) {
      if (blocks.contains(id)) forget_block(id, hybridmem::LossCause::evicted);
      if (cached_block(id)) units.invalidate_block(id);
    }
    for (const std::int32_t id : ids(units.checkpoints())) {
      if (states.contains(id)) forget_state(id, hybridmem::LossCause::evicted);
      if (cached_state(id)) units.invalidate_checkpoint(id);
    }
    kept.clear();
  }

 private:
  static std::int64_t references(const std::map<std::int32_t, OrganizationModel::State>& objects,
                                 std::int32_t id) {
    const auto found = objects.find(id);
    return found == objects.end() ? -1 : static_cast<std::int64_t>(found->second.references);
  }

  void forget(Entries& entries, std::int32_t id, hybridmem::LossCause cause) {
    const Entry& entry = entries.at(id);
    losses.push_back({&entries == &blocks, entry.key, entry.end, cause});
    entries.erase(id);
  }

  void note_evictions() {
    for (const hybridmem::Eviction& eviction : units.evictions) {
      const auto cause = eviction.cross_invalidated ? hybridmem::LossCause::cross_invalidated
                                                    : hybridmem::LossCause::evicted;
      if (eviction.kind == hybridmem::StateKind::attention) {
        ++blocks_evicted;
        if (blocks.contains(eviction.index)) forget_block(eviction.index, cause);
      } else {
        ++states_evicted;
        cross_invalidations += eviction.cross_invalidated ? 1 : 0;
        std::erase(kept, eviction.index);
        if (states.contains(eviction.index)) forget_state(eviction.index, cause);
      }
    }
  }

  hybridmem::OrganizationLayout layout_;
  bool one_queue_;
  std::uint64_t clock_ = 0;
};

}  // namespace hybridmem_test
