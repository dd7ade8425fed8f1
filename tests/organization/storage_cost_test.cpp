// The closed forms of storage against the paper's figures and against counting pages one by one.
#include "hybridmem/organization/storage_cost.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

#include "support/csv.hpp"
#include "support/geometries.hpp"

using namespace hybridmem;
using namespace hybridmem_test;

namespace {

constexpr std::int64_t kib = 1024;

// Bytes of one of the 44 layers, in KiB.
double layer_kib(const OrganizationLayout& layout, const StateSet& set) {
  return static_cast<double>(storage_cost(layout, set).bytes()) / 44 / kib;
}

std::string six_decimals(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.6f", value);
  return text;
}

}  // namespace

TEST_CASE_FIXTURE(Falcon, "the cost formulas of the four organizations, in KiB a layer") {
  for (std::uint64_t a = 0; a < 5; ++a)
    for (std::uint64_t r = 0; r < 40; r += 3)
      for (std::uint64_t m = (r + 15) / 16; m < 5; ++m) {
        const StateSet set{a, r, m};
        const auto xa = static_cast<double>(a);
        const auto xr = static_cast<double>(r);
        CHECK(layer_kib(coarse, set) == 1557 * (xa + xr));
        CHECK(layer_kib(paged, set) == 512 * xa + 2048 * xr);
        CHECK(layer_kib(slabs, set) == 512 * xa + 1536 * xr + 512 * static_cast<double>(m));
        CHECK(layer_kib(dual, set) == 16 * xa + 1557 * xr);
      }
}

TEST_CASE_FIXTURE(Falcon, "only an organization with slabs pays for slabs") {
  for (const OrganizationLayout& layout : {coarse, paged, dual})
    CHECK(storage_cost(layout, {2, 3, 9}).bytes() == storage_cost(layout, {2, 3, 0}).bytes());
  CHECK(storage_cost(slabs, {2, 3, 9}).slab_units == 9);
  CHECK(storage_cost(slabs, {2, 3, 9}).units() == 2 + 3 * 3 + 9);
  CHECK(storage_cost(slabs, {2, 3, 9}).recurrent_units() == 3 * 3 + 9);
}

TEST_CASE_FIXTURE(Falcon, "table A-1: the twelve values at six decimals") {
  std::size_t checked = 0;
  for (const CsvRow& row : read_paper_csv("table_a1_state_set_storage.csv")) {
    CAPTURE(row.place());
    const std::uint64_t a = row.number("attention_objects");
    const std::uint64_t r = row.number("recurrent_objects");
    CHECK(slabs.least_slabs(r) == row.number("ideal_s2_slabs"));
    const auto mib = [&](const OrganizationLayout& layout) {
      return six_decimals(layer_kib(layout, ideal_set(layout, a, r)) / kib);
    };
    CHECK(mib(coarse) == row.text("s0_mib"));
    CHECK(mib(paged) == row.text("s1_mib"));
    CHECK(mib(slabs) == row.text("s2_mib"));
    checked += 3;
  }
  CHECK(checked == 12);
}

TEST_CASE_FIXTURE(
    Falcon, "savings: 1045 xA - 491 xR from coarse to paged, 512 (xR - m) from paged to slabs") {
  for (std::int64_t a = 0; a < 6; ++a)
    for (std::int64_t r = 0; r < 40; ++r)
      for (std::int64_t m = (r + 15) / 16; m <= r; m += 4) {
        const StateSet set{static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(r),
                           static_cast<std::uint64_t>(m)};
        CHECK(storage_saving(coarse, paged, set) == (1045 * a - 491 * r) * 44 * kib);
        CHECK(storage_saving(paged, slabs, set) == 512 * (r - m) * 44 * kib);
        CHECK(storage_saving(slabs, paged, set) == -512 * (r - m) * 44 * kib);
      }
}

TEST_CASE_FIXTURE(
    Falcon, "one checkpoint takes 491 KiB more in a slab than in two pools, sixteen take 176") {
  CHECK(layer_kib(slabs, ideal_set(slabs, 0, 1)) - layer_kib(dual, {0, 1, 0}) == 491);
  CHECK(layer_kib(slabs, ideal_set(slabs, 0, 16)) - layer_kib(dual, {0, 16, 0}) == 176);
}

TEST_CASE_FIXTURE(Falcon, "43 checkpoints need three slabs and 69 five") {
  CHECK(ideal_set(slabs, 7, 43).slabs == 3);
  CHECK(ideal_set(slabs, 7, 69).slabs == 5);
  CHECK(ideal_set(slabs, 7, 43).attention_blocks == 7);
  CHECK(ideal_set(slabs, 7, 43).checkpoints == 43);
  CHECK(ideal_set(paged, 0, 43).slabs == 0);
}

TEST_CASE_FIXTURE(Falcon, "an empty set costs nothing and wastes nothing") {
  for (const OrganizationLayout& layout : {coarse, paged, slabs, dual}) {
    const StorageCost cost = storage_cost(layout, {});
    CHECK(cost.units() == 0);
    CHECK(cost.bytes() == 0);
    CHECK(cost.unused_bytes() == 0);
    CHECK(cost.unused_fraction() == 0.0);
  }
}

TEST_CASE_FIXTURE(Falcon,
                  "unused fractions of one block and one checkpoint in the paper's geometry") {
  // Of 3114, 2560, 2048 + 32 and 2069 KiB, 2069 are useful.
  CHECK(unused_fraction(coarse, 1, 512) == doctest::Approx((3114. - 2069) / 3114));
  CHECK(unused_fraction(paged, 1, 512) == doctest::Approx((2560. - 2069) / 2560));
  CHECK(unused_fraction(slabs, 1, 512) == doctest::Approx((2080. - 2069) / 2080));
  CHECK(unused_fraction(dual, 1, 512) == 0.0);
  CHECK(unused_fraction(paged, 0, 512) == doctest::Approx((2048. - 1557) / 2048));
}

TEST_CASE("unused fractions at 512-token blocks agree with the published table to four decimals") {
  std::size_t checked = 0;
  std::size_t coarse_checked = 0;
  for (const CsvRow& row : read_csv("layout/best_pages.csv")) {
    if (row.empty("s1_unused")) continue;  // tensor-parallel rows give the best block only
    CAPTURE(row.place());
    CAPTURE(row.text("name"));
    CAPTURE(row.text("variant"));
    const bool latent = row.flag("latent");
    const GeometryNumbers numbers{.attention_layers = row.number32("attention_layers"),
                                  .recurrent_layers = row.number32("recurrent_layers"),
                                  .kv_bytes_per_token_layer = row.number("kv_bytes"),
                                  .recurrent_bytes_layer = row.number("recurrent_bytes"),
                                  .conv_bytes_layer = row.number("conv_bytes"),
                                  .kernel_chunk_tokens = row.number32("chunk"),
                                  .attention_alignment_tokens = latent ? 64U : 16U};
    LayoutOptions options{.block_tokens = 512, .slots = SlotRule::exact};
    const PageLayout exact = layout_of(numbers, options);
    options.slots = SlotRule::power_of_two;
    const PageLayout rounded = layout_of(numbers, options);
    const auto unused = [](const PageLayout& layout, OrganizationKind kind) {
      return unused_fraction(organization_layout(layout, kind), 1, 512);
    };
    const auto close = [](double value, double printed) {
      return std::abs(value - printed) <= 0.00005 + 1e-9;
    };
    CHECK(close(unused(exact, OrganizationKind::paged_recurrent), row.real("s1_unused")));
    CHECK(close(unused(rounded, OrganizationKind::slab_packed), row.real("s2_unused")));
    CHECK(close(unused(exact, OrganizationKind::slab_packed), row.real("s2x_unused")));
    CHECK(unused(exact, OrganizationKind::static_dual_pool) < 256.0 / 10'000);
    if (exact.coarse_pages_per_block == 1) {
      CHECK(close(unused(exact, OrganizationKind::coarse_pages), row.real("s0_unused")));
      ++coarse_checked;
    }
    if (numbers.conv_bytes_layer > 0) {
      CHECK(exact.slots_per_slab == row.number("slots_exact"));
      CHECK(rounded.slots_per_slab == row.number("slots_pow2"));
      CHECK(rounded.slot_bytes == row.number("slot_pow2_bytes"));
    }
    ++checked;
  }
  CHECK(checked == 70);
  CHECK(coarse_checked >= 40);
}

namespace {

// Counts pages one by one, layer by layer.
struct NaiveCost {
  std::uint64_t attention = 0;
  std::uint64_t recurrent = 0;
  std::uint64_t useful = 0;
};

std::uint64_t pages_for(std::uint64_t bytes, std::uint64_t page) {
  std::uint64_t pages = 0;
  for (std::uint64_t held = 0; held < bytes; held += page) ++pages;
  return pages;
}

// Whole kernel blocks, as many to a page as fit.
std::uint64_t coarse_pages_for(std::uint64_t tokens, std::uint64_t page, const GeometryNumbers& n) {
  const std::uint64_t kernel_block = n.attention_alignment_tokens * n.kv_bytes_per_token_layer;
  std::uint64_t pages = 0;
  std::uint64_t room = 0;
  for (std::uint64_t placed = 0; placed < tokens; placed += n.attention_alignment_tokens) {
    if (room < kernel_block) {
      ++pages;
      room = page;
    }
    room -= kernel_block;
  }
  return pages;
}

NaiveCost naive_cost(const GeometryNumbers& n, const PageLayout& page, OrganizationKind kind,
                     const StateSet& set) {
  const std::uint64_t state = n.recurrent_bytes_layer + n.conv_bytes_layer;
  std::uint64_t composite = 256;
  while (composite < state) composite += 256;
  NaiveCost cost;
  std::uint64_t block_tokens = page.block_tokens;
  std::uint64_t block_bytes = 0;  // of one layer, unused included
  std::uint64_t state_bytes = 0;
  switch (kind) {
    case OrganizationKind::coarse_pages: {
      const std::uint64_t kernel_block = n.attention_alignment_tokens * n.kv_bytes_per_token_layer;
      while (composite < kernel_block) composite += 256;
      block_bytes = coarse_pages_for(block_tokens, composite, n) * composite;
      state_bytes = composite;
      break;
    }
    case OrganizationKind::paged_recurrent:
      block_bytes = page.page_bytes;
      state_bytes =
          (pages_for(n.recurrent_bytes_layer, page.page_bytes) + (n.conv_bytes_layer > 0 ? 1 : 0)) *
          page.page_bytes;
      break;
    case OrganizationKind::slab_packed:
      block_bytes = page.page_bytes;
      state_bytes = pages_for(n.recurrent_bytes_layer, page.page_bytes) * page.page_bytes;
      // A slab is a page in each tensor of one stack.
      if (n.conv_bytes_layer > 0) cost.recurrent = set.slabs * page.page_bytes * page.stack_layers;
      break;
    case OrganizationKind::static_dual_pool:
      if (n.attention_layers > 0) block_tokens = n.attention_alignment_tokens;
      block_bytes = block_tokens * n.kv_bytes_per_token_layer;
      state_bytes = composite;
      break;
  }
  for (std::uint32_t layer = 0; layer < n.attention_layers; ++layer) {
    cost.attention += set.attention_blocks * block_bytes;
    cost.useful += set.attention_blocks * block_tokens * n.kv_bytes_per_token_layer;
  }
  for (std::uint32_t layer = 0; layer < n.recurrent_layers; ++layer) {
    cost.recurrent += set.checkpoints * state_bytes;
    cost.useful += set.checkpoints * state;
  }
  return cost;
}

}  // namespace

TEST_CASE("useful and unused bytes make up what is allocated, in every organization") {
  CHECK(rc::check("as counted page by page", [] {
    const LayoutCase c = *any_layout_case();
    const PageLayout page = layout_or_discard(c);
    RC_PRE(page.member_pages < 5'000U);  // counting one by one takes time
    for (const OrganizationKind kind : organization_kinds) {
      const OrganizationLayout layout = organization_layout(page, kind);
      StateSet set = ideal_set(layout, *rc::gen::inRange<std::uint64_t>(0, 50),
                               *rc::gen::inRange<std::uint64_t>(0, 50));
      set.slabs += layout.has_slabs() ? *rc::gen::inRange<std::uint64_t>(0, 3) : 0;
      const StorageCost cost = storage_cost(layout, set);
      const NaiveCost naive = naive_cost(c.numbers, page, kind, set);
      RC_ASSERT(cost.attention_bytes == naive.attention);
      RC_ASSERT(cost.recurrent_bytes == naive.recurrent);
      RC_ASSERT(cost.useful_bytes == naive.useful);
      RC_ASSERT(naive.useful <= cost.bytes());
      RC_ASSERT(cost.unused_bytes() + naive.useful == naive.attention + naive.recurrent);
      RC_ASSERT(cost.units() == cost.attention_units + cost.recurrent_units());
      RC_ASSERT(cost.attention_units * layout.stack_unit_bytes(StateKind::attention) ==
                naive.attention);
    }
  }));
}

TEST_CASE("the fewest slabs are enough, and one fewer is not") {
  CHECK(rc::check("slots are placed one by one", [] {
    const LayoutCase c = *any_layout_case();
    const OrganizationLayout layout =
        organization_layout(layout_or_discard(c), OrganizationKind::slab_packed);
    const auto checkpoints = *rc::gen::inRange<std::uint64_t>(0, 100);
    std::uint64_t slabs_used = 0;
    std::uint64_t room = 0;
    for (std::uint64_t slot = 0; slot < checkpoints * layout.slots_per_checkpoint; ++slot) {
      if (room == 0) {
        ++slabs_used;
        room = layout.slots_per_slab;
      }
      --room;
    }
    RC_ASSERT(ideal_set(layout, 0, checkpoints).slabs == slabs_used);
  }));
}

TEST_CASE("the long-run unused fraction is the solver's loss") {
  CHECK(rc::check("slab_packed", [] {
    const LayoutCase c = *any_layout_case();
    const PageLayout page = layout_or_discard(c);
    const auto blocks = *rc::gen::inRange<std::uint32_t>(0, 9);
    const OrganizationLayout layout = organization_layout(page, OrganizationKind::slab_packed);
    const double expected = layout_loss(page, blocks);
    RC_ASSERT(std::abs(unused_fraction(layout, blocks, page.block_tokens) - expected) < 1e-9);
  }));
}
