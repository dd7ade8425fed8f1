// TraceError: where a request trace is wrong, how, and what was expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace hybridmem_simulator {

/// What is wrong with a trace.
enum class TraceFault : std::uint8_t {
  unreadable,      ///< the file cannot be opened, or reading stops with an error
  empty,           ///< no request in it
  unknown_format,  ///< the first line opens none of the known formats
  malformed,       ///< a line that is not JSON, not an object, or has not the right columns
  line_too_long,
  missing_field,
  unknown_field,
  duplicate_field,
  wrong_type,
  zero_length,
  negative,
  overflow,
  out_of_order,  ///< an arrival before the one of the line above
  few_hashes,    ///< fewer numbers than whole chunks of the input
  many_hashes,   ///< more numbers than chunks of the input
  bad_option,    ///< not the trace but a TraceOptions member is wrong
};

constexpr const char* name_of(TraceFault fault) noexcept {
  switch (fault) {
    case TraceFault::unreadable:
      return "unreadable";
    case TraceFault::empty:
      return "empty";
    case TraceFault::unknown_format:
      return "unknown_format";
    case TraceFault::malformed:
      return "malformed";
    case TraceFault::line_too_long:
      return "line_too_long";
    case TraceFault::missing_field:
      return "missing_field";
    case TraceFault::unknown_field:
      return "unknown_field";
    case TraceFault::duplicate_field:
      return "duplicate_field";
    case TraceFault::wrong_type:
      return "wrong_type";
    case TraceFault::zero_length:
      return "zero_length";
    case TraceFault::negative:
      return "negative";
    case TraceFault::overflow:
      return "overflow";
    case TraceFault::out_of_order:
      return "out_of_order";
    case TraceFault::few_hashes:
      return "few_hashes";
    case TraceFault::many_hashes:
      return "many_hashes";
    case TraceFault::bad_option:
      return "bad_option";
  }
  return "unknown";
}

/// The message is one line: `name:line: reason; expected what`, or `name: ...` where no line is at
/// fault.
class TraceError : public std::runtime_error {
 public:
  TraceError(TraceFault fault, const std::string& name, std::size_t line, const std::string& reason,
             const std::string& expected)
      : std::runtime_error(name + (line > 0 ? ":" + std::to_string(line) : std::string()) + ": " +
                           reason + "; expected " + expected),
        fault_(fault),
        line_(line),
        reason_(reason),
        expected_(expected) {}

  TraceFault fault() const noexcept { return fault_; }
  /// Counted from 1; 0 where no line is at fault.
  std::size_t line() const noexcept { return line_; }
  const std::string& reason() const noexcept { return reason_; }
  const std::string& expected() const noexcept { return expected_; }

 private:
  TraceFault fault_;
  std::size_t line_;
  std::string reason_;
  std::string expected_;
};

}  // namespace hybridmem_simulator
