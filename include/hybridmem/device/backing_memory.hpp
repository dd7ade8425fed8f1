// BackingMemory: where the bytes of the pools come from: the caller's buffer, std::pmr, or
// cuda::mr.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <utility>

#include "hybridmem/core/arithmetic.hpp"
#include "hybridmem/core/result.hpp"
#include "hybridmem/device/pool_view.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// Pools start at multiples of this in their buffer; tensors at multiples of a page.
inline constexpr std::size_t pool_alignment_bytes = 256;

/// A resource with `allocate_sync(bytes, alignment)`, as CCCL 3.1 and later spell `cuda::mr`.
template <class R>
concept SynchronousResource = requires(R& resource, void* memory, std::size_t size) {
  { resource.allocate_sync(size, size) } -> std::same_as<void*>;
  resource.deallocate_sync(memory, size, size);
};

/// A resource with `allocate(bytes, alignment)`: `std::pmr::memory_resource`, and `cuda::mr` up to
/// CCCL 3.0.
template <class R>
concept PlainResource =
    !SynchronousResource<R> && requires(R& resource, void* memory, std::size_t size) {
      { resource.allocate(size, size) } -> std::same_as<void*>;
      resource.deallocate(memory, size, size);
    };

/// Either. Recognised by its functions: no CUDA header is needed here.
template <class R>
concept BackingResource = SynchronousResource<R> || PlainResource<R>;

/// Bytes that the pools take in one buffer, alignment between them included; saturates.
constexpr std::uint64_t backing_bytes(std::span<const PoolShape> shapes) noexcept {
  Checked total{0};
  for (const PoolShape& shape : shapes) {
    const Checked bytes = Checked{shape.units} * Checked{shape.unit_bytes} * Checked{shape.layers};
    total = total + bytes + Checked{pool_alignment_bytes - 1};
  }
  return total.overflowed()
             ? total.value()
             : total.value() / pool_alignment_bytes * pool_alignment_bytes + pool_alignment_bytes;
}

/// Lays pools out in a buffer that the caller owns, in order. The bytes are not touched. Errors:
/// `bad_argument` (a null or misaligned buffer, or fewer views than shapes), `capacity` (too small;
/// the bytes needed are named). Linear in the pools.
inline Result<std::uint64_t, InputError> place_pools(std::span<const PoolShape> shapes,
                                                     std::byte* buffer, std::uint64_t bytes,
                                                     std::span<PoolView> views) {
  if (buffer == nullptr || reinterpret_cast<std::uintptr_t>(buffer) % pool_alignment_bytes != 0)
    return InputError{Error::bad_argument, "buffer", 0, "memory aligned to 256 bytes"};
  if (views.size() < shapes.size())
    return InputError{Error::bad_argument, "views", static_cast<std::int64_t>(views.size()),
                      "one for each pool"};
  Checked offset{0};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const PoolShape& shape = shapes[i];
    const std::uint64_t start = round_up(offset.value(), std::uint64_t{pool_alignment_bytes});
    const Checked end =
        Checked{start} + Checked{shape.units} * Checked{shape.unit_bytes} * Checked{shape.layers};
    if (end.overflowed() || end.value() > bytes)
      return InputError{
          Error::capacity,       "buffer", static_cast<std::int64_t>(bytes),
          "room for every pool", 0,        static_cast<std::int64_t>(backing_bytes(shapes))};
    views[i] = PoolView{buffer + start, shape};
    offset = end;
  }
  return offset.value();
}

/// One buffer from a resource, given back at the end. Movable. `R` must outlive it.
template <BackingResource R>
class BackingMemory {
 public:
  /// Allocates `bytes`. Throws whatever the resource throws.
  BackingMemory(R& resource, std::size_t bytes) : resource_(&resource), bytes_(bytes) {
    if constexpr (SynchronousResource<R>)
      data_ = static_cast<std::byte*>(resource.allocate_sync(bytes, pool_alignment_bytes));
    else
      data_ = static_cast<std::byte*>(resource.allocate(bytes, pool_alignment_bytes));
  }

  BackingMemory(BackingMemory&& other) noexcept
      : resource_(other.resource_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  BackingMemory& operator=(BackingMemory&& other) noexcept {
    if (this == &other) return *this;
    release();
    resource_ = other.resource_;
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  BackingMemory(const BackingMemory&) = delete;
  BackingMemory& operator=(const BackingMemory&) = delete;
  ~BackingMemory() { release(); }

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return bytes_; }

 private:
  void release() noexcept {
    if (data_ == nullptr) return;
    if constexpr (SynchronousResource<R>)
      resource_->deallocate_sync(data_, bytes_, pool_alignment_bytes);
    else
      resource_->deallocate(data_, bytes_, pool_alignment_bytes);
    data_ = nullptr;
  }

  R* resource_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

static_assert(BackingResource<std::pmr::memory_resource>);

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
