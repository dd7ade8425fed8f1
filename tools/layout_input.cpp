#include "layout_input.hpp"

#include <fmt/format.h>

#include <string_view>

#include "table.hpp"

namespace hybridmem_tool {

void LayoutInput::declare(CLI::App& command) {
  const auto add = [&](const char* name, Text& text, const char* type, const char* help) {
    command.add_option(name, text, wrapped(help, help_columns))
        ->type_name(type)
        ->group("Page layout");
  };
  add("--block-tokens", block_tokens_, "N", "Tokens of an attention block (default: solved)");
  add("--page-bytes", page_bytes_, "BYTES", "Bytes of a page in one layer (default: solved)");
  add("--slots", slots_, "RULE",
      "Convolution slots: pow2 or exact (default: the paper's for its geometry, else exact)");
  add("--stack-layers", stack_layers_, "N",
      "Layers that share a page table (default: the greatest common divisor)");
  add("--checkpoint-interval", checkpoint_interval_, "TOKENS",
      "Tokens between checkpoints (default: the least that fits)");
  add("--dual-interval", dual_interval_, "TOKENS",
      "The same for static_dual_pool (default: where KV weighs as much as a checkpoint)");
  add("--key-tokens", key_tokens_, "N", "Tokens of a prefix key: 16 (default) or 32");
  add("--max-block-tokens", max_block_tokens_, "N",
      "The largest block the solver may choose (default 512)");
  add("--attention-blocks-per-checkpoint", blocks_per_checkpoint_, "N",
      "The mix in which unused bytes are counted and minimised (default 1)");
}

ChosenLayout LayoutInput::choose(const hybridmem::StateGeometry& geometry) const {
  using hybridmem::Tokens;
  constexpr std::uint64_t most_block = 1U << 24U;
  constexpr std::uint64_t most_interval = 1U << 30U;
  constexpr std::uint64_t most_page = std::uint64_t{1} << 40U;
  const auto tokens = [](const char* option, const Text& text, std::uint64_t most,
                         std::uint64_t fallback) {
    return static_cast<Tokens>(read_number(option, text, 1, most, fallback));
  };
  hybridmem::LayoutOptions options;
  options.block_tokens = tokens("--block-tokens", block_tokens_, most_block, 0);
  options.page_bytes = read_bytes("--page-bytes", page_bytes_, 1, most_page, 0);
  if (slots_) {
    if (*slots_ == "pow2")
      options.slots = hybridmem::SlotRule::power_of_two;
    else if (*slots_ == "exact")
      options.slots = hybridmem::SlotRule::exact;
    else
      refuse("--slots", *slots_, "pow2 or exact");
  }
  options.stack_layers = tokens("--stack-layers", stack_layers_, 65'536, 0);
  options.checkpoint_interval_tokens =
      tokens("--checkpoint-interval", checkpoint_interval_, most_interval, 0);
  options.dual_interval_tokens = tokens("--dual-interval", dual_interval_, most_interval, 0);
  options.key_tokens = tokens("--key-tokens", key_tokens_, most_block, 16);
  options.max_block_tokens = tokens("--max-block-tokens", max_block_tokens_, 65'536, 512);
  options.attention_blocks_per_checkpoint = static_cast<std::uint32_t>(
      read_number("--attention-blocks-per-checkpoint", blocks_per_checkpoint_, 0, 1'000'000, 1));

  const auto layout = solve_layout(geometry, options);
  if (!layout) {
    const hybridmem::InputError& error = layout.error();
    // A page that the user did not name follows from the block.
    if (!page_bytes_ && block_tokens_ && option_of(error.field) == "--page-bytes")
      throw UsageError(fmt::format(
          "--block-tokens = {}: expected a page (here {} bytes) with {}{}", options.block_tokens,
          error.value, error.expected,
          error.upper != 0 ? fmt::format("; nearest: {} bytes", error.upper) : std::string{}));
    throw UsageError(describe_option(error));
  }
  // Every sum of bytes below stays within 64 bits.
  const hybridmem::Checked bytes =
      hybridmem::Checked{layout->page_bytes} *
      hybridmem::Checked{options.attention_blocks_per_checkpoint + layout->member_pages + 2U} *
      hybridmem::Checked{geometry.attention_layers + geometry.recurrent_layers};
  if (bytes.value() >= std::uint64_t{1} << 63U)
    throw UsageError(
        fmt::format("{} = {}: expected pages whose mix takes less than 2^63 bytes",
                    page_bytes_ ? "--page-bytes" : "--attention-blocks-per-checkpoint",
                    page_bytes_ ? layout->page_bytes : options.attention_blocks_per_checkpoint));
  ChosenLayout chosen{*layout, options.attention_blocks_per_checkpoint, *layout};
  if (block_tokens_ || page_bytes_) {
    options.block_tokens = 0;
    options.page_bytes = 0;
    // An interval fits the fixed block, not the free one; without attention it is the block.
    if (geometry.attention_layers > 0) options.checkpoint_interval_tokens = 0;
    const auto best = solve_layout(geometry, options);
    if (best) chosen.best = *best;
  }
  return chosen;
}

}  // namespace hybridmem_tool
