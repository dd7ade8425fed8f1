// FixedString: a short text inside a plain data type, so that the type stays trivially copyable.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "hybridmem/core/config.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// Up to `Capacity` characters, stored in place. A longer text is cut at `Capacity`.
template <std::size_t Capacity>
class FixedString {
 public:
  constexpr FixedString() noexcept = default;
  constexpr FixedString(std::string_view text) noexcept  // implicit: a name is written as a literal
      : size_(std::min(text.size(), Capacity)) {
    std::copy_n(text.begin(), size_, characters_.begin());
  }
  constexpr FixedString(const char* text) noexcept : FixedString(std::string_view(text)) {}

  constexpr std::string_view view() const noexcept { return {characters_.data(), size_}; }
  constexpr operator std::string_view() const noexcept { return view(); }
  constexpr bool empty() const noexcept { return size_ == 0; }
  static constexpr std::size_t capacity() noexcept { return Capacity; }

  friend constexpr bool operator==(const FixedString& a, const FixedString& b) noexcept {
    return a.view() == b.view();
  }

 private:
  std::array<char, Capacity> characters_{};
  std::size_t size_ = 0;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
