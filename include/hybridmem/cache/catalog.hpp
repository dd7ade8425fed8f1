// Catalog: which objects of one kind can be found, since which step, and what a failed step takes
// back.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "hybridmem/core/ids.hpp"
#include "hybridmem/core/index_list.hpp"
#include "hybridmem/prefix/prefix_index.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// The prefix index of one kind of object with what the cache adds to an entry: the tokens it
/// covers, the step it was published in, and, while that step is in flight, a place in the step's
/// list. Everything is constant time but where stated; nothing allocates after construction.
template <class Id>
class Catalog {
 public:
  /// `steps` lists, for tickets modulo `steps`: at least as many as may be in flight.
  Catalog(std::uint32_t capacity, std::uint32_t steps, std::pmr::memory_resource* memory)
      : index_(capacity, memory),
        tickets_(capacity, 0, memory),
        ends_(capacity, 0, memory),
        links_(capacity, ListLink{}, memory),
        pending_(steps, IndexList<Id>{}, memory) {}

  const PrefixIndex<Id>& index() const noexcept { return index_; }
  bool published(Id id) const noexcept { return index_.published(id); }
  /// The step in which a published object was published.
  std::uint64_t ticket(Id id) const noexcept { return tickets_[id.index()]; }
  /// The end of the tokens that a published object covers.
  Tokens end(Id id) const noexcept { return ends_[id.index()]; }
  bool pending(Id id) const noexcept { return links_[id.index()].linked(); }
  std::uint64_t pending_count() const noexcept { return pending_count_; }

  /// Publishes `id` in step `ticket`, which is in flight if `in_flight`.
  void publish(Id id, const Key& key, const Key& parent, Epoch epoch, Tokens end,
               std::uint64_t ticket, bool in_flight) {
    index_.publish(id, key, parent, epoch);
    tickets_[id.index()] = ticket;
    ends_[id.index()] = end;
    if (!in_flight) return;
    pending_[ticket % pending_.size()].push_back(links_, id);
    ++pending_count_;
  }

  /// Precondition: published.
  void forget(Id id) {
    index_.forget(id);
    if (!pending(id)) return;
    pending_[tickets_[id.index()] % pending_.size()].remove(links_, id);
    --pending_count_;
  }

  /// Step `ticket` is complete: its publications stand. Linear in them.
  void settle(std::uint64_t ticket) {
    IndexList<Id>& list = pending_[ticket % pending_.size()];
    while (list.pop_front(links_).present()) --pending_count_;
  }

  /// Step `ticket` is void: calls `forget_one(id)` for its publications, oldest first, which must
  /// forget each. Linear in them.
  template <class ForgetOne>
  void revoke(std::uint64_t ticket, ForgetOne&& forget_one) {
    IndexList<Id>& list = pending_[ticket % pending_.size()];
    while (!list.empty()) forget_one(list.front());
  }

  /// Forgets everything. Linear in the capacity.
  void clear() {
    for (IndexList<Id>& list : pending_)
      while (list.pop_front(links_).present()) {
      }
    pending_count_ = 0;
    index_.clear();
  }

 private:
  PrefixIndex<Id> index_;
  std::pmr::vector<std::uint64_t> tickets_;
  std::pmr::vector<Tokens> ends_;
  std::pmr::vector<ListLink> links_;
  std::pmr::vector<IndexList<Id>> pending_;
  std::uint64_t pending_count_ = 0;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
