// PoolView: the address of every page and line of one pool, on host and device. Trivially copyable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hybridmem/core/config.hpp"
#include "hybridmem/core/result.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// The sizes of a pool's memory. A pool has one tensor for each layer of a stack; a page id names
/// the same index in each.
struct PoolShape {
  std::uint64_t units = 0;              ///< pages of one tensor
  std::uint64_t unit_bytes = 0;         ///< bytes of one page
  std::uint32_t layers = 0;             ///< tensors
  std::uint32_t lines_per_unit = 0;     ///< convolution lines of one page; 0 where it holds none
  std::uint64_t line_stride_bytes = 0;  ///< from one line of a page to the next
  std::uint64_t line_offset_bytes = 0;  ///< of a page's first line from the start of the page

  constexpr std::uint64_t tensor_bytes() const noexcept { return units * unit_bytes; }
  constexpr std::uint64_t bytes() const noexcept { return tensor_bytes() * layers; }
};

/// A pool's memory: `layers` tensors one after the other from `base`. Addresses are 64-bit
/// throughout. A negative page or line is absent and has no address; page 0 and line 0 are real.
struct PoolView {
  std::byte* base = nullptr;
  PoolShape shape{};

  /// Precondition: `layer < shape.layers`, `0 <= page < shape.units`. Constant time.
  HYBRIDMEM_HOST_DEVICE constexpr std::byte* page(std::uint32_t layer,
                                                  std::int32_t page) const noexcept {
    return base + layer * shape.tensor_bytes() +
           static_cast<std::uint64_t>(page) * shape.unit_bytes;
  }

  /// The convolution state of a line (paper, appendix A.3, for pages of any size).
  /// Precondition: `shape.lines_per_unit > 0` and `line` lies on a page of the pool. Constant time.
  HYBRIDMEM_HOST_DEVICE constexpr std::byte* line(std::uint32_t layer,
                                                  std::int32_t line) const noexcept {
    const auto number = static_cast<std::uint64_t>(line);
    return page(layer, static_cast<std::int32_t>(number / shape.lines_per_unit)) +
           shape.line_offset_bytes + number % shape.lines_per_unit * shape.line_stride_bytes;
  }
};

static_assert(std::is_trivially_copyable_v<PoolView>);

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
