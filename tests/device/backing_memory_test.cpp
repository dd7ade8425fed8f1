// Memory for the pools from the caller's buffer, std::pmr, and both spellings of cuda::mr.
#include "hybridmem/device/backing_memory.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory_resource>
#include <string>
#include <utility>

using hybridmem::backing_bytes;
using hybridmem::BackingMemory;
using hybridmem::BackingResource;
using hybridmem::Error;
using hybridmem::place_pools;
using hybridmem::PlainResource;
using hybridmem::PoolShape;
using hybridmem::PoolView;
using hybridmem::SynchronousResource;

namespace {

struct Counts {
  int allocated = 0;
  int freed = 0;
  std::size_t bytes = 0;
  std::size_t alignment = 0;
};

/// As `cuda::mr` up to CCCL 3.0.
struct OldSpelling {
  Counts counts;
  void* allocate(std::size_t bytes, std::size_t alignment) {
    counts = {counts.allocated + 1, counts.freed, bytes, alignment};
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  void deallocate(void* memory, std::size_t, std::size_t) {
    ++counts.freed;
    std::free(memory);
  }
};

/// As `cuda::mr` from CCCL 3.1 on; the old names are there too, for streams.
struct NewSpelling {
  Counts counts;
  void* allocate_sync(std::size_t bytes, std::size_t alignment) {
    counts = {counts.allocated + 1, counts.freed, bytes, alignment};
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  void deallocate_sync(void* memory, std::size_t, std::size_t) {
    ++counts.freed;
    std::free(memory);
  }
  void* allocate(int stream, std::size_t bytes, std::size_t alignment);
};

struct NoResource {
  void* allocate(std::size_t bytes);
};

static_assert(PlainResource<OldSpelling> && !SynchronousResource<OldSpelling>);
static_assert(SynchronousResource<NewSpelling> && !PlainResource<NewSpelling>);
static_assert(BackingResource<std::pmr::memory_resource>);
static_assert(!BackingResource<NoResource> && !BackingResource<int>);

constexpr std::array shapes{PoolShape{.units = 3, .unit_bytes = 300, .layers = 2},
                            PoolShape{.units = 5, .unit_bytes = 256, .layers = 1}};

}  // namespace

TEST_CASE_TEMPLATE("a resource gives one buffer and gets it back once", Resource, OldSpelling,
                   NewSpelling) {
  Resource resource;
  {
    BackingMemory<Resource> memory(resource, 5000);
    CHECK(memory.size() == 5000);
    CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % 256 == 0);
    BackingMemory<Resource> moved(std::move(memory));
    CHECK(resource.counts.freed == 0);
    BackingMemory<Resource> other(resource, 100);
    other = std::move(moved);
    CHECK(resource.counts.freed == 1);
    CHECK(other.size() == 5000);
  }
  CHECK(resource.counts.allocated == 2);
  CHECK(resource.counts.freed == 2);
  CHECK(resource.counts.alignment == 256);
}

TEST_CASE("std::pmr serves as backing memory") {
  std::pmr::monotonic_buffer_resource resource;
  const BackingMemory<std::pmr::memory_resource> memory(resource, 1000);
  CHECK(memory.data() != nullptr);
}

TEST_CASE("pools are laid out in the caller's buffer, aligned and apart") {
  alignas(256) std::array<std::byte, 4096> buffer{};
  std::array<PoolView, 2> views{};
  const auto used = place_pools(shapes, buffer.data(), buffer.size(), views);
  REQUIRE(used);
  CHECK(views[0].base == buffer.data());
  CHECK(views[1].base == buffer.data() + 2048);  // 1800 bytes, then the next multiple of 256
  CHECK(*used == 2048 + 1280);
  CHECK(*used <= backing_bytes(shapes));
  CHECK(place_pools(shapes, buffer.data(), *used, views));
}

TEST_CASE("a buffer that is null, misaligned or one byte short is refused with what is needed") {
  alignas(256) std::array<std::byte, 4096> buffer{};
  std::array<PoolView, 2> views{};
  CHECK(place_pools(shapes, nullptr, 4096, views).error().code == Error::bad_argument);
  CHECK(place_pools(shapes, buffer.data() + 1, 4000, views).error().code == Error::bad_argument);
  CHECK(place_pools(shapes, buffer.data(), 4096, std::span(views).first(1)).error().code ==
        Error::bad_argument);
  const auto refused = place_pools(shapes, buffer.data(), 3327, views);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Error::capacity);
  CHECK(std::string(refused.error().field) == "buffer");
  CHECK(refused.error().upper >= 3328);
}

TEST_CASE("pools beyond 64 bits are refused, not wrapped") {
  alignas(256) std::array<std::byte, 256> buffer{};
  std::array<PoolView, 1> views{};
  const std::array huge{
      PoolShape{.units = std::uint64_t{1} << 40U, .unit_bytes = 1U << 20U, .layers = 64}};
  CHECK(place_pools(huge, buffer.data(), 256, views).error().code == Error::capacity);
  CHECK(backing_bytes(huge) == ~std::uint64_t{0});
}
