#include "simulator/trace_lines.hpp"

#include <exception>

namespace hybridmem_simulator {

bool TraceLines::next() {
  text_.clear();
  ++number_;
  std::streambuf* const buffer = stream_.rdbuf();
  if (buffer == nullptr) refuse(TraceFault::unreadable, "cannot be read", "a readable stream");
  using Traits = std::istream::traits_type;
  bool read_any = false;
  for (;;) {
    Traits::int_type next = Traits::eof();
    try {
      next = buffer->sbumpc();
    } catch (const std::exception&) {  // a directory, a broken disk
      refuse(TraceFault::unreadable, "cannot be read", "a readable file");
    }
    if (Traits::eq_int_type(next, Traits::eof())) break;
    read_any = true;
    const char character = Traits::to_char_type(next);
    if (character == '\n') break;
    if (text_.size() >= max_trace_line_bytes)
      refuse(TraceFault::line_too_long, "a line of more than 16 MiB", "one request a line");
    text_ += character;
  }
  if (!read_any) return false;
  if (!text_.empty() && text_.back() == '\r') text_.pop_back();
  if (number_ == 1 && text_.starts_with("\xEF\xBB\xBF")) text_.erase(0, 3);
  return true;
}

}  // namespace hybridmem_simulator
