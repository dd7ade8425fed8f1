// IndexList: a doubly linked list threaded through an array by index, so that it never allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hybridmem/core/contract.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// The place of one element in an `IndexList`. A fresh link is in no list.
struct ListLink {
  static constexpr std::int32_t end = -1;
  static constexpr std::int32_t unlinked = -2;

  std::int32_t previous = unlinked;
  std::int32_t next = unlinked;

  constexpr bool linked() const noexcept { return previous != unlinked; }
};

inline namespace HYBRIDMEM_CHECK_NAMESPACE {

/// A list of ids whose links lie in an array that the owner keeps and passes to every call; several
/// lists may share one array as long as an id is in at most one of them. `Id` is a `StrongId`;
/// every id passed must index into `links`. Every operation but `for_each` is constant time.
template <class Id>
class IndexList {
 public:
  using Links = std::span<ListLink>;
  using ConstLinks = std::span<const ListLink>;

  constexpr bool empty() const noexcept { return first_ == ListLink::end; }
  constexpr std::size_t size() const noexcept { return size_; }

  /// The oldest and newest ids, absent when the list is empty.
  constexpr Id front() const noexcept { return Id{first_}; }
  constexpr Id back() const noexcept { return Id{last_}; }

  /// The neighbour of `id` in this list, absent at the end. Precondition: `id` is in this list.
  constexpr Id next(ConstLinks links, Id id) const { return Id{links[id.index()].next}; }

  /// Links `id` after the newest, or before the oldest. Precondition: `id` is in no list.
  constexpr void push_back(Links links, Id id) { insert_before(links, Id{ListLink::end}, id); }
  constexpr void push_front(Links links, Id id) { insert_before(links, Id{first_}, id); }

  /// Links `id` just before `position`; at the back if `position` is absent.
  /// Precondition: `id` is in no list, and `position` is absent or in this list.
  constexpr void insert_before(Links links, Id position, Id id) {
    HYBRIDMEM_CHECK(1, id.present() && id.index() < links.size(), "the id indexes into the links");
    HYBRIDMEM_CHECK(1, !links[id.index()].linked(), "an id is in at most one list");
    const std::int32_t after = position.present() ? position.value() : ListLink::end;
    const std::int32_t before = after == ListLink::end ? last_ : links[position.index()].previous;
    links[id.index()] = ListLink{before, after};
    (before == ListLink::end ? first_ : links[static_cast<std::size_t>(before)].next) = id.value();
    (after == ListLink::end ? last_ : links[static_cast<std::size_t>(after)].previous) = id.value();
    ++size_;
  }

  /// Unlinks `id`. Precondition: `id` is in this list.
  constexpr void remove(Links links, Id id) {
    HYBRIDMEM_CHECK(1, id.present() && id.index() < links.size(), "the id indexes into the links");
    const ListLink link = links[id.index()];
    HYBRIDMEM_CHECK(1, link.linked(), "only an id in the list can be removed");
    (link.previous == ListLink::end ? first_
                                    : links[static_cast<std::size_t>(link.previous)].next) =
        link.next;
    (link.next == ListLink::end ? last_ : links[static_cast<std::size_t>(link.next)].previous) =
        link.previous;
    links[id.index()] = ListLink{};
    --size_;
  }

  /// Unlinks and returns the oldest id; absent when the list is empty.
  constexpr Id pop_front(Links links) {
    const Id id = front();
    if (id.present()) remove(links, id);
    return id;
  }

  /// Calls `visit(id)` from oldest to newest; `visit` must not change the list. Linear.
  template <class Visit>
  constexpr void for_each(ConstLinks links, Visit&& visit) const {
    for (std::int32_t at = first_; at != ListLink::end;
         at = links[static_cast<std::size_t>(at)].next)
      visit(Id{at});
  }

 private:
  std::int32_t first_ = ListLink::end;
  std::int32_t last_ = ListLink::end;
  std::size_t size_ = 0;
};

}  // namespace HYBRIDMEM_CHECK_NAMESPACE
}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
