#include "simulator/azure_time.hpp"

#include <chrono>
#include <cstddef>

namespace hybridmem_simulator {

namespace {

// Takes digits and marks off the front of a text; once something is missing it stays wrong.
class Scanner {
 public:
  explicit Scanner(std::string_view text) noexcept : text_(text) {}

  int number(std::size_t digits) noexcept {
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) value = 10 * value + digit();
    return value;
  }
  void mark(char expected) noexcept {
    if (!skip(expected)) good_ = false;
  }
  bool skip(char expected) noexcept {
    if (text_.empty() || text_.front() != expected) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool at_digit() const noexcept {
    return !text_.empty() && text_.front() >= '0' && text_.front() <= '9';
  }
  int digit() noexcept {
    if (!at_digit()) {
      good_ = false;
      return 0;
    }
    const int value = text_.front() - '0';
    text_.remove_prefix(1);
    return value;
  }
  bool done() const noexcept { return good_ && text_.empty(); }

 private:
  std::string_view text_;
  bool good_ = true;
};

}  // namespace

std::optional<std::int64_t> parse_azure_time(std::string_view text) noexcept {
  Scanner scan(text);
  const int year = scan.number(4);
  scan.mark('-');
  const int month = scan.number(2);
  scan.mark('-');
  const int day = scan.number(2);
  scan.mark(' ');
  const int hour = scan.number(2);
  scan.mark(':');
  const int minute = scan.number(2);
  scan.mark(':');
  const int second = scan.number(2);
  std::int64_t fraction_ns = 0;
  if (scan.skip('.')) {
    std::int64_t unit = 100'000'000;
    fraction_ns = unit * scan.digit();
    for (int more = 0; more < 8 && scan.at_digit(); ++more) {
      unit /= 10;
      fraction_ns += unit * scan.digit();
    }
  }
  int offset_minutes = 0;
  if (!scan.skip('Z')) {
    const int sign = scan.skip('+') ? 1 : (scan.skip('-') ? -1 : 0);
    if (sign != 0) {
      const int hours = scan.number(2);
      scan.mark(':');
      const int minutes = scan.number(2);
      if (hours > 23 || minutes > 59) return std::nullopt;
      offset_minutes = sign * (60 * hours + minutes);
    }
  }
  if (!scan.done() || year < 1970 || year > 2200 || hour > 23 || minute > 59 || second > 59)
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  const std::int64_t seconds = ((days * 24 + hour) * 60 + minute - offset_minutes) * 60 + second;
  return seconds * 1'000'000'000 + fraction_ns;
}

}  // namespace hybridmem_simulator
