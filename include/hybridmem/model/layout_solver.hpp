// solve_layout: chooses block, page, members, slots and intervals for a geometry, or checks the
// caller's.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>

#include "hybridmem/core/result.hpp"
#include "hybridmem/model/page_layout.hpp"
#include "hybridmem/model/paper_geometry.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// What the caller fixes; zero leaves a choice to the solver.
struct LayoutOptions {
  Tokens block_tokens = 0;       ///< a multiple of the attention alignment and of `key_tokens`
  std::uint64_t page_bytes = 0;  ///< a multiple of 256
  SlotRule slots = SlotRule::automatic;
  Tokens checkpoint_interval_tokens = 0;  ///< a multiple of lcm(kernel chunk, block_tokens)
  Tokens dual_interval_tokens = 0;        ///< a multiple of lcm(kernel chunk, attention alignment)
  Tokens key_tokens = 16;                 ///< 16 or 32; the same for every tensor-parallel size
  Tokens max_block_tokens = 512;          ///< the largest block the solver may choose
  std::uint32_t stack_layers = 0;         ///< a common divisor of the layer counts; 0: the greatest
  std::uint32_t attention_blocks_per_checkpoint = 1;  ///< the mix in which unused bytes are counted
};

/// Bytes of a page are a multiple of this, as are exact slots.
inline constexpr std::uint64_t page_granularity_bytes = 256;

/// No page is larger than this: 1 TiB.
inline constexpr std::uint64_t max_page_bytes = std::uint64_t{1} << 40U;

/// Layouts whose unused fractions differ by no more than this are taken as equally good.
inline constexpr double layout_tolerance = 0.003;

/// The fraction of allocated bytes that `SlabPacked` leaves unused for one checkpoint and
/// `blocks` attention blocks over all layers, a slab's page being shared out among its slots. This
/// is what the solver minimises. Constant time.
constexpr double layout_loss(const PageLayout& layout, std::uint32_t blocks) noexcept {
  const StateGeometry& geometry = layout.geometry;
  const auto page = static_cast<double>(layout.page_bytes);
  const double recurrent_layers = geometry.recurrent_layers;
  const double attention_layers = geometry.attention_layers;
  const double conv =
      layout.has_convolution() ? page / static_cast<double>(layout.slots_per_slab) : 0.0;
  const double allocated =
      recurrent_layers * (layout.member_pages * page + conv) + attention_layers * blocks * page;
  const double useful = recurrent_layers * static_cast<double>(geometry.checkpoint_bytes_layer()) +
                        attention_layers * blocks * static_cast<double>(layout.block_tokens) *
                            static_cast<double>(geometry.kv_bytes_per_token_layer);
  return allocated > 0 ? (allocated - useful) / allocated : 0.0;
}

namespace detail {

constexpr std::int64_t as_signed(std::uint64_t value) noexcept {
  return static_cast<std::int64_t>(
      std::min(value, std::uint64_t{std::numeric_limits<std::int64_t>::max()}));
}

/// The error of a value that should have been a multiple of `step`, with both neighbours.
constexpr InputError not_a_multiple(const char* field, std::uint64_t value, std::uint64_t step,
                                    const char* expected) noexcept {
  const std::uint64_t below = value / step * step;
  return {Error::layout,          field, as_signed(value), expected, as_signed(below),
          as_signed(below + step)};
}

/// Bytes of a slot for `conv` bytes of convolution state.
constexpr std::uint64_t slot_bytes_of(std::uint64_t conv, SlotRule rule) noexcept {
  return rule == SlotRule::power_of_two ? std::bit_ceil(conv)
                                        : round_up(conv, page_granularity_bytes);
}

/// Fills in what follows from the page: members, slots, coarse pages. Errors: `layout` when a page
/// cannot hold a block or a slot.
constexpr Result<PageLayout, InputError> with_page(PageLayout layout, Tokens block_tokens,
                                                   std::uint64_t page_bytes, SlotRule rule) {
  const StateGeometry& geometry = layout.geometry;
  const std::uint64_t recurrent = geometry.recurrent_bytes_layer();
  const std::uint64_t conv = geometry.conv_bytes_layer();
  const std::uint64_t token = geometry.kv_bytes_per_token_layer;
  if (block_tokens * token > page_bytes)
    return InputError{Error::layout,
                      "page_bytes",
                      as_signed(page_bytes),
                      "room for one attention block",
                      0,
                      as_signed(round_up(block_tokens * token, page_granularity_bytes))};
  layout.block_tokens = block_tokens;
  layout.page_bytes = page_bytes;
  const std::uint64_t members = divide_up(recurrent, page_bytes);
  if (members > 65'536)
    return InputError{
        Error::layout,
        "page_bytes",
        as_signed(page_bytes),
        "at most 65536 member pages for one layer's recurrent state",
        0,
        as_signed(round_up(divide_up(recurrent, std::uint64_t{65'536}), page_granularity_bytes))};
  layout.member_pages = static_cast<std::uint32_t>(members);
  layout.slot_rule = rule;
  if (conv > 0) {
    layout.slot_bytes = slot_bytes_of(conv, rule);
    if (layout.slot_bytes > page_bytes)
      return InputError{Error::layout,
                        "page_bytes",
                        as_signed(page_bytes),
                        "room for one convolution slot",
                        0,
                        as_signed(layout.slot_bytes)};
    layout.slots_per_slab = static_cast<std::uint32_t>(page_bytes / layout.slot_bytes);
  }
  if (layout.has_attention()) {
    // A kernel block must lie in one page: a coarse page holds whole multiples of the alignment.
    const Tokens alignment = geometry.attention_alignment_tokens;
    layout.coarse_page_bytes = round_up(
        std::max(geometry.checkpoint_bytes_layer(), alignment * token), page_granularity_bytes);
    const std::uint64_t page_tokens = layout.coarse_page_bytes / token / alignment * alignment;
    layout.coarse_pages_per_block =
        static_cast<std::uint32_t>(divide_up(std::uint64_t{block_tokens}, page_tokens));
  } else {
    layout.coarse_page_bytes = round_up(geometry.checkpoint_bytes_layer(), page_granularity_bytes);
  }
  return layout;
}

/// Whether the recurrent state fills its member pages without a rest.
constexpr bool divides_exactly(const PageLayout& layout) noexcept {
  return layout.geometry.recurrent_bytes_layer() % layout.page_bytes == 0;
}

/// Keeps the better of two layouts: less loss; within the tolerance of the least loss an exact
/// division goes before others, then the larger page, then the block offered later, which is the
/// larger one. `best_loss` is the least over all candidates.
struct Choice {
  PageLayout layout;
  bool found = false;

  constexpr void offer(const PageLayout& candidate, double loss, double best_loss) noexcept {
    if (loss > best_loss + layout_tolerance) return;
    if (found) {
      const bool exact = divides_exactly(candidate);
      const bool held = divides_exactly(layout);
      if (exact != held ? held : candidate.page_bytes < layout.page_bytes) return;
    }
    layout = candidate;
    found = true;
  }
};

/// Visits every page the solver may choose.
template <class Visit>
constexpr void for_each_page(const PageLayout& base, const LayoutOptions& options, SlotRule rule,
                             Tokens step, Visit&& visit) {
  const StateGeometry& geometry = base.geometry;
  if (base.has_attention()) {
    const Tokens last = std::max(options.max_block_tokens, step);
    for (Tokens block = step; block <= last && block >= step; block += step) {
      const std::uint64_t page =
          round_up(block * geometry.kv_bytes_per_token_layer, page_granularity_bytes);
      if (const auto layout = with_page(base, block, page, rule)) visit(*layout);
    }
    return;
  }
  // Without attention the page is free: whole parts of the recurrent state, or one slot where there
  // is a window alone.
  const std::uint64_t whole = geometry.recurrent_bytes_layer() > 0
                                  ? geometry.recurrent_bytes_layer()
                                  : slot_bytes_of(geometry.conv_bytes_layer(), rule);
  for (std::uint64_t parts = 1; parts <= 16; ++parts) {
    const std::uint64_t page = round_up(divide_up(whole, parts), page_granularity_bytes);
    if (const auto layout = with_page(base, base.block_tokens, page, rule)) visit(*layout);
  }
}

/// The least multiple of `quantum` at or above `tokens`, or an error if it leaves the range of
/// Tokens.
constexpr Result<Tokens, InputError> interval_at_least(const char* field, std::uint64_t tokens,
                                                       std::uint64_t quantum) {
  const Checked interval =
      Checked{divide_up(std::max(tokens, std::uint64_t{1}), quantum)} * Checked{quantum};
  if (interval.overflowed() || interval.value() > (std::uint64_t{1} << 30U))
    return InputError{Error::overflow, field, as_signed(interval.value()), "at most 2^30 tokens"};
  return static_cast<Tokens>(interval.value());
}

/// `asked` if it is a multiple of `quantum`, the least multiple at or above `at_least` if nothing
/// was asked.
constexpr Result<Tokens, InputError> choose_interval(
    const char* field, Tokens asked, std::uint64_t at_least, std::uint64_t quantum,
    const char* expected = "a multiple of lcm(kernel chunk, block tokens)") {
  if (asked == 0) return interval_at_least(field, at_least, quantum);
  if (asked % quantum != 0) return not_a_multiple(field, asked, quantum, expected);
  return asked;
}

/// The error of a stack depth that does not divide `deepest`, with both neighbours that do.
constexpr InputError no_common_divisor(std::uint32_t stack, std::uint32_t deepest) noexcept {
  std::uint32_t below = std::min(stack, deepest);
  while (deepest % below != 0) --below;
  std::uint32_t above = stack;
  while (above < deepest && deepest % above != 0) ++above;
  return {Error::not_divisible,
          "stack_layers",
          stack,
          "a common divisor of the attention and the recurrent layers",
          below,
          stack < deepest ? above : 0};
}

/// Checks the options that stand on their own.
constexpr InputError check_options(const StateGeometry& geometry, const LayoutOptions& options) {
  if (options.key_tokens != 16 && options.key_tokens != 32)
    return {Error::bad_argument, "key_tokens", options.key_tokens, "16 or 32"};
  if (options.page_bytes % page_granularity_bytes != 0)
    return not_a_multiple("page_bytes", options.page_bytes, page_granularity_bytes,
                          "a multiple of 256");
  if (options.page_bytes > max_page_bytes)
    return {Error::overflow, "page_bytes", as_signed(options.page_bytes), "at most 1 TiB"};
  if (options.block_tokens > (1U << 24U))
    return {Error::overflow, "block_tokens", options.block_tokens, "at most 16777216"};
  if (options.max_block_tokens == 0 || options.max_block_tokens > (1U << 16U))
    return {Error::bad_argument, "max_block_tokens", options.max_block_tokens, "1 to 65536"};
  if (options.attention_blocks_per_checkpoint > 1'000'000)
    return {Error::bad_argument, "attention_blocks_per_checkpoint",
            options.attention_blocks_per_checkpoint, "at most 1000000"};
  // The bound keeps every product with it in range.
  const Tokens alignment = geometry.attention_alignment_tokens;
  if (alignment == 0 || alignment > (1U << 16U))
    return {Error::bad_argument, "attention_alignment_tokens", alignment, "1 to 65536"};
  const std::uint32_t deepest = std::gcd(geometry.attention_layers, geometry.recurrent_layers);
  if (options.stack_layers != 0 && deepest % options.stack_layers != 0)
    return no_common_divisor(options.stack_layers, deepest);
  if (options.block_tokens != 0 && geometry.attention_layers == 0)
    return {Error::layout, "block_tokens", options.block_tokens,
            "no block size for a model without attention layers"};
  return {};
}

}  // namespace detail

/// The layout of `geometry` under `options`.
///
/// Left to choose, the solver takes the block of T tokens (a multiple of the attention alignment
/// and of `key_tokens`, at most `max_block_tokens`) whose page of T * a bytes loses least
/// (`layout_loss`); among those within 0.003 of the least it prefers a page that divides the
/// recurrent state exactly, so that member pages waste nothing, and then the largest. Without
/// attention layers the block is the checkpoint interval and the page a whole part of the recurrent
/// state. The interval is the least multiple of lcm(kernel chunk, T) unless one is asked;
/// StaticDualPool's is the least multiple of lcm(kernel chunk, alignment), not below the other
/// interval, at which KV weighs as much as a composite.
///
/// Errors: `layout` (a size that does not fit; the two nearest are named where they exist),
/// `not_divisible` (stack), `bad_argument`, `overflow`. Time proportional to the candidates (at
/// most 4096), no allocation.
constexpr Result<PageLayout, InputError> solve_layout(const StateGeometry& geometry,
                                                      const LayoutOptions& options = {}) {
  const InputError bad = detail::check_options(geometry, options);
  if (bad.code != Error::none) return bad;

  const PaperSettings paper = paper_settings(geometry);
  const SlotRule rule = options.slots != SlotRule::automatic
                            ? options.slots
                            : (paper.power_of_two_slots ? SlotRule::power_of_two : SlotRule::exact);
  const std::uint64_t chunk = std::max<std::uint64_t>(geometry.kernel_chunk_tokens, 1);
  const auto step =
      static_cast<Tokens>(std::lcm(geometry.attention_alignment_tokens, options.key_tokens));

  PageLayout base;
  base.geometry = geometry;
  base.key_tokens = options.key_tokens;
  base.stack_layers = options.stack_layers != 0
                          ? options.stack_layers
                          : std::gcd(geometry.attention_layers, geometry.recurrent_layers);

  // Without attention the interval comes first and gives the block; with it, the other way round.
  if (!base.has_attention()) {
    const auto interval =
        detail::choose_interval("checkpoint_interval_tokens", options.checkpoint_interval_tokens,
                                512, std::lcm(chunk, std::uint64_t{options.key_tokens}));
    if (!interval) return interval.error();
    base.block_tokens = *interval;
  }

  PageLayout layout;
  if (options.block_tokens != 0 || options.page_bytes != 0) {
    Tokens block = base.has_attention() ? options.block_tokens : base.block_tokens;
    if (options.block_tokens % step != 0)
      return detail::not_a_multiple("block_tokens", options.block_tokens, step,
                                    "a multiple of the attention alignment and of key_tokens");
    if (base.has_attention() && block == 0) {
      const std::uint64_t fits =
          options.page_bytes / geometry.kv_bytes_per_token_layer / step * step;
      if (fits == 0 || fits > (1U << 24U))
        return InputError{fits == 0 ? Error::layout : Error::overflow,
                          "page_bytes",
                          detail::as_signed(options.page_bytes),
                          fits == 0 ? "room for one kernel block of attention"
                                    : "at most 16777216 tokens of attention",
                          0,
                          fits == 0
                              ? detail::as_signed(round_up(step * geometry.kv_bytes_per_token_layer,
                                                           page_granularity_bytes))
                              : 0};
      block = static_cast<Tokens>(fits);
    }
    const Checked block_bytes = Checked{block} * Checked{geometry.kv_bytes_per_token_layer};
    if (block_bytes.value() > max_page_bytes)
      return InputError{Error::overflow, "block_tokens", block, "at most 1 TiB of attention"};
    const std::uint64_t page = options.page_bytes != 0
                                   ? options.page_bytes
                                   : round_up(block_bytes.value(), page_granularity_bytes);
    const auto fixed = detail::with_page(base, block, page, rule);
    if (!fixed) return fixed.error();
    layout = *fixed;
  } else {
    const std::uint32_t blocks = options.attention_blocks_per_checkpoint;
    double best = std::numeric_limits<double>::infinity();
    detail::for_each_page(base, options, rule, step, [&](const PageLayout& candidate) {
      best = std::min(best, layout_loss(candidate, blocks));
    });
    detail::Choice choice;
    detail::for_each_page(base, options, rule, step, [&](const PageLayout& candidate) {
      choice.offer(candidate, layout_loss(candidate, blocks), best);
    });
    if (!choice.found)
      return InputError{Error::layout, "max_block_tokens", options.max_block_tokens,
                        "a block whose page holds one convolution slot"};
    layout = choice.layout;
  }

  const auto interval = detail::choose_interval(
      "checkpoint_interval_tokens", options.checkpoint_interval_tokens, layout.block_tokens,
      std::lcm(chunk, std::uint64_t{layout.block_tokens}));
  if (!interval) return interval.error();
  layout.checkpoint_interval_tokens = *interval;

  layout.dual_block_tokens = geometry.attention_alignment_tokens;
  layout.dual_attention_bytes = layout.dual_block_tokens * geometry.kv_bytes_per_token_layer;
  layout.dual_recurrent_bytes = round_up(geometry.checkpoint_bytes_layer(), page_granularity_bytes);
  const std::uint64_t even = layout.has_attention() ? divide_up(geometry.checkpoint_bytes_layer(),
                                                                geometry.kv_bytes_per_token_layer)
                                                    : 0;
  const std::uint64_t dual_quantum = std::lcm(chunk, std::uint64_t{layout.dual_block_tokens});
  const bool paper_interval =
      options.dual_interval_tokens == 0 && paper.dual_interval_tokens % dual_quantum == 0;
  const auto dual = detail::choose_interval(
      "dual_interval_tokens",
      paper_interval ? paper.dual_interval_tokens : options.dual_interval_tokens,
      std::max<std::uint64_t>(even, *interval), dual_quantum,
      "a multiple of lcm(kernel chunk, attention alignment)");
  if (!dual) return dual.error();
  layout.dual_interval_tokens = *dual;
  return layout;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
