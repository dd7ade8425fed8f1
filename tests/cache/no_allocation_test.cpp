// Nothing allocates after construction: neither from the resources that the cache was given, nor
// from the heap.
#include <doctest/doctest.h>

#include <cstdlib>
#include <new>

#include "hybridmem/organization/coarse_pages.hpp"
#include "hybridmem/organization/paged_recurrent.hpp"
#include "hybridmem/organization/slab_packed.hpp"
#include "hybridmem/organization/static_dual_pool.hpp"
#include "support/cache_script.hpp"
#include "support/frozen_memory.hpp"

using namespace hybridmem;
using namespace hybridmem_test;

namespace {

std::size_t heap_allocations = 0;

/// Counts what is taken from the heap while a call runs.
struct CountAllocations {
  std::size_t* total;

  template <class Call>
  auto operator()(Call&& call) const {
    const std::size_t before = heap_allocations;
    auto outcome = call();
    *total += heap_allocations - before;
    return outcome;
  }
};

/// A sink that keeps nothing, so that events are made.
struct Ignore {
  static constexpr bool enabled = true;
  void operator()(const Event& event) { last = event.number; }
  std::uint64_t last = 0;
};

}  // namespace

// The replacement of the global operators: they count and are otherwise the usual ones.
void* operator new(std::size_t bytes) {
  ++heap_allocations;
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) {
  return operator new(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++heap_allocations;
  const auto align = static_cast<std::size_t>(alignment);
  if (void* const memory = std::aligned_alloc(align, (bytes + align) / align * align))
    return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return operator new(bytes, alignment);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

TEST_CASE_TEMPLATE("no call allocates, from the given resources or the heap", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  std::size_t allocations = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Choices choices(seed);
    const CacheWorld world = any_cache_world(O::kind, choices);
    FrozenMemory metadata;
    FrozenMemory steps;
    using Cache = StateCache<O, Ignore>;
    Cache cache(world.layout, world.options, {}, &metadata, &steps);
    CHECK(metadata.bytes() > 0);
    CHECK(steps.bytes() > 0);
    metadata.freeze();
    steps.freeze();
    CacheScript<Cache, CountAllocations> script(cache, choices, {&allocations});
    for (int i = 0; i < 1'000; ++i) script.call();
    CHECK(cache.events().last > 0);
  }
  CHECK(allocations == 0);
}

TEST_CASE("the counter counts") {
  std::size_t allocations = 0;
  const int* const made = CountAllocations{&allocations}([] { return new int(7); });
  delete made;
  CHECK(allocations == 1);
}
