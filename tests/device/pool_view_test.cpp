// Addresses of pages and lines, for pages that are no power of two and beyond 32 bits.
#include "hybridmem/device/pool_view.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>

using hybridmem::PoolShape;
using hybridmem::PoolView;

namespace {

std::byte* at(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}

constexpr std::uint64_t base = std::uint64_t{1} << 40U;

}  // namespace

TEST_CASE("a view is trivially copyable and starts empty") {
  static_assert(std::is_trivially_copyable_v<PoolView>);
  static_assert(PoolShape{}.bytes() == 0);
}

TEST_CASE("page 0 is real, and pages lie one after the other in each layer's tensor") {
  const PoolView view{at(base), {.units = 10, .unit_bytes = 1'594'368, .layers = 3}};
  CHECK(view.page(0, 0) == at(base));
  CHECK(view.page(0, 9) == at(base + 9 * std::uint64_t{1'594'368}));
  CHECK(view.page(1, 0) == at(base + 10 * std::uint64_t{1'594'368}));
  CHECK(view.page(2, 1) == at(base + 21 * std::uint64_t{1'594'368}));
  CHECK(view.shape.bytes() == 30 * std::uint64_t{1'594'368});
}

TEST_CASE("addresses do not wrap at 32 bits") {
  const PoolView view{at(base), {.units = 1'000'000, .unit_bytes = 524'288, .layers = 2}};
  CHECK(view.page(1, 8192) == at(base + (1'000'000 + std::uint64_t{8192}) * 524'288));
}

TEST_CASE("line 16p + s lies at slot s of page p") {
  const PoolView view{at(base),
                      {.units = 100'000,
                       .unit_bytes = 524'288,
                       .layers = 1,
                       .lines_per_unit = 16,
                       .line_stride_bytes = 32'768}};
  CHECK(view.line(0, 0) == at(base));
  CHECK(view.line(0, 16 * 7 + 5) == at(base + 7 * 524'288 + 5 * 32'768));
  CHECK(view.line(0, 262'144) == at(base + std::uint64_t{16'384} * 524'288));
}

TEST_CASE("exact slots leave a rest at the end of a page that no line falls into") {
  const PoolView view{at(base),
                      {.units = 4,
                       .unit_bytes = 524'288,
                       .layers = 1,
                       .lines_per_unit = 24,
                       .line_stride_bytes = 21'504}};
  CHECK(view.line(0, 23) == at(base + 23 * 21'504));
  CHECK(view.line(0, 24) == at(base + 524'288));
}

TEST_CASE("a composite keeps its line behind the recurrent state") {
  const PoolView view{at(base),
                      {.units = 4,
                       .unit_bytes = 1'594'368,
                       .layers = 2,
                       .lines_per_unit = 1,
                       .line_stride_bytes = 1'594'368,
                       .line_offset_bytes = 1'572'864}};
  CHECK(view.line(0, 3) == at(base + 3 * std::uint64_t{1'594'368} + 1'572'864));
  CHECK(view.line(1, 0) == at(base + 4 * std::uint64_t{1'594'368} + 1'572'864));
}
