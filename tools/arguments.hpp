// Reading what the user typed: every refusal is a UsageError whose text is one line that names the
// option, the value and what was expected.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "hybridmem/core/error.hpp"

namespace hybridmem_tool {

/// Bad input: the command ends with status 2 and this line.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An option as typed; empty where it was not given.
using Text = std::optional<std::string>;

/// `option = value: expected ...`. The value is made printable.
[[noreturn]] void refuse(std::string_view option, std::string_view value,
                         std::string_view expected);

/// The text with control characters and bytes outside UTF-8's first page replaced by `?`, cut at
/// 120 characters: what the user typed, fit for one line.
std::string printable(std::string_view text);

/// A whole number from `least` to `most`, digits only. `fallback` where the option was not given.
std::uint64_t read_number(std::string_view option, const Text& text, std::uint64_t least,
                          std::uint64_t most, std::uint64_t fallback);

/// A byte count with an optional unit (`512KiB`), from `least` to `most`.
std::uint64_t read_bytes(std::string_view option, const Text& text, std::uint64_t least,
                         std::uint64_t most, std::uint64_t fallback);

/// A number from `least` to `most`, such as 0.25. `fallback` where the option was not given.
double read_real(std::string_view option, const Text& text, double least, double most,
                 double fallback);

/// The parts of `a,b,c`, none of them empty.
std::vector<std::string> read_list(std::string_view option, std::string_view text);

/// A fraction from 0 to 1 in millionths.
std::uint32_t read_millionths(std::string_view option, std::string_view text);

/// Columns of the explanation beside an option in the help text.
inline constexpr std::size_t help_columns = 62;

/// The option that a field of the library's InputError is set by, or the field itself.
std::string option_of(const char* field);

/// The library's error in the words of the command line: `--block-tokens = 100: expected ...`.
std::string describe_option(const hybridmem::InputError& error);

}  // namespace hybridmem_tool
