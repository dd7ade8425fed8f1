// IndexHeap: a priority queue of ids with removal and change of key, in arrays sized at
// construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

#include "hybridmem/core/contract.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// The ids 0 to capacity - 1, each at most once, ordered by a 64-bit key, least first. Ties fall to
/// the lowest id. Nothing allocates after construction. 16 bytes an id.
class IndexHeap {
 public:
  IndexHeap(std::size_t capacity, std::pmr::memory_resource* memory)
      : keys_(capacity, 0, memory), places_(capacity, absent, memory), heap_(memory) {
    heap_.reserve(capacity);
  }

  bool empty() const noexcept { return heap_.empty(); }
  std::size_t size() const noexcept { return heap_.size(); }
  bool contains(std::size_t id) const noexcept { return places_[id] != absent; }
  std::uint64_t key(std::size_t id) const noexcept { return keys_[id]; }

  /// The id with the least key. Precondition: not empty. Constant time.
  std::size_t top() const {
    HYBRIDMEM_CHECK(1, !heap_.empty(), "an empty heap has no top");
    return static_cast<std::size_t>(heap_.front());
  }

  /// Adds `id`, or changes its key. Logarithmic.
  void put(std::size_t id, std::uint64_t key) {
    HYBRIDMEM_CHECK(1, id < keys_.size(), "the id is below the capacity");
    keys_[id] = key;
    if (places_[id] == absent) {
      places_[id] = static_cast<std::int32_t>(heap_.size());
      heap_.push_back(static_cast<std::int32_t>(id));
    }
    settle(static_cast<std::size_t>(places_[id]));
  }

  /// Removes `id`. Precondition: contained. Logarithmic.
  void remove(std::size_t id) {
    HYBRIDMEM_CHECK(1, contains(id), "only a contained id can be removed");
    const auto place = static_cast<std::size_t>(places_[id]);
    const std::int32_t last = heap_.back();
    heap_.pop_back();
    places_[id] = absent;
    if (place == heap_.size()) return;
    heap_[place] = last;
    places_[static_cast<std::size_t>(last)] = static_cast<std::int32_t>(place);
    settle(place);
  }

 private:
  static constexpr std::int32_t absent = -1;

  bool before(std::int32_t a, std::int32_t b) const noexcept {
    const std::uint64_t key_a = keys_[static_cast<std::size_t>(a)];
    const std::uint64_t key_b = keys_[static_cast<std::size_t>(b)];
    return key_a != key_b ? key_a < key_b : a < b;
  }

  void exchange(std::size_t a, std::size_t b) noexcept {
    std::swap(heap_[a], heap_[b]);
    places_[static_cast<std::size_t>(heap_[a])] = static_cast<std::int32_t>(a);
    places_[static_cast<std::size_t>(heap_[b])] = static_cast<std::int32_t>(b);
  }

  /// Moves the id at `place` to where its key belongs.
  void settle(std::size_t place) noexcept {
    while (place > 0 && before(heap_[place], heap_[(place - 1) / 2])) {
      exchange(place, (place - 1) / 2);
      place = (place - 1) / 2;
    }
    for (;;) {
      std::size_t least = place;
      for (std::size_t child = 2 * place + 1; child <= 2 * place + 2; ++child)
        if (child < heap_.size() && before(heap_[child], heap_[least])) least = child;
      if (least == place) return;
      exchange(place, least);
      place = least;
    }
  }

  std::pmr::vector<std::uint64_t> keys_;
  std::pmr::vector<std::int32_t> places_;
  std::pmr::vector<std::int32_t> heap_;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
