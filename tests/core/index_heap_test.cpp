// The heap of ids beside a set of (key, id) pairs, whose first element is the top by definition.
#include "hybridmem/core/index_heap.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory_resource>
#include <set>
#include <utility>
#include <vector>

#include "violations.hpp"

using hybridmem::IndexHeap;
using hybridmem_test::violation_of;

namespace {

std::pmr::memory_resource* memory() {
  return std::pmr::get_default_resource();
}

/// Empties the heap; its ids in order.
std::vector<std::size_t> drain(IndexHeap& heap) {
  std::vector<std::size_t> ids;
  while (!heap.empty()) {
    ids.push_back(heap.top());
    heap.remove(heap.top());
  }
  return ids;
}

}  // namespace

TEST_CASE("a new heap is empty, whatever its capacity") {
  for (const std::size_t capacity : {0U, 1U, 7U}) {
    IndexHeap heap(capacity, memory());
    CHECK(heap.empty());
    CHECK(heap.size() == 0);
    for (std::size_t id = 0; id < capacity; ++id) CHECK_FALSE(heap.contains(id));
  }
}

TEST_CASE("one id comes and goes") {
  IndexHeap heap(1, memory());
  heap.put(0, 5);
  CHECK(heap.contains(0));
  CHECK(heap.key(0) == 5);
  CHECK(heap.top() == 0);
  heap.put(0, 3);
  CHECK(heap.size() == 1);
  CHECK(heap.key(0) == 3);
  heap.remove(0);
  CHECK(heap.empty());
  CHECK_FALSE(heap.contains(0));
  heap.put(0, 9);
  CHECK(heap.top() == 0);
}

TEST_CASE("keys order the ids, over the whole range of keys") {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  IndexHeap heap(5, memory());
  heap.put(0, most);
  heap.put(1, 0);
  heap.put(2, most - 1);
  heap.put(3, std::uint64_t{1} << 63U);
  heap.put(4, 1);
  CHECK(drain(heap) == std::vector<std::size_t>{1, 4, 3, 2, 0});
}

TEST_CASE("ties fall to the lowest id, in whatever order they came") {
  for (const bool ascending : {true, false}) {
    IndexHeap heap(16, memory());
    for (std::size_t i = 0; i < 16; ++i) heap.put(ascending ? i : 15 - i, 7);
    const std::vector<std::size_t> ids = drain(heap);
    for (std::size_t i = 0; i < ids.size(); ++i) CHECK(ids[i] == i);
  }
}

TEST_CASE("any position can be removed, and any key changed, up or down") {
  constexpr std::size_t count = 31;
  for (std::size_t chosen = 0; chosen < count; ++chosen)
    for (const int change : {0, 1, 2}) {
      IndexHeap heap(count, memory());
      std::set<std::pair<std::uint64_t, std::size_t>> expected;
      for (std::size_t id = 0; id < count; ++id) {
        const std::uint64_t key = (id * 37) % count + 1;
        heap.put(id, key);
        expected.emplace(key, id);
      }
      expected.erase({heap.key(chosen), chosen});
      if (change == 0) heap.remove(chosen);
      if (change != 0) {
        const std::uint64_t key = change == 1 ? 0 : 1000;
        heap.put(chosen, key);
        expected.emplace(key, chosen);
      }
      CHECK(heap.size() == expected.size());
      CHECK(heap.contains(chosen) == (change != 0));
      const std::vector<std::size_t> ids = drain(heap);
      std::size_t i = 0;
      for (const auto& [key, id] : expected) CHECK(ids[i++] == id);
    }
}

TEST_CASE("the heap agrees with a set of pairs under any operations") {
  CHECK(rc::check("put, change, remove, top", [](const std::vector<std::uint16_t>& choices) {
    constexpr std::size_t capacity = 24;
    IndexHeap heap(capacity, memory());
    std::set<std::pair<std::uint64_t, std::size_t>> pairs;
    std::map<std::size_t, std::uint64_t> keys;
    for (const std::uint16_t choice : choices) {
      const std::size_t id = choice % capacity;
      const std::uint64_t key = choice / capacity % 8;  // few keys: many ties
      if (keys.contains(id)) pairs.erase({keys[id], id});
      if (choice >= 40'000 && keys.contains(id)) {
        heap.remove(id);
        keys.erase(id);
      } else {
        heap.put(id, key);
        keys[id] = key;
        pairs.emplace(key, id);
      }
      RC_ASSERT(heap.size() == pairs.size());
      RC_ASSERT(heap.empty() == pairs.empty());
      RC_ASSERT(heap.contains(id) == keys.contains(id));
      if (!pairs.empty()) {
        RC_ASSERT(heap.top() == pairs.begin()->second);
        RC_ASSERT(heap.key(heap.top()) == pairs.begin()->first);
      }
    }
    for (const auto& [key, id] : pairs) {
      RC_ASSERT(heap.top() == id);
      heap.remove(id);
    }
  }));
}

TEST_CASE("misuse of a heap is a breach of contract") {
  IndexHeap heap(2, memory());
  CHECK(violation_of([&] { heap.top(); }));
  CHECK(violation_of([&] { heap.put(2, 0); }));
  CHECK(violation_of([&] { heap.remove(0); }));
  CHECK(heap.empty());
  heap.put(1, 4);
  CHECK(violation_of([&] { heap.remove(0); }));
  CHECK(heap.top() == 1);
}
