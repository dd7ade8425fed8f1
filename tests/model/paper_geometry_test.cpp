// Which geometries get the paper's settings, and that no other does.
#include "hybridmem/model/paper_geometry.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "hybridmem/organization/organization_layout.hpp"
#include "support/csv.hpp"
#include "support/geometries.hpp"

using namespace hybridmem;
using namespace hybridmem_test;

namespace {

bool has_none(const GeometryNumbers& numbers) {
  const PaperSettings settings = paper_settings(geometry_of(numbers));
  return !settings.power_of_two_slots && settings.dual_interval_tokens == 0 &&
         settings.dual_attention_millionths == 0;
}

}  // namespace

TEST_CASE("Falcon-H1-7B has the paper's slots, interval and split") {
  const PaperSettings settings = paper_settings(geometry_of(falcon_numbers));
  CHECK(settings.power_of_two_slots);
  CHECK(settings.dual_interval_tokens == 1'792);
  CHECK(settings.dual_attention_millionths == 527'383);
  CHECK(settings.dual_interval_tokens ==
        find_row(read_paper_csv("table_1_geometry.csv"), "org", "D0")
            .number("recurrent_boundary_tokens"));
}

TEST_CASE("Granite-4.0-H-Micro has the paper's split and nothing else") {
  const PaperSettings settings = paper_settings(geometry_of(granite_numbers));
  CHECK_FALSE(settings.power_of_two_slots);
  CHECK(settings.dual_interval_tokens == 0);
  CHECK(settings.dual_attention_millionths == 199'699);
}

TEST_CASE("a geometry that differs in one number has no settings of the paper") {
  CHECK(has_none(nemotron_numbers));
  for (const GeometryNumbers& paper : {falcon_numbers, granite_numbers}) {
    CHECK_FALSE(has_none(paper));
    GeometryNumbers other = paper;
    other.kv_bytes_per_token_layer /= 2;
    CHECK(has_none(other));
    other = paper;
    other.recurrent_bytes_layer *= 2;
    CHECK(has_none(other));
    other = paper;
    other.conv_bytes_layer += 256;
    CHECK(has_none(other));
    other = paper;
    other.attention_layers += 1;
    CHECK(has_none(other));
    other = paper;
    other.recurrent_layers += 1;
    CHECK(has_none(other));
  }
}

TEST_CASE("one layer of Falcon-H1-7B is enough to be recognised") {
  GeometryNumbers layer = falcon_numbers;
  layer.attention_layers = 1;
  layer.recurrent_layers = 1;
  CHECK(paper_settings(geometry_of(layer)).dual_interval_tokens == 1'792);
}

TEST_CASE("the paper's settings reach the layout, and an explicit option overrides each") {
  PageLayout layout = layout_of(falcon_numbers);
  CHECK(layout.slot_rule == SlotRule::power_of_two);
  CHECK(layout.dual_interval_tokens == 1'792);
  layout = layout_of(falcon_numbers, LayoutOptions{.slots = SlotRule::exact});
  CHECK(layout.slot_rule == SlotRule::exact);
  CHECK(layout.slots_per_slab == 24);
  layout = layout_of(falcon_numbers, LayoutOptions{.dual_interval_tokens = 1'664});
  CHECK(layout.dual_interval_tokens == 1'664);
  layout = layout_of(granite_numbers);
  CHECK(layout.slot_rule == SlotRule::exact);
  CHECK(layout.slots_per_slab == 40);
}

TEST_CASE("the paper's interval gives way where the kernel chunk does not divide it") {
  GeometryNumbers numbers = falcon_numbers;
  numbers.kernel_chunk_tokens = 512;
  CHECK(layout_of(numbers).dual_interval_tokens == 2'048);
  numbers.kernel_chunk_tokens = 0;
  CHECK(layout_of(numbers).dual_interval_tokens == 1'792);
}
