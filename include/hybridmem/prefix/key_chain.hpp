// KeyChain: the keys of a prompt, one per chunk of tokens, each naming the chunk and all before it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "hybridmem/core/contract.hpp"
#include "hybridmem/core/ids.hpp"
#include "hybridmem/prefix/hasher.hpp"
#include "hybridmem/prefix/key.hpp"
#include "hybridmem/prefix/siphash.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// No extra bytes in any chunk: the default of `KeyChain::fill`.
struct NoExtra {
  constexpr std::span<const std::byte> operator()(std::size_t /*chunk*/) const noexcept {
    return {};
  }
};

inline namespace HYBRIDMEM_CHECK_NAMESPACE {

/// Makes chained keys under one seed and one grid. Key `i` of a prompt names its first
/// `(i + 1) * key_tokens` tokens, their extra bytes, and the salt; what is left over at the end has
/// no key. The grid should be 16 or 32, divide the block size and not change with tensor
/// parallelism.
///
/// What is hashed under the seed, integers little-endian (format 1, fixed by golden values):
/// - root: u32 `key_tokens`, u32 1; u64 salt size, salt; u64 extra size, extra;
/// - link: u32 number of tokens, u32 2; u64 `parent.low`, u64 `parent.high`; u32 each token; extra.
/// Every field before the last has a known size, so no two inputs give one string of bytes: neither
/// (salt, extra) cut elsewhere, nor tokens moved into the extra bytes, nor a root and a link.
///
/// Keys depend on seed, grid and content alone. Holds a seeded hasher and the grid; const, never
/// allocates, usable in constant expressions where the hasher is.
template <HasherConcept Hasher = SipHasher>
class KeyChain {
 public:
  using hasher_type = Hasher;

  /// Precondition: `key_tokens > 0` (otherwise it is taken as 1).
  constexpr KeyChain(const KeySeed& seed, Tokens key_tokens)
      : seeded_(seed), key_tokens_(std::max(key_tokens, Tokens{1})) {
    HYBRIDMEM_CHECK(1, key_tokens > 0, "a chunk has at least one token");
  }

  /// Tokens per key.
  constexpr Tokens key_tokens() const noexcept { return key_tokens_; }

  /// The number of keys that so many tokens have: only whole chunks count.
  constexpr std::size_t whole_chunks(std::size_t tokens) const noexcept {
    return tokens / key_tokens_;
  }

  /// The parent of a prompt's first key. `salt` isolates users from one another: under different
  /// salts nothing is shared. `extra` is whatever else the whole prompt's state depends on, such as
  /// an adapter. Linear in the bytes.
  constexpr Key root(std::span<const std::byte> salt = {},
                     std::span<const std::byte> extra = {}) const noexcept {
    Hasher hasher = seeded_;
    hasher.update(header(root_domain, key_tokens_));
    hasher.update(little_endian<8>(salt.size()));
    hasher.update(salt);
    hasher.update(little_endian<8>(extra.size()));
    hasher.update(extra);
    return hasher.finish();
  }

  /// The key of one chunk after `parent`: a root, or the key of the chunk before. `extra` is what
  /// falls into this chunk besides its tokens, such as the digest of an image whose placeholders
  /// begin here; empty is the same as none. A token is hashed as its 32 bits, whatever its sign.
  /// Precondition: `tokens.size() == key_tokens()` (otherwise the result is a key that no whole
  /// chunk has). Linear in the tokens and bytes.
  constexpr Key extend(const Key& parent, std::span<const std::int32_t> tokens,
                       std::span<const std::byte> extra = {}) const {
    return link(parent, tokens, extra);
  }
  constexpr Key extend(const Key& parent, std::span<const std::uint32_t> tokens,
                       std::span<const std::byte> extra = {}) const {
    return link(parent, tokens, extra);
  }

  /// Writes the keys of the whole chunks of `tokens`, at most as many as `keys` holds, and returns
  /// how many it wrote. With a root as `parent`, `tokens` begin at token 0; with the key of a
  /// chunk, after that chunk. `extra_of(i)` gives the extra bytes of the i-th chunk of `tokens`.
  /// Linear.
  template <class ExtraOf = NoExtra>
  constexpr std::size_t fill(const Key& parent, std::span<const std::int32_t> tokens,
                             std::span<Key> keys, ExtraOf&& extra_of = {}) const {
    return fill_chunks(parent, tokens, keys, extra_of);
  }
  template <class ExtraOf = NoExtra>
  constexpr std::size_t fill(const Key& parent, std::span<const std::uint32_t> tokens,
                             std::span<Key> keys, ExtraOf&& extra_of = {}) const {
    return fill_chunks(parent, tokens, keys, extra_of);
  }

 private:
  static constexpr std::uint64_t root_domain = 1;
  static constexpr std::uint64_t link_domain = 2;

  template <std::size_t Count>
  static constexpr std::array<std::byte, Count> little_endian(std::uint64_t value) noexcept {
    std::array<std::byte, Count> bytes{};
    for (std::byte& each : bytes) {
      each = static_cast<std::byte>(value & 0xffU);
      value >>= 8U;
    }
    return bytes;
  }

  static constexpr std::array<std::byte, 8> header(std::uint64_t domain,
                                                   std::size_t tokens) noexcept {
    return little_endian<8>(domain << 32U | (tokens & 0xffffffffU));
  }

  template <class Token>
  constexpr Key link(const Key& parent, std::span<const Token> tokens,
                     std::span<const std::byte> extra) const {
    HYBRIDMEM_CHECK(1, tokens.size() == key_tokens_, "a chunk has exactly key_tokens tokens");
    Hasher hasher = seeded_;
    hasher.update(header(link_domain, tokens.size()));
    hasher.update(little_endian<8>(parent.low));
    hasher.update(little_endian<8>(parent.high));
    if (std::endian::native == std::endian::little && !std::is_constant_evaluated()) {
      hasher.update(std::as_bytes(tokens));
    } else {
      for (const Token token : tokens)
        hasher.update(little_endian<4>(static_cast<std::uint32_t>(token)));
    }
    hasher.update(extra);
    return hasher.finish();
  }

  template <class Token, class ExtraOf>
  constexpr std::size_t fill_chunks(Key parent, std::span<const Token> tokens, std::span<Key> keys,
                                    ExtraOf& extra_of) const {
    const std::size_t count = std::min(whole_chunks(tokens.size()), keys.size());
    for (std::size_t chunk = 0; chunk < count; ++chunk) {
      parent = link(parent, tokens.subspan(chunk * key_tokens_, key_tokens_), extra_of(chunk));
      keys[chunk] = parent;
    }
    return count;
  }

  Hasher seeded_;
  Tokens key_tokens_;
};

}  // namespace HYBRIDMEM_CHECK_NAMESPACE
}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
