// PageLayout as plain data: counts over stacks, and what sits outside the budget.
#include "hybridmem/model/page_layout.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "support/geometries.hpp"

using namespace hybridmem;
using namespace hybridmem_test;

static_assert(std::is_trivially_copyable_v<PageLayout>);

TEST_CASE("names of slot rules") {
  CHECK(std::string(name_of(SlotRule::automatic)) == "automatic");
  CHECK(std::string(name_of(SlotRule::power_of_two)) == "pow2");
  CHECK(std::string(name_of(SlotRule::exact)) == "exact");
  CHECK(std::string(name_of(static_cast<SlotRule>(9))) == "unknown");
}

TEST_CASE("the paper's layout counts one stack of 44 layers") {
  const PageLayout layout = layout_of(falcon_numbers);
  CHECK(layout.stack_layers == 44);
  CHECK(layout.attention_stacks() == 1);
  CHECK(layout.recurrent_stacks() == 1);
  CHECK(layout.members_per_checkpoint() == 3);
  CHECK(layout.slots_per_checkpoint() == 1);
  CHECK(layout.has_attention());
  CHECK(layout.has_recurrent());
  CHECK(layout.has_convolution());
}

TEST_CASE("Nemotron-3-Nano: 92 members and 23 slots a checkpoint, six pages a block") {
  const PageLayout layout = layout_of(nemotron_numbers);
  CHECK(layout.stack_layers == 1);
  CHECK(layout.attention_stacks() == 6);
  CHECK(layout.recurrent_stacks() == 23);
  CHECK(layout.member_pages == 4);
  CHECK(layout.members_per_checkpoint() == 92);
  CHECK(layout.slots_per_checkpoint() == 23);
}

TEST_CASE("a layout without one of the kinds says so") {
  GeometryNumbers numbers = falcon_numbers;
  numbers.conv_bytes_layer = 0;
  PageLayout layout = layout_of(numbers);
  CHECK_FALSE(layout.has_convolution());
  CHECK(layout.slots_per_checkpoint() == 0);
  CHECK(layout.slot_bytes == 0);
  numbers = falcon_numbers;
  numbers.recurrent_bytes_layer = 0;
  layout = layout_of(numbers);
  CHECK_FALSE(layout.has_recurrent());
  CHECK(layout.members_per_checkpoint() == 0);
  CHECK(layout.slots_per_checkpoint() == 1);
  numbers = falcon_numbers;
  numbers.attention_layers = 0;
  layout = layout_of(numbers);
  CHECK_FALSE(layout.has_attention());
  CHECK(layout.attention_stacks() == 0);
  CHECK(layout.coarse_pages_per_block == 0);
}

TEST_CASE("outside the budget: gather arena, draft states and tables of the paper's model") {
  const OutsideBudget outside = outside_budget(layout_of(falcon_numbers));
  CHECK(outside.gather_arena_bytes_per_row == 70'152'192);
  CHECK(outside.draft_state_bytes_per_token == 70'152'192);
  CHECK(outside.draft_kv_bytes_per_token == 0);
  CHECK(outside.table_bytes_per_block == 4);
  CHECK(outside.table_bytes_per_sequence == 2 * 4 * (3 + 1));
}

TEST_CASE("outside the budget: tables grow with the stacks, draft KV with the draft layers") {
  PageLayout layout = layout_of(nemotron_numbers);
  layout.geometry.draft_attention_layers = 2;
  const OutsideBudget outside = outside_budget(layout);
  CHECK(outside.gather_arena_bytes_per_row == 23 * (2'097'152 + 36'864));
  CHECK(outside.draft_kv_bytes_per_token == 2 * 1'024);
  CHECK(outside.table_bytes_per_block == 4 * 6);
  CHECK(outside.table_bytes_per_sequence == 2 * 4 * (92 + 23));
}

TEST_CASE("members and slots over all stacks cover every layer once") {
  CHECK(rc::check("stacks * depth = layers", [] {
    const LayoutCase c = *any_layout_case();
    const PageLayout layout = layout_or_discard(c);
    RC_ASSERT(layout.attention_stacks() * layout.stack_layers == c.numbers.attention_layers);
    RC_ASSERT(layout.recurrent_stacks() * layout.stack_layers == c.numbers.recurrent_layers);
    RC_ASSERT(layout.members_per_checkpoint() * layout.stack_layers ==
              layout.member_pages * c.numbers.recurrent_layers);
    RC_ASSERT(layout.slots_per_checkpoint() * layout.stack_layers ==
              (c.numbers.conv_bytes_layer > 0 ? c.numbers.recurrent_layers : 0));
    RC_ASSERT(layout.has_recurrent() == (c.numbers.recurrent_bytes_layer > 0));
    RC_ASSERT(layout.has_convolution() == (c.numbers.conv_bytes_layer > 0));
    const OutsideBudget outside = outside_budget(layout);
    RC_ASSERT(outside.gather_arena_bytes_per_row == layout.geometry.checkpoint_bytes());
    RC_ASSERT(outside.table_bytes_per_block == 4 * layout.attention_stacks());
  }));
}
