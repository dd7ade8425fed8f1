// The memory of each organization's pools in the paper's geometry, and where the lines lie in it.
#include "hybridmem/organization/pool_shapes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

#include "hybridmem/model/layout_solver.hpp"
#include "hybridmem/model/make_geometry.hpp"

using hybridmem::make_geometry;
using hybridmem::OrganizationKind;
using hybridmem::PageLayout;
using hybridmem::pool_shapes;
using hybridmem::PoolShapes;
using hybridmem::PoolView;
using hybridmem::solve_layout;

namespace {

PageLayout falcon() {
  return solve_layout(*make_geometry({.attention_layers = 44,
                                      .recurrent_layers = 44,
                                      .kv_bytes_per_token_layer = 1'024,
                                      .recurrent_bytes_layer = 1'572'864,
                                      .conv_bytes_layer = 21'504,
                                      .kernel_chunk_tokens = 128}))
      .value();
}

}  // namespace

TEST_CASE("CoarsePages: one pool, the line behind the recurrent state") {
  const PoolShapes shapes = pool_shapes(falcon(), OrganizationKind::coarse_pages, {63, 0});
  CHECK(shapes.count == 1);
  CHECK(shapes.pools[0].units == 63);
  CHECK(shapes.pools[0].unit_bytes == 1'594'368);
  CHECK(shapes.pools[0].layers == 44);
  CHECK(shapes.pools[0].lines_per_unit == 1);
  CHECK(shapes.pools[0].line_offset_bytes == 1'572'864);
}

TEST_CASE("PagedRecurrent: a line is the start of a page") {
  const PoolShapes shapes = pool_shapes(falcon(), OrganizationKind::paged_recurrent, {193, 0});
  CHECK(shapes.pools[0].unit_bytes == 524'288);
  CHECK(shapes.pools[0].lines_per_unit == 1);
  CHECK(shapes.pools[0].line_offset_bytes == 0);
}

TEST_CASE("SlabPacked: sixteen lines of 32 KiB a page") {
  const PoolShapes shapes = pool_shapes(falcon(), OrganizationKind::slab_packed, {193, 0});
  CHECK(shapes.pools[0].lines_per_unit == 16);
  CHECK(shapes.pools[0].line_stride_bytes == 32'768);
  const PoolView view{nullptr, shapes.pools[0]};
  CHECK(view.line(0, 16 * 3 + 2) - view.page(0, 3) == 2 * 32'768);
}

TEST_CASE("StaticDualPool: lines are in the recurrent pool alone") {
  const PoolShapes shapes = pool_shapes(falcon(), OrganizationKind::static_dual_pool, {3256, 29});
  CHECK(shapes.count == 2);
  CHECK(shapes.pools[0].units == 3256);
  CHECK(shapes.pools[0].unit_bytes == 16'384);
  CHECK(shapes.pools[0].lines_per_unit == 0);
  CHECK(shapes.pools[1].units == 29);
  CHECK(shapes.pools[1].unit_bytes == 1'594'368);
  CHECK(shapes.pools[1].line_offset_bytes == 1'572'864);
  CHECK(shapes.span().size() == 2);
}

TEST_CASE("a sink is one page more in every pool, which no unit names") {
  const PoolShapes with =
      pool_shapes(falcon(), OrganizationKind::static_dual_pool, {3256, 29}, true);
  CHECK(with.pools[0].units == 3257);
  CHECK(with.pools[1].units == 30);
}

TEST_CASE("a model without convolution state has no lines") {
  const PageLayout layout = solve_layout(*make_geometry({.attention_layers = 10,
                                                         .recurrent_layers = 70,
                                                         .kv_bytes_per_token_layer = 4'096,
                                                         .recurrent_bytes_layer = 2'097'152,
                                                         .kernel_chunk_tokens = 256}))
                                .value();
  for (const OrganizationKind kind : hybridmem::organization_kinds)
    for (const auto& shape : pool_shapes(layout, kind, {10, 10}).pools)
      CHECK(shape.lines_per_unit == 0);
}
