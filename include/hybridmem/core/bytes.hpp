// Byte quantities: literals (`512_KiB`), parsing ("8GiB") and printing for people.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "hybridmem/core/arithmetic.hpp"
#include "hybridmem/core/result.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

inline namespace literals {

// NOLINTBEGIN(google-runtime-int): the standard fixes the parameter type of a literal operator.
consteval std::uint64_t operator""_KiB(unsigned long long count) {
  return count << 10U;
}
consteval std::uint64_t operator""_MiB(unsigned long long count) {
  return count << 20U;
}
consteval std::uint64_t operator""_GiB(unsigned long long count) {
  return count << 30U;
}
// NOLINTEND(google-runtime-int)

}  // namespace literals

namespace detail {

struct ByteUnit {
  std::string_view name;
  std::uint64_t bytes;
};

inline constexpr std::array<ByteUnit, 12> byte_units{{{"", 1},
                                                      {"B", 1},
                                                      {"KiB", std::uint64_t{1} << 10U},
                                                      {"MiB", std::uint64_t{1} << 20U},
                                                      {"GiB", std::uint64_t{1} << 30U},
                                                      {"TiB", std::uint64_t{1} << 40U},
                                                      {"PiB", std::uint64_t{1} << 50U},
                                                      {"KB", 1'000},
                                                      {"MB", 1'000'000},
                                                      {"GB", 1'000'000'000},
                                                      {"TB", 1'000'000'000'000},
                                                      {"PB", 1'000'000'000'000'000}}};

}  // namespace detail

/// Reads a byte count: a whole number or a decimal fraction, then an optional unit (`B`; `KiB` to
/// `PiB`, powers of 1024; `KB` to `PB`, powers of 1000), with or without one space between. A
/// fraction is rounded down to whole bytes. Errors: `bad_argument` (not a number), `unknown_name`
/// (unit), `overflow` (2^64 bytes or more).
inline Result<std::uint64_t> parse_bytes(std::string_view text) {
  std::uint64_t whole = 0;
  const char* const end = text.data() + text.size();
  auto [rest, problem] = std::from_chars(text.data(), end, whole);
  if (problem == std::errc::result_out_of_range) return Error::overflow;
  if (problem != std::errc{}) return Error::bad_argument;
  std::string_view digits;  // after the decimal point
  if (rest != end && *rest == '.') {
    const char* const first = ++rest;
    while (rest != end && *rest >= '0' && *rest <= '9') ++rest;
    if (rest == first) return Error::bad_argument;
    digits = std::string_view(first, static_cast<std::size_t>(rest - first));
  }
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.size() > 1 && unit.front() == ' ') unit.remove_prefix(1);
  for (const detail::ByteUnit& known : detail::byte_units) {
    if (unit != known.name) continue;
    const Checked bytes = Checked{whole} * Checked{known.bytes};
    if (bytes.overflowed()) return Error::overflow;
    // The fraction of one unit: at most 2^50 bytes, in exact integer steps of a tenth.
    std::uint64_t fraction = 0;
    std::uint64_t scale = 1;
    for (const char digit : digits.substr(0, 15)) {
      fraction = fraction * 10 + static_cast<std::uint64_t>(digit - '0');
      scale *= 10;
    }
    const auto part = static_cast<std::uint64_t>(static_cast<long double>(known.bytes) *
                                                 static_cast<long double>(fraction) /
                                                 static_cast<long double>(scale));
    const Checked total = bytes + Checked{part};
    if (total.overflowed()) return Error::overflow;
    return total.value();
  }
  return Error::unknown_name;
}

/// A byte count for people: exact below 1 KiB and for whole multiples, otherwise two decimals.
/// Allocates.
inline std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 7> names{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  std::uint64_t size = 1;
  while (unit + 1 < names.size() && bytes / size >= 1024) {
    size <<= 10U;
    ++unit;
  }
  std::array<char, 40> text{};
  if (bytes % size == 0)
    std::snprintf(text.data(), text.size(), "%llu %s",
                  static_cast<unsigned long long>(bytes / size), names[unit]);
  else
    std::snprintf(text.data(), text.size(), "%.2f %s",
                  static_cast<double>(bytes) / static_cast<double>(size), names[unit]);
  return text.data();
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
