#include "hybridmem/prefix/key.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <type_traits>
#include <unordered_set>

using hybridmem::Key;
using hybridmem::KeySeed;

static_assert(std::is_trivially_copyable_v<Key> && sizeof(Key) == 16);
static_assert(std::is_trivially_copyable_v<KeySeed> && sizeof(KeySeed) == 16);

TEST_CASE("keys are ordered as one 128-bit number") {
  CHECK(Key{.high = 1, .low = 2} == Key{.high = 1, .low = 2});
  CHECK(Key{.high = 1, .low = 2} != Key{.high = 2, .low = 1});
  CHECK(Key{.high = 0, .low = ~0ULL} < Key{.high = 1, .low = 0});
  CHECK(Key{.high = 1, .low = 0} < Key{.high = 1, .low = 1});
  CHECK(Key{} == Key{.high = 0, .low = 0});
}

TEST_CASE("a seed is read from bytes, least significant first") {
  std::array<std::byte, 16> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  CHECK(KeySeed::from_bytes(bytes) ==
        KeySeed{.high = 0x0f0e0d0c0b0a0908U, .low = 0x0706050403020100U});
}

TEST_CASE("keys that agree in most bits spread over the high bits of the mix") {
  // One bit set, anywhere in the key; small numbers, at either end of either half.
  const auto places = [](auto key_of) {
    std::unordered_set<std::uint64_t> distinct;
    for (std::uint64_t i = 0; i < 4096; ++i)
      distinct.insert(hybridmem::detail::mix(key_of(i)) >> 48U);
    return distinct.size();
  };
  // 4096 balls in 65536 bins at random leave about 3972 bins taken.
  CHECK(places([](std::uint64_t i) { return Key{.high = i, .low = 0}; }) > 3800);
  CHECK(places([](std::uint64_t i) { return Key{.high = 0, .low = i}; }) > 3800);
  CHECK(places([](std::uint64_t i) { return Key{.high = i << 52U, .low = 7}; }) > 3800);
  CHECK(places([](std::uint64_t i) { return Key{.high = 7, .low = i << 52U}; }) > 3800);
  CHECK(places([](std::uint64_t i) { return Key{.high = i << 32U, .low = i << 32U}; }) > 3800);
  CHECK(places([](std::uint64_t i) { return Key{.high = i, .low = i}; }) > 3800);
  std::unordered_set<Key> set;
  for (unsigned bit = 0; bit < 64; ++bit) {
    set.insert(Key{.high = std::uint64_t{1} << bit, .low = 0});
    set.insert(Key{.high = 0, .low = std::uint64_t{1} << bit});
  }
  CHECK(set.size() == 128);
}
