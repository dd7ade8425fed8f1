// Presets: known models by name, without a configuration file, and the nearest name to a misspelled
// one. Standard library only; no allocation, no exceptions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "hybridmem/model/preset_table.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// All known models, one family after another. Constant time.
constexpr std::span<const ModelPreset> model_presets() noexcept {
  return detail::presets::table;
}

namespace detail {

/// A character of a preset's name as looked up: lower case, with `-` for `/`, `_` and space.
constexpr char preset_character(char character) noexcept {
  if (character == '/' || character == '_' || character == ' ') return '-';
  if (character >= 'A' && character <= 'Z') return static_cast<char>(character - 'A' + 'a');
  return character;
}

constexpr bool is_preset_name(std::string_view name, std::string_view preset) noexcept {
  return std::ranges::equal(name, preset, {}, preset_character);
}

/// Insertions, deletions and replacements of one character that turn one name into the other.
/// Characters after the 64th of `name` count as insertions.
constexpr std::size_t edit_distance(std::string_view name, std::string_view preset) noexcept {
  constexpr std::size_t longest = 64;
  const std::size_t size = std::min(name.size(), longest);
  std::array<std::size_t, longest + 1> row{};  // distances of all prefixes of `name`
  for (std::size_t i = 0; i <= size; ++i) row[i] = i;
  for (std::size_t j = 0; j < preset.size(); ++j) {
    std::size_t diagonal = row[0];
    row[0] = j + 1;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t replaced = diagonal + (preset_character(name[i]) == preset[j] ? 0 : 1);
      diagonal = row[i + 1];
      row[i + 1] = std::min(replaced, std::min(row[i], diagonal) + 1);
    }
  }
  return row[size] + (name.size() - size);
}

}  // namespace detail

/// The preset called `name`, or null. Upper and lower case are alike, and so are `-`, `_`, `/` and
/// space; a model that shares a row with another (`jamba-1.7-mini`, `minimax-m1`) is found by its
/// own name too. Linear in the number of presets.
constexpr const ModelPreset* find_preset(std::string_view name) noexcept {
  for (const ModelPreset& preset : detail::presets::table)
    if (detail::is_preset_name(name, preset.architecture.name)) return &preset;
  for (const detail::presets::Alias& alias : detail::presets::aliases)
    if (detail::is_preset_name(name, alias.name)) return find_preset(alias.preset);
  return nullptr;
}

/// The preset name, or other name of a preset, with the smallest edit distance to `name`: for a
/// question to the user, never a substitute for `find_preset`. The first such name of the table on
/// a tie. Linear in the number of presets.
constexpr std::string_view nearest_preset(std::string_view name) noexcept {
  std::string_view nearest;
  std::size_t least = static_cast<std::size_t>(-1);
  const auto consider = [&](std::string_view candidate) {
    const std::size_t distance = detail::edit_distance(name, candidate);
    if (distance >= least) return;
    least = distance;
    nearest = candidate;
  };
  for (const ModelPreset& preset : detail::presets::table) consider(preset.architecture.name);
  for (const detail::presets::Alias& alias : detail::presets::aliases) consider(alias.name);
  return nearest;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
