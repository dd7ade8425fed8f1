// HasherConcept: what a chain of keys needs from a keyed hash with 128 bits of output.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "hybridmem/prefix/key.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// A keyed hash over a string of bytes that arrives in pieces. With `H` the type, `h` an object and
/// `c` a const one:
/// - `H(seed)`, a `KeySeed`: has absorbed nothing, and depends on nothing but the seed. Constant.
/// - `H(c)`: a copy, from then on independent. Constant.
/// - `h.update(bytes)`, a `std::span<const std::byte>`: appends; the cuts do not matter. Linear.
/// - `c.finish()`: a `Key`, the hash of the bytes so far; `c` can go on. Constant.
///
/// None of them throws or allocates. The result is the same in every process and on every machine,
/// whatever its byte order. That content is never found under another's key is only as certain as
/// that the hash has no collisions.
template <class H>
concept HasherConcept =
    std::copy_constructible<H> && std::is_nothrow_constructible_v<H, const KeySeed&> &&
    requires(H& hasher, const H& constant, std::span<const std::byte> bytes) {
      { hasher.update(bytes) } noexcept;
      { constant.finish() } noexcept -> std::same_as<Key>;
    };

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
