// What each organization allocates, against the paper's table 1 and under deeper or flatter stacks.
#include "hybridmem/organization/organization_layout.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <set>
#include <string>

#include "hybridmem/core/bytes.hpp"
#include "support/csv.hpp"
#include "support/geometries.hpp"

using namespace hybridmem;
using namespace hybridmem_test;

TEST_CASE("table 1: boundaries and units of the four organizations") {
  const PageLayout page = layout_of(falcon_numbers);
  std::size_t checked = 0;
  for (const CsvRow& row : read_paper_csv("table_1_geometry.csv")) {
    CAPTURE(row.place());
    const auto kind = parse_organization(row.text("org"));
    REQUIRE(kind);
    const OrganizationLayout layout = organization_layout(page, *kind);
    const auto kib = [&](const char* column) { return row.number(column) * 1024; };
    CHECK(layout.block_tokens == row.number("attention_boundary_tokens"));
    CHECK(layout.checkpoint_interval_tokens == row.number("recurrent_boundary_tokens"));
    CHECK(layout.unit_bytes[0] == kib("attention_unit_kib"));
    CHECK(layout.unit_bytes[1] == kib("ssm_unit_kib"));
    CHECK(layout.block_payload_bytes == 44 * kib("attention_payload_kib"));
    CHECK(layout.checkpoint_payload_bytes ==
          44 * (kib("ssm_payload_kib") + kib("conv_payload_kib")));
    const bool composite = row.text("conv_placement") == "inside_recurrent_composite";
    CHECK(layout.member_units == (composite ? 1 : row.number("ssm_pages_per_checkpoint")));
    CHECK(layout.conv_units == (row.text("conv_placement") == "dedicated_page" ? 1 : 0));
    const bool slabs = row.text("conv_placement") == "slot_in_shared_slab";
    CHECK(layout.has_slabs() == slabs);
    CHECK(layout.slots_per_slab == (slabs ? row.number("conv_slots_per_unit") : 0));
    CHECK(layout.slots_per_checkpoint == (slabs ? 1 : 0));
    CHECK(layout.lines_per_checkpoint == 1);
    if (slabs) CHECK(page.slot_bytes == kib("conv_slot_kib"));
    if (!composite) CHECK(layout.unit_bytes[1] == kib("conv_unit_kib"));
    CHECK(layout.pools == (row.text("pool_type") == "static_dual" ? 2 : 1));
    CHECK(layout.units_per_block == 1);
    ++checked;
  }
  CHECK(checked == 4);
}

TEST_CASE("organizations are read by their name and by their paper label, and by nothing else") {
  std::set<std::string> names;
  for (const OrganizationKind kind : organization_kinds) {
    for (const char* text : {name_of(kind), paper_label(kind)}) {
      names.insert(text);
      const auto read = parse_organization(text);
      REQUIRE(read);
      CHECK(*read == kind);
    }
  }
  CHECK(names.size() == 8);
  for (const char* text : {"", "S3", "s0", "S0 ", "slab", "unknown"}) {
    const auto read = parse_organization(text);
    REQUIRE_FALSE(read);
    CHECK(read.error() == Error::unknown_name);
  }
  CHECK(std::string(name_of(static_cast<OrganizationKind>(9))) == "unknown");
  CHECK(std::string(paper_label(static_cast<OrganizationKind>(9))) == "unknown");
}

TEST_CASE("pools: a shared pool serves both kinds, two pools one each") {
  const OrganizationLayout shared = organization_of(OrganizationKind::slab_packed);
  CHECK(shared.pool_of(StateKind::attention) == 0);
  CHECK(shared.pool_of(StateKind::recurrent) == 0);
  const OrganizationLayout dual = organization_of(OrganizationKind::static_dual_pool);
  CHECK(dual.pool_of(StateKind::attention) == 0);
  CHECK(dual.pool_of(StateKind::recurrent) == 1);
  CHECK(dual.stack_unit_bytes(StateKind::attention) == 44 * 16'384);
  CHECK(dual.stack_unit_bytes(StateKind::recurrent) == 44 * 1'594'368);
}

TEST_CASE("layer counts without a common divisor: many members and slots in one checkpoint") {
  const OrganizationLayout slabs = organization_of(OrganizationKind::slab_packed, nemotron_numbers);
  CHECK(slabs.stack_layers == 1);
  CHECK(slabs.units_per_block == 6);
  CHECK(slabs.member_units == 92);
  CHECK(slabs.conv_units == 0);
  CHECK(slabs.slots_per_checkpoint == 23);
  CHECK(slabs.lines_per_checkpoint == 23);
  CHECK(slabs.slots_per_slab == 14);
  CHECK(slabs.least_slabs(1) == 2);
  CHECK(slabs.least_slabs(14) == 23);
  const OrganizationLayout paged =
      organization_of(OrganizationKind::paged_recurrent, nemotron_numbers);
  CHECK(paged.units_per_checkpoint() == 92 + 23);
  CHECK(paged.slots_per_checkpoint == 0);
  CHECK(paged.lines_per_checkpoint == 23);
  const OrganizationLayout coarse =
      organization_of(OrganizationKind::coarse_pages, nemotron_numbers);
  CHECK(coarse.units_per_block == 6);
  CHECK(coarse.units_per_checkpoint() == 23);
  const OrganizationLayout dual =
      organization_of(OrganizationKind::static_dual_pool, nemotron_numbers);
  CHECK(dual.units_per_block == 6);
  CHECK(dual.units_per_checkpoint() == 23);
}

TEST_CASE("a flat stack counts every layer, a deep one none twice") {
  const OrganizationLayout flat = organization_of(OrganizationKind::slab_packed, falcon_numbers,
                                                  LayoutOptions{.stack_layers = 1});
  CHECK(flat.units_per_block == 44);
  CHECK(flat.member_units == 132);
  CHECK(flat.slots_per_checkpoint == 44);
  CHECK(flat.stack_unit_bytes(StateKind::recurrent) == 512_KiB);
  const OrganizationLayout deep = organization_of(OrganizationKind::slab_packed);
  CHECK(deep.stack_unit_bytes(StateKind::recurrent) == 44 * 512_KiB);
}

TEST_CASE("the slab bound of the paper: sixteen checkpoints a slab") {
  const OrganizationLayout slabs = organization_of(OrganizationKind::slab_packed);
  CHECK(slabs.least_slabs(0) == 0);
  CHECK(slabs.least_slabs(1) == 1);
  CHECK(slabs.least_slabs(16) == 1);
  CHECK(slabs.least_slabs(17) == 2);
  CHECK(slabs.least_slabs(43) == 3);
  CHECK(slabs.least_slabs(69) == 5);
  CHECK(organization_of(OrganizationKind::paged_recurrent).least_slabs(43) == 0);
}

TEST_CASE("without attention layers a block takes nothing and keeps its tokens") {
  GeometryNumbers numbers = falcon_numbers;
  numbers.attention_layers = 0;
  for (const OrganizationKind kind : organization_kinds) {
    CAPTURE(name_of(kind));
    const OrganizationLayout layout = organization_of(kind, numbers);
    CHECK(layout.units_per_block == 0);
    CHECK(layout.block_payload_bytes == 0);
    CHECK(layout.block_tokens == 512);
    CHECK(layout.unit_bytes[1] > 0);
    CHECK(layout.units_per_checkpoint() > 0);
  }
}

TEST_CASE("a block larger than a coarse page takes several of them") {
  GeometryNumbers numbers = falcon_numbers;
  numbers.recurrent_bytes_layer = 98'304;  // a coarse page holds 117 tokens: seven kernel blocks
  const OrganizationLayout coarse =
      organization_of(OrganizationKind::coarse_pages, numbers, LayoutOptions{.block_tokens = 512});
  CHECK(coarse.unit_bytes[0] == 119'808);
  CHECK(coarse.units_per_block == 5);  // 4 x 112 + 64 tokens
}

TEST_CASE("the units of any layout hold what they are said to hold") {
  CHECK(rc::check("units * unit bytes >= payload, and one unit fewer would not do", [] {
    const LayoutCase c = *any_layout_case();
    const PageLayout page = layout_or_discard(c);
    const OrganizationKind kind = *any_organization();
    const OrganizationLayout layout = organization_layout(page, kind);
    RC_TAG(name_of(kind));
    const std::uint64_t stacks = c.numbers.recurrent_layers / layout.stack_layers;
    const std::uint64_t unit = layout.unit_bytes[1];
    RC_ASSERT(layout.kind == kind);
    RC_ASSERT(layout.lines_per_checkpoint == (c.numbers.conv_bytes_layer > 0 ? stacks : 0));
    RC_ASSERT(unit > 0U);
    RC_ASSERT(unit % 256 == 0U);
    RC_ASSERT(c.numbers.recurrent_layers % layout.stack_layers == 0U);
    RC_ASSERT(c.numbers.attention_layers % layout.stack_layers == 0U);
    const std::uint64_t recurrent = c.numbers.recurrent_bytes_layer;
    const bool whole =
        kind == OrganizationKind::coarse_pages || kind == OrganizationKind::static_dual_pool;
    const std::uint64_t stored = whole ? recurrent + c.numbers.conv_bytes_layer : recurrent;
    RC_ASSERT(layout.member_units * unit >= stacks * stored);
    RC_ASSERT((layout.member_units - std::min<std::uint64_t>(layout.member_units, stacks)) * unit <
                  stacks * stored ||
              stored == 0U);
    if (layout.has_slabs()) {
      RC_ASSERT(layout.slots_per_checkpoint == stacks);
      RC_ASSERT(layout.slots_per_slab * c.numbers.conv_bytes_layer <= unit);
    }
    RC_ASSERT(layout.units_per_block * layout.unit_bytes[0] * layout.stack_layers >=
              layout.block_payload_bytes);
    RC_ASSERT(layout.block_payload_bytes == std::uint64_t{layout.block_tokens} *
                                                c.numbers.kv_bytes_per_token_layer *
                                                c.numbers.attention_layers);
    RC_ASSERT(layout.checkpoint_payload_bytes ==
              (recurrent + c.numbers.conv_bytes_layer) * c.numbers.recurrent_layers);
  }));
}
