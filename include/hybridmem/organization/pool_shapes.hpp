// pool_shapes: the memory that an organization's pools need, for views and backing memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "hybridmem/device/pool_view.hpp"
#include "hybridmem/organization/capacity.hpp"
#include "hybridmem/organization/organization_layout.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// The pools of one organization in memory: one shared, or attention and recurrent.
struct PoolShapes {
  std::array<PoolShape, 2> pools{};
  std::uint8_t count = 1;

  constexpr std::span<const PoolShape> span() const noexcept { return {pools.data(), count}; }
};

/// The shapes of `kind`'s pools under `layout` with `units` of each. With `sink`, every pool has
/// one page more than the cache manages: nobody owns it, and kernels that read before they mask may
/// be pointed at it (`TableOut::absent` = `units`; lines from `units * lines_per_unit` on).
/// Constant time.
constexpr PoolShapes pool_shapes(const PageLayout& layout, OrganizationKind kind,
                                 const PoolUnits& units, bool sink = false) noexcept {
  const OrganizationLayout organization = organization_layout(layout, kind);
  PoolShapes shapes;
  shapes.count = organization.pools;
  for (std::uint8_t pool = 0; pool < shapes.count; ++pool) {
    PoolShape& shape = shapes.pools[pool];
    shape.units = units[pool] + (sink ? 1 : 0);
    shape.unit_bytes = organization.unit_bytes[shapes.count == 1 ? 1 : pool];
    shape.layers = organization.stack_layers;
  }
  if (!layout.has_convolution()) return shapes;
  PoolShape& holder = shapes.pools[organization.pool_of(StateKind::recurrent)];
  const bool packed = organization.has_slabs();
  const bool composite = organization.conv_units == 0 && !packed;
  holder.lines_per_unit = packed ? organization.slots_per_slab : 1;
  holder.line_stride_bytes = packed ? layout.slot_bytes : holder.unit_bytes;
  holder.line_offset_bytes = composite ? layout.geometry.recurrent_bytes_layer() : 0;
  return shapes;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
