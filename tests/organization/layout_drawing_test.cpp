// The drawing of the four layouts: exact for the paper's model, and well formed for every model.
#include "hybridmem/organization/layout_drawing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "hybridmem/model/layout_solver.hpp"
#include "hybridmem/model/make_geometry.hpp"
#include "hybridmem/model/preset.hpp"

using namespace hybridmem;

namespace {

PageLayout layout_of(const GeometryNumbers& numbers, const LayoutOptions& options = {}) {
  const auto geometry = make_geometry(numbers);
  REQUIRE(geometry);
  const auto layout = solve_layout(*geometry, options);
  REQUIRE(layout);
  return *layout;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Lines of at most 72 printable ASCII characters, none with a space at its end.
void check_form(const std::string& drawing) {
  CHECK(drawing.back() == '\n');
  std::istringstream lines(drawing);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 72);
    CHECK((line.empty() || line.back() != ' '));
    CHECK(std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; }));
    CHECK(std::count(line.begin(), line.end(), '[') == std::count(line.begin(), line.end(), ']'));
  }
}

}  // namespace

TEST_CASE("the layouts of the paper's model are drawn to scale") {
  const std::string drawing = draw_layouts(layout_of({44, 44, 1'024, 1'572'864, 21'504, 128, 16}));
  CHECK(drawing == R"(One layer. # used, . unused; on the right: used of held KiB.
An attention block is 512 tokens, in D0 16.

S0 coarse_pages        one pool, pages of 1557 KiB
  block       [#########...................]            512 of 1557
  checkpoint  [############################]            1557 of 1557

S1 paged_recurrent     one pool, pages of 512 KiB
  block       [#######]                                 512 of 512
  checkpoint  [#######][#######][#######][#......]      1557 of 2048
              3 members, 1 convolution page (21 of 512)

S2 slab_packed         one pool, pages of 512 KiB
  block       [#######]                                 512 of 512
  checkpoint  [#######][#######][#######]               1536 of 1536
              3 members, 1 slot in a slab shared with others
  slab        [#|.|.|.|.|.|.|.|.|.|.|.|.|.|.|.]         21 of 32
              16 slots of 32 KiB a slab

D0 static_dual_pool    two pools, units of 16 KiB and 1557 KiB
  block       [#]                                       16 of 16
  checkpoint  [############################]            1557 of 1557
)");
}

TEST_CASE("every preset has a drawing of at most 72 columns") {
  for (const ModelPreset& preset : model_presets()) {
    CAPTURE(preset.architecture.name.view());
    const auto geometry = make_geometry(preset.architecture);
    REQUIRE(geometry);
    const auto layout = solve_layout(*geometry);
    REQUIRE(layout);
    const std::string drawing = draw_layouts(*layout);
    check_form(drawing);
    for (const OrganizationKind kind : organization_kinds)
      CHECK(contains(drawing, std::string(paper_label(kind)) + " " + name_of(kind)));
  }
}

TEST_CASE("a model without attention layers has no blocks in its drawing") {
  const std::string drawing = draw_layouts(layout_of({0, 4, 0, 1'048'576, 16'384, 0, 16}));
  check_form(drawing);
  CHECK(contains(drawing, "No attention layers."));
  CHECK_FALSE(contains(drawing, "block"));
  CHECK_FALSE(contains(drawing, "two pools"));
}

TEST_CASE("a model without convolution has no slab in its drawing") {
  const std::string drawing = draw_layouts(layout_of({4, 4, 1'024, 1'048'576, 0, 0, 16}));
  check_form(drawing);
  CHECK_FALSE(contains(drawing, "slab shared"));
  CHECK_FALSE(contains(drawing, "convolution"));
}

TEST_CASE("a model with convolution alone has slots and no members") {
  const std::string drawing = draw_layouts(layout_of({4, 4, 1'024, 0, 8'192, 0, 16}));
  check_form(drawing);
  CHECK_FALSE(contains(drawing, "member"));
  CHECK(contains(drawing, "checkpoint  [#|."));
}

TEST_CASE("many members and slots are abbreviated and counted") {
  LayoutOptions options;
  options.block_tokens = 16;
  const PageLayout small = layout_of({3, 9, 1'024, 16'777'216, 256, 0, 16}, options);
  const std::string drawing = draw_layouts(small);
  check_form(drawing);
  CHECK(contains(drawing, "[#][#] .. [#]"));
  CHECK(contains(drawing, "1024 members"));
  CHECK(contains(drawing, "64 slots of 0.2 KiB a slab"));
  CHECK(contains(drawing, "a checkpoint takes this 3 times, a block 1 time."));
}

TEST_CASE("a block of several coarse pages fills all but the last") {
  LayoutOptions options;
  options.block_tokens = 512;
  const PageLayout layout = layout_of({4, 4, 4'096, 1'048'576, 0, 0, 16}, options);
  REQUIRE(layout.coarse_pages_per_block == 2);
  const std::string drawing = draw_layouts(layout);
  check_form(drawing);
  CHECK(contains(drawing, "2 pages"));
}

TEST_CASE("sizes beyond a hundred thousand KiB are written in MiB") {
  const std::string drawing = draw_layouts(layout_of({1, 1, 1'048'576, 1U << 30U, 1'024, 0, 16}));
  check_form(drawing);
  CHECK(contains(drawing, "held MiB"));
  CHECK_FALSE(contains(drawing, "KiB"));
}
