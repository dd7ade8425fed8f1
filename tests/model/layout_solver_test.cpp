// The solver against published best pages, against trying every block, and each of its refusals.
#include "hybridmem/model/layout_solver.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "support/csv.hpp"
#include "support/geometries.hpp"

using namespace hybridmem;
using namespace hybridmem_test;

namespace {

InputError error_of(const GeometryNumbers& numbers, const LayoutOptions& options) {
  const auto layout = solve_layout(geometry_of(numbers), options);
  if (layout) throw std::runtime_error("a layout was found where none was expected");
  return layout.error();
}

InputError error_of(const LayoutOptions& options) {
  return error_of(falcon_numbers, options);
}

void check_error(const InputError& error, Error code, const std::string& field, std::int64_t value,
                 std::int64_t lower, std::int64_t upper) {
  CHECK(error.code == code);
  REQUIRE(error.field != nullptr);
  REQUIRE(error.expected != nullptr);
  CHECK(error.field == field);
  CHECK(error.value == value);
  CHECK(error.lower == lower);
  CHECK(error.upper == upper);
  CHECK(describe(error).find(field) == 0);
}

GeometryNumbers without_attention(GeometryNumbers numbers = falcon_numbers) {
  numbers.attention_layers = 0;
  numbers.kv_bytes_per_token_layer = 0;
  return numbers;
}

}  // namespace

TEST_CASE("the paper's layout: 512-token blocks, 512-KiB pages, three members, sixteen slots") {
  const PageLayout layout = layout_of(falcon_numbers);
  CHECK(layout.block_tokens == 512);
  CHECK(layout.checkpoint_interval_tokens == 512);
  CHECK(layout.key_tokens == 16);
  CHECK(layout.stack_layers == 44);
  CHECK(layout.page_bytes == 524'288);
  CHECK(layout.member_pages == 3);
  CHECK(layout.slot_bytes == 32'768);
  CHECK(layout.slots_per_slab == 16);
  CHECK(layout.coarse_page_bytes == 1'594'368);
  CHECK(layout.coarse_pages_per_block == 1);
  CHECK(layout.dual_block_tokens == 16);
  CHECK(layout.dual_attention_bytes == 16'384);
  CHECK(layout.dual_recurrent_bytes == 1'594'368);
  CHECK(layout.dual_interval_tokens == 1'792);
}

TEST_CASE("exact slots: 24 instead of 16 in a slab of the paper's model") {
  const PageLayout layout = layout_of(falcon_numbers, LayoutOptions{.slots = SlotRule::exact});
  CHECK(layout.slot_bytes == 21'504);
  CHECK(layout.slots_per_slab == 24);
}

TEST_CASE("the solver chooses the published best page of every model whose state divides") {
  std::size_t checked = 0;
  std::size_t sharded = 0;
  for (const CsvRow& row : read_csv("layout/best_pages.csv")) {
    CAPTURE(row.place());
    CAPTURE(row.text("name"));
    const bool latent = row.flag("latent");
    const GeometryNumbers numbers{.attention_layers = row.number32("attention_layers"),
                                  .recurrent_layers = row.number32("recurrent_layers"),
                                  .kv_bytes_per_token_layer = row.number("kv_bytes"),
                                  .recurrent_bytes_layer = row.number("recurrent_bytes"),
                                  .conv_bytes_layer = row.number("conv_bytes"),
                                  .kernel_chunk_tokens = row.number32("chunk"),
                                  .attention_alignment_tokens = latent ? 64U : 16U};
    std::vector<std::uint64_t> exact;
    for (std::uint64_t block = 16; block <= 1'024; block += 16)
      if (numbers.recurrent_bytes_layer % (block * numbers.kv_bytes_per_token_layer) == 0)
        exact.push_back(block);
    REQUIRE(!exact.empty());
    if (row.number("tensor_parallel") == 1)
      CHECK(row.numbers("exact_t") == exact);
    else
      ++sharded;
    const PageLayout layout = layout_of(numbers, LayoutOptions{.slots = SlotRule::exact});
    CHECK(layout.block_tokens == row.number("best_t"));
    CHECK(layout.page_bytes == row.number("best_t") * numbers.kv_bytes_per_token_layer);
    CHECK(layout.member_pages * layout.page_bytes == numbers.recurrent_bytes_layer);
    CHECK(layout.checkpoint_interval_tokens % layout.block_tokens == 0);
    ++checked;
  }
  CHECK(checked == 175);
  CHECK(sharded == 105);
}

TEST_CASE("a state that no block divides gets the page with the least loss") {
  // Kimi-Linear-48B-A3B, latent attention: 2^7 * 9 bytes a token.
  const GeometryNumbers numbers{.attention_layers = 7,
                                .recurrent_layers = 20,
                                .kv_bytes_per_token_layer = 1'152,
                                .recurrent_bytes_layer = 2'097'152,
                                .conv_bytes_layer = 73'728,
                                .kernel_chunk_tokens = 64,
                                .attention_alignment_tokens = 64};
  const PageLayout layout = layout_of(numbers);
  CHECK(layout.block_tokens == 64);
  CHECK(layout.page_bytes == 73'728);
  CHECK(layout.member_pages == 29);
  CHECK(layout.slots_per_slab == 1);
  // Twenty layers of 29 members and a slot's page, seven of a block.
  CHECK(layout_loss(layout, 1) ==
        doctest::Approx((20. * (30 * 73'728 - 2'170'880)) / ((20. * 30 + 7) * 73'728)));
  CHECK(layout.dual_block_tokens == 64);
  CHECK(layout.dual_interval_tokens == 1'920);  // 64 * ceil(2170880 / 1152 / 64)
}

TEST_CASE("loss in the paper's geometry, by hand") {
  const PageLayout layout = layout_of(falcon_numbers);
  // KiB of one layer: members 1536, a slot's share 32, blocks 512 each; useful 1557 + 512 each.
  CHECK(layout_loss(layout, 0) == doctest::Approx((1568. - 1557) / 1568));
  CHECK(layout_loss(layout, 1) == doctest::Approx((2080. - 2069) / 2080));
  CHECK(layout_loss(layout, 4) == doctest::Approx((3616. - 3605) / 3616));
  CHECK(layout_loss(PageLayout{}, 1) == 0.0);
}

TEST_CASE("stacks: as deep as both layer counts allow unless the caller says less") {
  CHECK(layout_of(falcon_numbers, LayoutOptions{.stack_layers = 1}).stack_layers == 1);
  CHECK(layout_of(falcon_numbers, LayoutOptions{.stack_layers = 11}).stack_layers == 11);
  CHECK(layout_of(granite_numbers).stack_layers == 4);
  CHECK(layout_of(nemotron_numbers).stack_layers == 1);
  CHECK(layout_of(without_attention()).stack_layers == 44);
  // Nothing but the stack changes.
  const PageLayout flat = layout_of(falcon_numbers, LayoutOptions{.stack_layers = 1});
  CHECK(flat.page_bytes == 524'288);
  CHECK(flat.members_per_checkpoint() == 132);
}

TEST_CASE("one layer of each kind") {
  GeometryNumbers numbers = falcon_numbers;
  numbers.attention_layers = 1;
  numbers.recurrent_layers = 1;
  const PageLayout layout = layout_of(numbers);
  CHECK(layout.page_bytes == 524'288);
  CHECK(layout.stack_layers == 1);
  CHECK(layout.members_per_checkpoint() == 3);
}

TEST_CASE("intervals are multiples of the kernel chunk and of the block") {
  GeometryNumbers numbers = falcon_numbers;
  numbers.kernel_chunk_tokens = 768;
  CHECK(layout_of(numbers).checkpoint_interval_tokens == 1'536);  // lcm(768, 512)
  numbers.kernel_chunk_tokens = 0;
  CHECK(layout_of(numbers).checkpoint_interval_tokens == 512);
  const auto asked = [](Tokens interval) {
    return layout_of(falcon_numbers, LayoutOptions{.checkpoint_interval_tokens = interval})
        .checkpoint_interval_tokens;
  };
  CHECK(asked(512) == 512);
  CHECK(asked(4'096) == 4'096);
  const auto dual = [](Tokens interval) {
    return layout_of(falcon_numbers, LayoutOptions{.dual_interval_tokens = interval})
        .dual_interval_tokens;
  };
  CHECK(dual(128) == 128);
  CHECK(dual(1'664) == 1'664);
}

TEST_CASE("StaticDualPool's interval is where KV outweighs a composite") {
  // ceil(1074688 / 2048) = 525 tokens, in steps of 256.
  CHECK(layout_of(granite_numbers).dual_interval_tokens == 768);
  // ceil(2134016 / 1024) = 2084 tokens, in steps of 128.
  CHECK(layout_of(nemotron_numbers).dual_interval_tokens == 2'176);
  GeometryNumbers numbers = granite_numbers;
  numbers.conv_bytes_layer = 0;  // exactly 512 tokens
  CHECK(layout_of(numbers).dual_interval_tokens == 512);
}

TEST_CASE("keys of 32 tokens make blocks multiples of 32") {
  const LayoutOptions options{.key_tokens = 32};
  CHECK(layout_of(falcon_numbers, options).key_tokens == 32);
  CHECK(layout_of(falcon_numbers, options).block_tokens == 512);
  // 5 * 16 tokens divide this state and no other block does: lost to keys of 32.
  GeometryNumbers numbers = falcon_numbers;
  numbers.recurrent_bytes_layer = 80 * 1'024;
  CHECK(layout_of(numbers).block_tokens == 80);
  CHECK(layout_of(numbers, options).block_tokens % 32 == 0);
  CHECK(layout_of(numbers, options).dual_block_tokens == 16);
}

TEST_CASE("latent attention: blocks and native units of 64 tokens") {
  GeometryNumbers numbers = falcon_numbers;
  numbers.attention_alignment_tokens = 64;
  PageLayout layout = layout_of(numbers);
  CHECK(layout.block_tokens == 512);
  CHECK(layout.dual_block_tokens == 64);
  CHECK(layout.dual_attention_bytes == 65'536);
  layout = layout_of(numbers, LayoutOptions{.max_block_tokens = 100});
  CHECK(layout.block_tokens == 64);
  // The smallest block is offered even where the limit lies below it.
  layout = layout_of(numbers, LayoutOptions{.max_block_tokens = 16});
  CHECK(layout.block_tokens == 64);
}

TEST_CASE("a coarse page holds whole kernel blocks") {
  GeometryNumbers numbers = falcon_numbers;
  numbers.recurrent_bytes_layer = 1'000;
  numbers.conv_bytes_layer = 200;
  PageLayout layout = layout_of(numbers);
  CHECK(layout.coarse_page_bytes == 16'384);  // a kernel block is larger than the state
  CHECK(layout.coarse_pages_per_block == layout.block_tokens / 16);
  numbers.recurrent_bytes_layer = 31 * 1'024;
  numbers.conv_bytes_layer = 0;
  layout = layout_of(numbers, LayoutOptions{.block_tokens = 512});
  CHECK(layout.coarse_page_bytes == 31'744);  // 31 tokens: one kernel block of 16
  CHECK(layout.coarse_pages_per_block == 32);
  numbers.recurrent_bytes_layer = 1'000'001;
  CHECK(layout_of(numbers).coarse_page_bytes == 1'000'192);
  CHECK(layout_of(numbers).dual_recurrent_bytes == 1'000'192);
}

TEST_CASE("without attention layers the block is the interval and the page divides the state") {
  const GeometryNumbers numbers = without_attention();
  PageLayout layout = layout_of(numbers);
  CHECK(layout.block_tokens == 512);
  CHECK(layout.checkpoint_interval_tokens == 512);
  CHECK(layout.page_bytes == numbers.recurrent_bytes_layer);
  CHECK(layout.member_pages == 1);
  CHECK(layout.coarse_page_bytes == 1'594'368);
  CHECK(layout.dual_attention_bytes == 0);
  CHECK(layout.dual_recurrent_bytes == 1'594'368);
  CHECK(layout.dual_interval_tokens == 512);
  layout = layout_of(numbers, LayoutOptions{.checkpoint_interval_tokens = 2'048});
  CHECK(layout.block_tokens == 2'048);
  CHECK(layout.checkpoint_interval_tokens == 2'048);
  CHECK(layout.dual_interval_tokens == 2'048);
  // The chunk moves the interval: the least multiple of lcm(chunk, key) at or above 512.
  GeometryNumbers other = numbers;
  other.kernel_chunk_tokens = 96;
  CHECK(layout_of(other).block_tokens == 576);
  other.kernel_chunk_tokens = 100;
  CHECK(layout_of(other).block_tokens == 800);
  CHECK(layout_of(other, LayoutOptions{.key_tokens = 32}).block_tokens == 800);
  check_error(error_of(numbers, {.checkpoint_interval_tokens = 700}), Error::layout,
              "checkpoint_interval_tokens", 700, 640, 768);
}

TEST_CASE("without attention layers a page may still be asked for") {
  const PageLayout layout = layout_of(without_attention(), LayoutOptions{.page_bytes = 262'144});
  CHECK(layout.page_bytes == 262'144);
  CHECK(layout.member_pages == 6);
  CHECK(layout.slots_per_slab == 12);
  CHECK(layout.block_tokens == 512);
}

TEST_CASE("a window alone: no members, slots of whole pages") {
  GeometryNumbers numbers = falcon_numbers;
  numbers.recurrent_bytes_layer = 0;
  numbers.conv_bytes_layer = 4'096;
  PageLayout layout = layout_of(numbers);
  CHECK(layout.member_pages == 0);
  CHECK(layout.block_tokens == 512);
  CHECK(layout.slots_per_slab == 128);
  CHECK(layout.coarse_page_bytes == 16'384);  // a kernel block is larger than the window
  CHECK(layout.dual_recurrent_bytes == 4'096);
  numbers = without_attention(numbers);
  layout = layout_of(numbers);
  CHECK(layout.page_bytes == 4'096);
  CHECK(layout.slots_per_slab == 1);
  numbers.conv_bytes_layer = 21'504;
  CHECK(layout_loss(layout_of(numbers, {.slots = SlotRule::exact}), 1) == 0.0);
  CHECK(layout_of(numbers, {.slots = SlotRule::power_of_two}).page_bytes == 32'768);
}

TEST_CASE("no window: no slots") {
  GeometryNumbers numbers = falcon_numbers;
  numbers.conv_bytes_layer = 0;
  const PageLayout layout = layout_of(numbers);
  CHECK(layout.page_bytes == 524'288);
  CHECK(layout.slot_bytes == 0);
  CHECK(layout.slots_per_slab == 0);
  CHECK(layout_loss(layout, 1) == 0.0);
}

TEST_CASE("asked blocks and pages are taken as they are") {
  PageLayout layout = layout_of(falcon_numbers, LayoutOptions{.block_tokens = 48});
  CHECK(layout.page_bytes == 49'152);
  CHECK(layout.member_pages == 32);
  layout = layout_of(falcon_numbers, LayoutOptions{.page_bytes = 100'096});
  CHECK(layout.block_tokens == 96);  // 97 tokens, in whole kernel blocks
  CHECK(layout.member_pages == 16);
  layout = layout_of(falcon_numbers, LayoutOptions{.block_tokens = 64, .page_bytes = 65'792});
  CHECK(layout.block_tokens == 64);
  CHECK(layout.page_bytes == 65'792);
  // An asked block may exceed the solver's limit.
  layout = layout_of(falcon_numbers, LayoutOptions{.block_tokens = 1'536});
  CHECK(layout.member_pages == 1);
  CHECK(layout.page_bytes == 1'572'864);
}

TEST_CASE("an interval off the grid is refused with both neighbours") {
  check_error(error_of({.checkpoint_interval_tokens = 700}), Error::layout,
              "checkpoint_interval_tokens", 700, 512, 1'024);
  CHECK(describe(error_of({.checkpoint_interval_tokens = 700})) ==
        "checkpoint_interval_tokens = 700: expected a multiple of lcm(kernel chunk, block tokens); "
        "nearest: 512 or 1024");
  check_error(error_of({.checkpoint_interval_tokens = 100}), Error::layout,
              "checkpoint_interval_tokens", 100, 0, 512);
  check_error(error_of({.dual_interval_tokens = 1'700}), Error::layout, "dual_interval_tokens",
              1'700, 1'664, 1'792);
  CHECK(describe(error_of({.dual_interval_tokens = 1'700})) ==
        "dual_interval_tokens = 1700: expected a multiple of lcm(kernel chunk, attention "
        "alignment); nearest: 1664 or 1792");
}

TEST_CASE("options off their grid or out of range are refused by name") {
  check_error(error_of({.key_tokens = 0}), Error::bad_argument, "key_tokens", 0, 0, 0);
  check_error(error_of({.key_tokens = 64}), Error::bad_argument, "key_tokens", 64, 0, 0);
  check_error(error_of({.page_bytes = 1'000}), Error::layout, "page_bytes", 1'000, 768, 1'024);
  check_error(error_of({.page_bytes = 1}), Error::layout, "page_bytes", 1, 0, 256);
  const std::uint64_t tib = std::uint64_t{1} << 40U;
  check_error(error_of({.page_bytes = tib + 256}), Error::overflow, "page_bytes",
              static_cast<std::int64_t>(tib + 256), 0, 0);
  const auto at_most_tokens = solve_layout(geometry_of(falcon_numbers), {.page_bytes = tib / 64});
  REQUIRE(at_most_tokens);
  CHECK(at_most_tokens->block_tokens == 1U << 24U);
  check_error(error_of({.page_bytes = tib / 64 + 16'384}), Error::overflow, "page_bytes",
              static_cast<std::int64_t>(tib / 64 + 16'384), 0, 0);
  check_error(error_of({.block_tokens = 100}), Error::layout, "block_tokens", 100, 96, 112);
  check_error(error_of({.block_tokens = 8}), Error::layout, "block_tokens", 8, 0, 16);
  check_error(error_of({.block_tokens = 48, .key_tokens = 32}), Error::layout, "block_tokens", 48,
              32, 64);
  check_error(error_of({.block_tokens = (1U << 24U) + 16}), Error::overflow, "block_tokens",
              (1 << 24) + 16, 0, 0);
  CHECK(solve_layout(geometry_of(falcon_numbers), {.block_tokens = 1U << 24U}).has_value());
  check_error(error_of({.max_block_tokens = 0}), Error::bad_argument, "max_block_tokens", 0, 0, 0);
  check_error(error_of({.max_block_tokens = 65'537}), Error::bad_argument, "max_block_tokens",
              65'537, 0, 0);
  CHECK(solve_layout(geometry_of(falcon_numbers), {.max_block_tokens = 65'536}).has_value());
  check_error(error_of({.attention_blocks_per_checkpoint = 1'000'001}), Error::bad_argument,
              "attention_blocks_per_checkpoint", 1'000'001, 0, 0);
  CHECK(solve_layout(geometry_of(falcon_numbers), {.attention_blocks_per_checkpoint = 1'000'000})
            .has_value());
  check_error(error_of(without_attention(), {.block_tokens = 512}), Error::layout, "block_tokens",
              512, 0, 0);
}

TEST_CASE("a stack that does not divide both layer counts is refused with its neighbours") {
  check_error(error_of({.stack_layers = 5}), Error::not_divisible, "stack_layers", 5, 4, 11);
  check_error(error_of({.stack_layers = 3}), Error::not_divisible, "stack_layers", 3, 2, 4);
  check_error(error_of({.stack_layers = 43}), Error::not_divisible, "stack_layers", 43, 22, 44);
  check_error(error_of({.stack_layers = 45}), Error::not_divisible, "stack_layers", 45, 44, 0);
  check_error(error_of({.stack_layers = std::numeric_limits<std::uint32_t>::max()}),
              Error::not_divisible, "stack_layers", std::numeric_limits<std::uint32_t>::max(), 44,
              0);
  check_error(error_of(nemotron_numbers, {.stack_layers = 23}), Error::not_divisible,
              "stack_layers", 23, 1, 0);
}

TEST_CASE("a page too small for what it must hold is refused with the least that would do") {
  // One kernel block of attention.
  check_error(error_of({.page_bytes = 8'192}), Error::layout, "page_bytes", 8'192, 0, 16'384);
  // The block that was asked.
  check_error(error_of({.block_tokens = 512, .page_bytes = 524'032}), Error::layout, "page_bytes",
              524'032, 0, 524'288);
  // One slot.
  check_error(error_of({.page_bytes = 20'480}), Error::layout, "page_bytes", 20'480, 0, 32'768);
  check_error(error_of({.page_bytes = 20'480, .slots = SlotRule::exact}), Error::layout,
              "page_bytes", 20'480, 0, 21'504);
  check_error(error_of(without_attention(), {.page_bytes = 256}), Error::layout, "page_bytes", 256,
              0, 21'504);
  // More members than a table should hold.
  GeometryNumbers numbers = without_attention();
  numbers.conv_bytes_layer = 0;
  numbers.recurrent_bytes_layer = 65'536 * 256;
  CHECK(layout_of(numbers, {.page_bytes = 256}).member_pages == 65'536);
  numbers.recurrent_bytes_layer += 1;
  check_error(error_of(numbers, {.page_bytes = 256}), Error::layout, "page_bytes", 256, 0, 512);
  // Left to choose, no block up to the limit holds a slot.
  numbers = falcon_numbers;
  numbers.conv_bytes_layer = 40'000;
  check_error(error_of(numbers, {.max_block_tokens = 32}), Error::layout, "max_block_tokens", 32, 0,
              0);
  CHECK(layout_of(numbers, {.max_block_tokens = 64}).block_tokens <= 64);
}

TEST_CASE("intervals beyond 2^30 tokens are refused, whatever they wrap around to") {
  GeometryNumbers numbers = falcon_numbers;
  numbers.kernel_chunk_tokens = std::numeric_limits<Tokens>::max();  // odd: lcm 512 times as large
  check_error(error_of(numbers, {}), Error::overflow, "checkpoint_interval_tokens",
              (std::int64_t{1} << 32) * 512 - 512, 0, 0);
  check_error(error_of(without_attention(numbers), {}), Error::overflow,
              "checkpoint_interval_tokens", (std::int64_t{1} << 32) * 16 - 16, 0, 0);
  numbers.kernel_chunk_tokens = 1U << 30U;
  CHECK(layout_of(numbers).checkpoint_interval_tokens == 1U << 30U);
  numbers.kernel_chunk_tokens = 1U << 31U;
  check_error(error_of(numbers, {}), Error::overflow, "checkpoint_interval_tokens",
              std::int64_t{1} << 31, 0, 0);
  // KV so light that StaticDualPool would never break even.
  numbers = falcon_numbers;
  numbers.kv_bytes_per_token_layer = 1;
  numbers.recurrent_bytes_layer = (std::uint64_t{1} << 30U) + 1;
  numbers.conv_bytes_layer = 0;
  check_error(error_of(numbers, {.block_tokens = 1U << 24U}), Error::overflow,
              "dual_interval_tokens", (std::int64_t{1} << 30) + 128, 0, 0);
}

TEST_CASE("bytes beyond any memory are refused, not wrapped around") {
  // 2^24 tokens of 2^24 bytes in each of 65536 layers: 2^64 bytes a unit.
  const GeometryNumbers numbers{65'536, 65'536, 1U << 24U, 1'024, 0, 0, 16};
  check_error(error_of(numbers, {.block_tokens = 1U << 24U}), Error::overflow, "block_tokens",
              1 << 24, 0, 0);
  GeometryNumbers aligned = falcon_numbers;
  aligned.attention_alignment_tokens = std::numeric_limits<Tokens>::max();
  check_error(error_of(aligned, {}), Error::bad_argument, "attention_alignment_tokens",
              std::numeric_limits<Tokens>::max(), 0, 0);
  StateGeometry unaligned = geometry_of(falcon_numbers);
  unaligned.attention_alignment_tokens = 0;
  const auto refused = solve_layout(unaligned);
  REQUIRE_FALSE(refused);
  check_error(refused.error(), Error::bad_argument, "attention_alignment_tokens", 0, 0, 0);
}

TEST_CASE("within the tolerance an exact division goes before a larger page") {
  // 1009 kernel blocks, a prime: one a page divides exactly; 23 a page (44 pages) lose 3 in 1035.
  GeometryNumbers numbers{.attention_layers = 1,
                          .recurrent_layers = 1,
                          .kv_bytes_per_token_layer = 256,
                          .recurrent_bytes_layer = 1'009 * 16 * 256};
  CHECK(layout_of(numbers).block_tokens == 16);
  CHECK(layout_of(numbers).member_pages == 1'009);
  // 1010 more bytes and nothing divides: now the largest page within the tolerance.
  numbers.recurrent_bytes_layer += 1'010;
  CHECK(layout_of(numbers).block_tokens == 23 * 16);
  CHECK(layout_of(numbers).member_pages == 44);
}

TEST_CASE("pages of the same size: the one with more tokens") {
  // A token of one byte: sixteen blocks share each 256-byte page. Attention weighs next to nothing.
  const GeometryNumbers numbers{.attention_layers = 1,
                                .recurrent_layers = 100,
                                .kv_bytes_per_token_layer = 1,
                                .recurrent_bytes_layer = 512};
  const PageLayout layout = layout_of(numbers);
  CHECK(layout.page_bytes == 512);
  CHECK(layout.block_tokens == 512);
}

namespace {

// One candidate, with its loss worked out from the definition of a layer's bytes.
struct NaiveCandidate {
  std::uint64_t block = 0;
  std::uint64_t page = 0;
  double loss = 0;
  bool exact = false;
};

std::uint64_t multiple_of_256(std::uint64_t bytes) {
  while (bytes % 256 != 0) ++bytes;
  return bytes;
}

std::optional<NaiveCandidate> naive_candidate(const GeometryNumbers& n, std::uint64_t block,
                                              std::uint64_t page, bool power_of_two,
                                              std::uint64_t blocks) {
  std::uint64_t slot = multiple_of_256(n.conv_bytes_layer);
  if (power_of_two)
    for (slot = 1; slot < n.conv_bytes_layer;) slot *= 2;
  if (n.conv_bytes_layer > 0 && slot > page) return std::nullopt;
  const double members =
      std::ceil(static_cast<double>(n.recurrent_bytes_layer) / static_cast<double>(page));
  if (members > 65'536) return std::nullopt;
  const auto size = static_cast<double>(page);
  const double share = n.conv_bytes_layer > 0 ? size / static_cast<double>(page / slot) : 0;
  const double attention = static_cast<double>(blocks) * n.attention_layers;
  const double allocated = n.recurrent_layers * (members * size + share) + attention * size;
  const double useful =
      n.recurrent_layers * static_cast<double>(n.recurrent_bytes_layer + n.conv_bytes_layer) +
      attention * static_cast<double>(block * n.kv_bytes_per_token_layer);
  return NaiveCandidate{block, page, 1 - useful / allocated, n.recurrent_bytes_layer % page == 0};
}

std::vector<NaiveCandidate> naive_candidates(const LayoutCase& c, const PageLayout& chosen) {
  const GeometryNumbers& n = c.numbers;
  const bool power_of_two = c.options.slots == SlotRule::power_of_two;
  std::vector<NaiveCandidate> all;
  const auto add = [&](std::uint64_t block, std::uint64_t page) {
    const auto candidate =
        naive_candidate(n, block, page, power_of_two, c.options.attention_blocks_per_checkpoint);
    if (candidate) all.push_back(*candidate);
  };
  if (n.attention_layers > 0) {
    bool any = false;  // the smallest block is tried whatever the limit
    for (std::uint64_t block = 1; block <= c.options.max_block_tokens || !any; ++block) {
      if (block % n.attention_alignment_tokens != 0 || block % c.options.key_tokens != 0) continue;
      add(block, multiple_of_256(block * n.kv_bytes_per_token_layer));
      any = true;
    }
  } else {
    std::uint64_t whole = n.recurrent_bytes_layer;
    if (whole == 0) {  // one slot
      whole = multiple_of_256(n.conv_bytes_layer);
      if (power_of_two)
        for (whole = 1; whole < n.conv_bytes_layer;) whole *= 2;
    }
    for (std::uint64_t parts = 1; parts <= 16; ++parts)
      add(chosen.block_tokens, multiple_of_256((whole + parts - 1) / parts));
  }
  return all;
}

}  // namespace

TEST_CASE("no page that the solver could have chosen is better than the one it chose") {
  CHECK(rc::check("every candidate", [] {
    LayoutCase c = *any_layout_case();
    c.options.block_tokens = 0;
    c.options.page_bytes = 0;
    const auto layout = solve_layout(geometry_of(c.numbers), c.options);
    const auto candidates = naive_candidates(c, layout ? *layout : PageLayout{});
    if (!layout) {
      RC_ASSERT(candidates.empty());
      RC_ASSERT(layout.error().code == Error::layout);
      return;
    }
    RC_ASSERT(!candidates.empty());
    double least = 1;
    for (const NaiveCandidate& candidate : candidates) least = std::min(least, candidate.loss);
    const NaiveCandidate* best = nullptr;
    bool borderline = false;  // within rounding of the tolerance either choice is right
    for (const NaiveCandidate& candidate : candidates) {
      borderline |= std::abs(candidate.loss - least - 0.003) < 1e-9;
      if (candidate.loss > least + 0.003) continue;
      if (best == nullptr || (candidate.exact && !best->exact) ||
          (candidate.exact == best->exact && candidate.page >= best->page))
        best = &candidate;
    }
    RC_PRE(!borderline);
    RC_ASSERT(layout->page_bytes == best->page);
    RC_ASSERT(layout->block_tokens == best->block);
    RC_ASSERT(std::abs(layout_loss(*layout, c.options.attention_blocks_per_checkpoint) -
                       best->loss) < 1e-9);
  }));
}

TEST_CASE("every layout keeps the rules between block, page, members, slots, keys and intervals") {
  CHECK(rc::check("rules", [] {
    const LayoutCase c = *any_layout_case();
    const PageLayout layout = layout_or_discard(c);
    const GeometryNumbers& n = c.numbers;
    const std::uint64_t block = layout.block_tokens;
    const std::uint64_t chunk = std::max<std::uint64_t>(n.kernel_chunk_tokens, 1);
    // Block and keys.
    RC_ASSERT(block > 0U);
    RC_ASSERT(layout.key_tokens == c.options.key_tokens);
    RC_ASSERT(block % layout.key_tokens == 0U);
    if (n.attention_layers > 0) {
      RC_ASSERT(block % n.attention_alignment_tokens == 0U);
      RC_ASSERT(block * n.kv_bytes_per_token_layer <= layout.page_bytes);
    }
    if (c.options.block_tokens != 0) RC_ASSERT(block == c.options.block_tokens);
    if (c.options.page_bytes != 0) RC_ASSERT(layout.page_bytes == c.options.page_bytes);
    RC_ASSERT(layout.page_bytes % 256 == 0U);
    // Members hold the recurrent state, and one fewer would not.
    RC_ASSERT(layout.member_pages * layout.page_bytes >= n.recurrent_bytes_layer);
    if (layout.member_pages > 0)
      RC_ASSERT((layout.member_pages - 1) * layout.page_bytes < n.recurrent_bytes_layer);
    else
      RC_ASSERT(n.recurrent_bytes_layer == 0U);
    // Slots hold the window, fill the page and follow their rule.
    if (n.conv_bytes_layer > 0) {
      RC_ASSERT(layout.slot_rule != SlotRule::automatic);
      RC_ASSERT(layout.slot_bytes >= n.conv_bytes_layer);
      RC_ASSERT(layout.slots_per_slab * layout.slot_bytes <= layout.page_bytes);
      RC_ASSERT((layout.slots_per_slab + 1) * layout.slot_bytes > layout.page_bytes);
      if (layout.slot_rule == SlotRule::power_of_two) {
        RC_ASSERT((layout.slot_bytes & (layout.slot_bytes - 1)) == 0U);
        RC_ASSERT(layout.slot_bytes < 2 * n.conv_bytes_layer);
      } else {
        RC_ASSERT(layout.slot_bytes % 256 == 0U);
        RC_ASSERT(layout.slot_bytes < n.conv_bytes_layer + 256);
      }
      if (c.options.slots != SlotRule::automatic) RC_ASSERT(layout.slot_rule == c.options.slots);
    } else {
      RC_ASSERT(layout.slot_bytes == 0U);
      RC_ASSERT(layout.slots_per_slab == 0U);
    }
    // Intervals.
    RC_ASSERT(layout.checkpoint_interval_tokens % block == 0U);
    RC_ASSERT(layout.checkpoint_interval_tokens % chunk == 0U);
    RC_ASSERT(layout.checkpoint_interval_tokens == std::lcm(block, chunk));
    const std::uint64_t quantum = std::lcm(chunk, std::uint64_t{n.attention_alignment_tokens});
    RC_ASSERT(layout.dual_interval_tokens % quantum == 0U);
    const std::uint64_t state = n.recurrent_bytes_layer + n.conv_bytes_layer;
    if (n.attention_layers > 0) {
      // KV of the interval weighs as much as a composite; with one quantum less it would not, or
      // the interval would lie below the one of the other organizations.
      RC_ASSERT(layout.dual_interval_tokens * n.kv_bytes_per_token_layer >= state);
      RC_ASSERT(layout.dual_interval_tokens >= layout.checkpoint_interval_tokens);
      RC_ASSERT((layout.dual_interval_tokens - quantum) * n.kv_bytes_per_token_layer < state ||
                layout.dual_interval_tokens < layout.checkpoint_interval_tokens + quantum);
    } else {
      RC_ASSERT(block == layout.checkpoint_interval_tokens);
    }
    // The native units of StaticDualPool and the composite.
    RC_ASSERT(layout.dual_block_tokens == n.attention_alignment_tokens);
    RC_ASSERT(layout.dual_attention_bytes ==
              n.attention_alignment_tokens * n.kv_bytes_per_token_layer);
    RC_ASSERT(layout.dual_recurrent_bytes == multiple_of_256(state));
    RC_ASSERT(layout.coarse_page_bytes ==
              multiple_of_256(std::max(state, layout.dual_attention_bytes)));
  }));
}

TEST_CASE("asked intervals: taken if on the grid, otherwise both neighbours are on it") {
  CHECK(rc::check("neighbours", [] {
    LayoutCase c = *any_layout_case();
    const PageLayout base = layout_or_discard(c);
    RC_PRE(c.numbers.attention_layers > 0U);
    const std::uint64_t quantum = base.checkpoint_interval_tokens;
    c.options.checkpoint_interval_tokens = *rc::gen::inRange<Tokens>(1, 100'000);
    const std::uint64_t asked = c.options.checkpoint_interval_tokens;
    const auto layout = solve_layout(geometry_of(c.numbers), c.options);
    if (asked % quantum == 0) {
      RC_ASSERT(layout.has_value());
      RC_ASSERT(layout->checkpoint_interval_tokens == asked);
      return;
    }
    RC_ASSERT(!layout.has_value());
    RC_ASSERT(layout.error().code == Error::layout);
    const auto lower = static_cast<std::uint64_t>(layout.error().lower);
    const auto upper = static_cast<std::uint64_t>(layout.error().upper);
    RC_ASSERT(lower % quantum == 0U);
    RC_ASSERT(upper % quantum == 0U);
    RC_ASSERT(lower < asked);
    RC_ASSERT(asked < upper);
    RC_ASSERT(upper - lower == quantum);
  }));
}
