// Key: the name of one chunk of tokens and of everything before it; KeySeed: what keys depend on
// besides their content.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "hybridmem/core/config.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// A 128-bit chained key. Any value is a key, zero included: where a key may be absent, something
/// else says so. Ordered as one 128-bit number.
struct Key {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend constexpr bool operator==(const Key&, const Key&) noexcept = default;
  friend constexpr auto operator<=>(const Key&, const Key&) noexcept = default;
};

/// The 128-bit secret that keys are hashed under. The caller gives it, the library never invents
/// one: with equal seeds equal content has equal keys, in every process and on every machine; to
/// somebody who does not know the seed, keys cannot be foreseen, so collisions cannot be built.
struct KeySeed {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  /// The seed that 16 bytes spell, least significant byte first.
  static constexpr KeySeed from_bytes(std::span<const std::byte, 16> bytes) noexcept {
    KeySeed seed;
    for (std::size_t i = 8; i-- > 0;) {
      seed.low = seed.low << 8U | std::to_integer<std::uint64_t>(bytes[i]);
      seed.high = seed.high << 8U | std::to_integer<std::uint64_t>(bytes[i + 8]);
    }
    return seed;
  }

  friend constexpr bool operator==(const KeySeed&, const KeySeed&) noexcept = default;
};

/// A generation of model weights. Entries published under another epoch are never matched.
using Epoch = std::uint32_t;

namespace detail {

/// 64 bits that depend on every bit of a key: distinct keys that agree in many bits still spread.
/// A fixed permutation-based mix, no defence against keys that a foe chose; the seed is that.
constexpr std::uint64_t mix(const Key& key) noexcept {
  std::uint64_t mixed = key.low + (key.high ^ key.high >> 32U) * 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ mixed >> 32U) * 0xd6e8feb86659fd93U;
  return mixed ^ mixed >> 32U;
}

}  // namespace detail
}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE

template <>
struct std::hash<hybridmem::Key> {
  std::size_t operator()(const hybridmem::Key& key) const noexcept {
    return static_cast<std::size_t>(hybridmem::detail::mix(key));
  }
};
