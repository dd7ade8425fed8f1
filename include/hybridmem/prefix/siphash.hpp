// SipHasher: SipHash-2-4 with 128 bits of output, the keyed hash that keys are made with by
// default.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hybridmem/prefix/hasher.hpp"
#include "hybridmem/prefix/key.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// SipHash (Aumasson and Bernstein, 2012) with 2 compression rounds, 4 finalization rounds and the
/// 128-bit output of its authors. Of the 16 output bytes, the first eight are `Key::low` and the
/// last eight `Key::high`, least significant byte first; the 16 key bytes are
/// `KeySeed::from_bytes`. Models `HasherConcept`. `update` costs two rounds per 8 bytes, `finish`
/// ten rounds. 48 bytes of state, never allocates; usable in constant expressions.
class SipHasher {
 public:
  constexpr explicit SipHasher(const KeySeed& seed) noexcept
      : state_{seed.low ^ 0x736f6d6570736575U, seed.high ^ 0x646f72616e646f6dU ^ 0xeeU,
               seed.low ^ 0x6c7967656e657261U, seed.high ^ 0x7465646279746573U} {}

  /// Appends `bytes` to the message.
  constexpr void update(std::span<const std::byte> bytes) noexcept {
    const std::size_t size = bytes.size();
    std::size_t at = 0;
    while (at < size && length_ % 8 != 0) append(bytes[at++]);
    for (; size - at >= 8; at += 8) {
      compress(word_at(bytes.data() + at));
      length_ += 8;
    }
    while (at < size) append(bytes[at++]);
  }

  /// The hash of the message so far. The message may go on afterwards.
  constexpr Key finish() const noexcept {
    State state = state_;
    // The last word: the bytes left over, and the length modulo 256 in the top byte.
    const std::uint64_t last = pending_ | length_ << 56U;
    state.v3 ^= last;
    state.rounds(2);
    state.v0 ^= last;
    state.v2 ^= 0xeeU;
    state.rounds(4);
    const std::uint64_t low = state.folded();
    state.v1 ^= 0xddU;
    state.rounds(4);
    return Key{.high = state.folded(), .low = low};
  }

 private:
  struct State {
    std::uint64_t v0;
    std::uint64_t v1;
    std::uint64_t v2;
    std::uint64_t v3;

    constexpr void rounds(int count) noexcept {
      for (int round = 0; round < count; ++round) {
        v0 += v1;
        v2 += v3;
        v1 = std::rotl(v1, 13) ^ v0;
        v3 = std::rotl(v3, 16) ^ v2;
        v0 = std::rotl(v0, 32);
        v2 += v1;
        v0 += v3;
        v1 = std::rotl(v1, 17) ^ v2;
        v3 = std::rotl(v3, 21) ^ v0;
        v2 = std::rotl(v2, 32);
      }
    }
    constexpr std::uint64_t folded() const noexcept { return v0 ^ v1 ^ v2 ^ v3; }
  };

  // Eight bytes, least significant first. Written out, because compilers make one load of it.
  static constexpr std::uint64_t word_at(const std::byte* bytes) noexcept {
    return std::to_integer<std::uint64_t>(bytes[0]) |
           std::to_integer<std::uint64_t>(bytes[1]) << 8U |
           std::to_integer<std::uint64_t>(bytes[2]) << 16U |
           std::to_integer<std::uint64_t>(bytes[3]) << 24U |
           std::to_integer<std::uint64_t>(bytes[4]) << 32U |
           std::to_integer<std::uint64_t>(bytes[5]) << 40U |
           std::to_integer<std::uint64_t>(bytes[6]) << 48U |
           std::to_integer<std::uint64_t>(bytes[7]) << 56U;
  }

  constexpr void compress(std::uint64_t word) noexcept {
    state_.v3 ^= word;
    state_.rounds(2);
    state_.v0 ^= word;
  }

  constexpr void append(std::byte value) noexcept {
    pending_ |= std::to_integer<std::uint64_t>(value) << 8U * (length_ % 8);
    if (++length_ % 8 != 0) return;
    compress(pending_);
    pending_ = 0;
  }

  State state_;
  std::uint64_t pending_ = 0;  // the bytes that do not fill a word yet
  std::uint64_t length_ = 0;   // of the message
};

static_assert(HasherConcept<SipHasher>);

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
