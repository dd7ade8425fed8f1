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

inline constexpr std::array<ByteUnit, 14> byte_units{{{"", 1},
                                                      {"B", 1},
                                                      {"KiB", std::uint64_t{1} << 10U},
                                                      {"MiB", std::uint64_t{1} << 20U},
                                                      {"GiB", std::uint64_t{1} << 30U},
                                                      {"TiB", std::uint64_t{1} << 40U},
                                                      {"PiB", std::uint64_t{1} << 50U},
                                                      {"EiB", std::uint64_t{1} << 60U},
                                                      {"KB", 1'000},
                                                      {"MB", 1'000'000},
                                                      {"GB", 1'000'000'000},
                                                      {"TB", 1'000'000'000'000},
                                                      {"PB", 1'000'000'000'000'000},
                                                      {"EB", 1'000'000'000'000'000'000}}};

}  // namespace detail

/// Reads a byte count: a whole number or a decimal fraction, then an optional unit (`B`; `KiB` to
/// `EiB`, powers of 1024; `KB` to `EB`, powers of 1000), with or without one space between. A
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
    // floor(unit * 0.digits), exactly: each step carries the floor of what the later digits add.
    std::uint64_t part = 0;
    for (std::size_t i = digits.size(); i-- > 0;)
      part = (static_cast<std::uint64_t>(digits[i] - '0') * known.bytes + part) / 10;
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
  // 1023.995 would be printed as 1024.00: the next unit says it better.
  while (unit + 1 < names.size() && static_cast<double>(bytes) / static_cast<double>(size) >=
                                        (bytes % size == 0 ? 1024.0 : 1023.995)) {
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
