// ProgressLine: how far a long run is, on a terminal; and Ctrl-C, which stops it in good order.
#pragma once

#include <chrono>
#include <ostream>
#include <string>

namespace hybridmem_tool {

/// While one lives, the first Ctrl-C is noted and a second one ends the process as usual.
class InterruptScope {
 public:
  InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  ~InterruptScope();

  static bool interrupted() noexcept;

 private:
  using Handler = void (*)(int);
  Handler before_;
};

/// A line that is written over again and again from two seconds on, with the time left; nothing
/// where `err` is not the process's standard error on a terminal. Calls come one at a time.
class ProgressLine {
 public:
  ProgressLine(std::ostream& err, std::string what);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  /// Notes the share that is done; false once Ctrl-C was pressed.
  bool operator()(double done);

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream& err_;
  std::string what_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point start_;
  Clock::time_point next_;
};

}  // namespace hybridmem_tool
