// LayerCounts: which layers of a model own what, from the spellings that configuration files use: a
// list of words, a pattern of letters, a list of indices. Needs nlohmann_json; throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hybridmem/model/json_fields.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::detail {

/// What a layer owns.
enum class LayerKind : std::uint8_t { recurrent, attention, sliding, both, nothing };

/// Layers by what they own, and the field that said so, for the error when none is recurrent.
struct LayerCounts {
  std::string source;
  std::uint32_t all = 0;
  std::uint32_t attention = 0;
  std::uint32_t recurrent = 0;
  std::uint32_t sliding = 0;  ///< of the attention layers

  void add(LayerKind kind) {
    ++all;
    if (kind == LayerKind::recurrent || kind == LayerKind::both) ++recurrent;
    if (kind != LayerKind::recurrent && kind != LayerKind::nothing) ++attention;
    if (kind == LayerKind::sliding) ++sliding;
  }
};

/// A word of a layer list and what such a layer owns.
struct LayerWord {
  std::string_view word;
  LayerKind kind;
};

/// The words that every family may use; older files say `mamba` and `attention`, newer ones
/// `linear_attention` and `full_attention`, for the same layers.
inline constexpr LayerWord common_layer_words[] = {{"mamba", LayerKind::recurrent},
                                                   {"linear_attention", LayerKind::recurrent},
                                                   {"attention", LayerKind::attention},
                                                   {"full_attention", LayerKind::attention},
                                                   {"sliding_attention", LayerKind::sliding}};

/// Refuses a layer map of `size` entries where `layers` were announced.
inline void check_map_length(const std::string& path, std::size_t size, std::uint32_t layers) {
  if (size != layers)
    refuse(Error::bad_argument, path, std::to_string(size) + " layers",
           std::to_string(layers) + ", the number of layers");
}

/// One layer per word. An unknown word is an error, never a guess.
inline LayerCounts count_words(const Fields& fields, std::string_view name,
                               std::span<const LayerWord> words) {
  LayerCounts counts;
  counts.source = fields.path(name);
  const Json& list = fields.list(name);
  if (list.size() > max_layers)
    refuse(Error::overflow, counts.source, printable(list), "at most 65536 layers");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const LayerWord* known = nullptr;
    if (list[i].is_string())
      for (const LayerWord& word : words)
        if (list[i].get_ref<const std::string&>() == word.word) known = &word;
    if (known == nullptr) {
      std::string expected = "one of";
      for (const LayerWord& word : words) expected += " " + std::string(word.word);
      refuse(list[i].is_string() ? Error::unknown_name : Error::bad_argument,
             Fields::element(counts.source, i), printable(list[i]), expected);
    }
    counts.add(known->kind);
  }
  return counts;
}

/// Nemotron's letters: `M` Mamba, `*` attention, `-` MLP and `E` mixture of experts, the last two
/// without any state.
inline LayerCounts count_pattern(const Fields& fields, std::string_view name) {
  LayerCounts counts;
  counts.source = fields.path(name);
  const std::string* pattern = fields.optional_text(name);
  if (pattern == nullptr) refuse_missing(counts.source, "a pattern of M, *, - and E");
  if (pattern->size() > max_layers)
    refuse(Error::overflow, counts.source, std::to_string(pattern->size()) + " layers",
           "at most 65536 layers");
  for (std::size_t i = 0; i < pattern->size(); ++i) {
    switch ((*pattern)[i]) {
      case 'M':
        counts.add(LayerKind::recurrent);
        break;
      case '*':
        counts.add(LayerKind::attention);
        break;
      case '-':
      case 'E':
        counts.add(LayerKind::nothing);
        break;
      default:
        // The letter alone might be half a character: its byte is printed.
        refuse(Error::unknown_name, Fields::element(counts.source, i),
               "byte " + std::to_string(static_cast<unsigned char>((*pattern)[i])),
               "one of M * - E");
    }
  }
  return counts;
}

/// A mark for each of `layers` layers that a list of indices names. `base` is the index of the
/// first layer. Errors: `bad_argument` (not a layer, named twice).
inline std::vector<bool> marked_layers(const Fields& fields, std::string_view name,
                                       std::uint32_t layers, std::uint32_t base = 0) {
  std::vector<bool> marks(layers, false);
  const std::string path = fields.path(name);
  const Json& list = fields.list(name);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string element = Fields::element(path, i);
    const std::string range =
        "a layer from " + std::to_string(base) + " to " + std::to_string(layers - 1 + base);
    if (!list[i].is_number_integer() || list[i].get<std::int64_t>() < std::int64_t{base} ||
        list[i].get<std::int64_t>() >= std::int64_t{base} + layers)
      refuse(Error::bad_argument, element, printable(list[i]), range);
    const auto layer = static_cast<std::size_t>(list[i].get<std::int64_t>() - std::int64_t{base});
    if (marks[layer])
      refuse(Error::bad_argument, element, printable(list[i]), "each layer at most once");
    marks[layer] = true;
  }
  return marks;
}

/// One layer per mark: `marked` where set, `other` elsewhere.
inline LayerCounts count_marks(std::string source, const std::vector<bool>& marks, LayerKind marked,
                               LayerKind other) {
  LayerCounts counts;
  counts.source = std::move(source);
  for (const bool mark : marks) counts.add(mark ? marked : other);
  return counts;
}

/// All layers of one kind, as `num_hidden_layers` counts them.
inline LayerCounts uniform_layers(const Fields& fields, LayerKind kind) {
  LayerCounts counts;
  counts.source = fields.path("num_hidden_layers");
  const std::uint32_t layers = fields.hidden_layers();
  for (std::uint32_t i = 0; i < layers; ++i) counts.add(kind);
  return counts;
}

/// A list of words of `num_hidden_layers` entries.
inline LayerCounts count_words_checked(const Fields& fields, std::string_view name,
                                       std::span<const LayerWord> words) {
  const std::uint32_t layers = fields.hidden_layers();
  LayerCounts counts = count_words(fields, name, words);
  check_map_length(counts.source, counts.all, layers);
  return counts;
}

/// The spellings of a list of words, in the order in which they are looked for.
inline std::string_view word_list_name(const Fields& fields) {
  return fields.first_of({"layer_types", "layers_block_type"});
}

/// A list of words if there is one, else a list of the indices of the layers called `marked`.
inline LayerCounts count_words_or_marks(const Fields& fields, std::string_view indices,
                                        std::span<const LayerWord> words, LayerKind marked,
                                        LayerKind other) {
  const std::string_view name = word_list_name(fields);
  if (!name.empty()) return count_words_checked(fields, name, words);
  const std::uint32_t layers = fields.hidden_layers();
  if (fields.find(indices) == nullptr)
    refuse_missing(fields.path("layer_types"), "a list of layer words, or " + std::string(indices));
  return count_marks(fields.path(indices), marked_layers(fields, indices, layers), marked, other);
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::detail
