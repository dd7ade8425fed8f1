#include "arguments.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "hybridmem/core/bytes.hpp"

namespace hybridmem_tool {

void refuse(std::string_view option, std::string_view value, std::string_view expected) {
  throw UsageError(fmt::format("{} = {}: expected {}", option, printable(value), expected));
}

std::string printable(std::string_view text) {
  constexpr std::size_t longest = 120;
  std::string out;
  for (const char character : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(character);
    out += byte < 0x20 || byte > 0x7e ? '?' : character;
  }
  if (text.size() > longest) out += "...";
  return out.empty() ? "(nothing)" : out;
}

std::uint64_t read_number(std::string_view option, const Text& text, std::uint64_t least,
                          std::uint64_t most, std::uint64_t fallback) {
  if (!text) return fallback;
  std::uint64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, problem] = std::from_chars(text->data(), end, number);
  if (problem != std::errc{} || rest != end || number < least || number > most)
    refuse(option, *text, fmt::format("a whole number from {} to {}", least, most));
  return number;
}

std::uint64_t read_bytes(std::string_view option, const Text& text, std::uint64_t least,
                         std::uint64_t most, std::uint64_t fallback) {
  if (!text) return fallback;
  const auto bytes = hybridmem::parse_bytes(*text);
  if (!bytes || *bytes < least || *bytes > most)
    refuse(option, *text,
           fmt::format("bytes from {} to {}, as a number or with a unit such as 512KiB", least,
                       hybridmem::format_bytes(most)));
  return *bytes;
}

double read_real(std::string_view option, const Text& text, double least, double most,
                 double fallback) {
  if (!text) return fallback;
  double number = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, problem] = std::from_chars(text->data(), end, number);
  if (problem != std::errc{} || rest != end || !(number >= least && number <= most))
    refuse(option, *text, fmt::format("a number from {} to {}", least, most));
  return number;
}

std::vector<std::string> read_list(std::string_view option, std::string_view text) {
  std::vector<std::string> parts;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    parts.emplace_back(rest.substr(0, comma));
    if (parts.back().empty()) refuse(option, text, "values with commas between them");
    if (comma == std::string_view::npos) return parts;
    rest.remove_prefix(comma + 1);
  }
}

std::uint32_t read_millionths(std::string_view option, std::string_view text) {
  constexpr double whole = 1e6;
  double fraction = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, fraction);
  if (problem != std::errc{} || rest != end || !(fraction >= 0.0 && fraction <= 1.0))
    refuse(option, text, "a fraction from 0 to 1, the attention share of the budget");
  return static_cast<std::uint32_t>(std::lround(fraction * whole));
}

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 13> options{{
    {"tensor_parallel", "--tensor-parallel"},
    {"block_tokens", "--block-tokens"},
    {"page_bytes", "--page-bytes"},
    {"checkpoint_interval_tokens", "--checkpoint-interval"},
    {"dual_interval_tokens", "--dual-interval"},
    {"key_tokens", "--key-tokens"},
    {"max_block_tokens", "--max-block-tokens"},
    {"stack_layers", "--stack-layers"},
    {"attention_blocks_per_checkpoint", "--attention-blocks-per-checkpoint"},
    {"kv_bytes_per_token_layer", "--kv-bytes"},
    {"recurrent_bytes_layer", "--recurrent-bytes"},
    {"conv_bytes_layer", "--conv-bytes"},
    {"mix", "--mix"},
}};

}  // namespace

std::string option_of(const char* field) {
  for (const auto& [name, option] : options)
    if (field != nullptr && name == field) return std::string(option);
  return field == nullptr ? "" : field;
}

std::string describe_option(const hybridmem::InputError& error) {
  std::string text = hybridmem::describe(error);
  const std::string option = option_of(error.field);
  // A sum that left its range has no value to show.
  if (error.code == hybridmem::Error::overflow && error.value == 0)
    return fmt::format("{}: expected {}", option, error.expected);
  if (error.field != nullptr) text.replace(0, std::string_view(error.field).size(), option);
  // The expectation may name a neighbour: `a multiple of ... and of key_tokens`.
  for (const auto& [name, other] : options) {
    const std::size_t at = text.find(name, option.size());
    if (at != std::string::npos) text.replace(at, name.size(), other);
  }
  return text;
}

}  // namespace hybridmem_tool
