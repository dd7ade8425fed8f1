// TraceLines: the lines of a trace, one at a time, counted and bounded.
#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <utility>

#include "simulator/trace_error.hpp"

namespace hybridmem_simulator {

/// A line of a real trace has some kilobytes; one beyond this is refused rather than stored.
inline constexpr std::size_t max_trace_line_bytes = std::size_t{16} << 20U;

class TraceLines {
 public:
  TraceLines(std::istream& stream, std::string name) : stream_(stream), name_(std::move(name)) {}

  /// Puts the next line in `text()`, without its end (LF or CRLF); false at the end. A byte-order
  /// mark before the first line is taken off. Throws `TraceError` (`line_too_long`, `unreadable`).
  bool next();

  const std::string& text() const noexcept { return text_; }
  std::size_t number() const noexcept { return number_; }
  const std::string& name() const noexcept { return name_; }

  [[noreturn]] void refuse(TraceFault fault, const std::string& reason,
                           const std::string& expected) const {
    throw TraceError(fault, name_, number_, reason, expected);
  }

 private:
  std::istream& stream_;
  std::string name_;
  std::string text_;
  std::size_t number_ = 0;
};

}  // namespace hybridmem_simulator
