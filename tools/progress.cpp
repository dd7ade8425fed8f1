#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <utility>

namespace hybridmem_tool {

namespace {

using namespace std::chrono_literals;

constexpr auto first_after = 2s;
constexpr auto every = 200ms;

volatile std::sig_atomic_t interrupts = 0;

extern "C" void note_interrupt(int signal) {
  interrupts = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

InterruptScope::InterruptScope() : before_(std::signal(SIGINT, note_interrupt)) {
  interrupts = 0;
}

InterruptScope::~InterruptScope() {
  if (before_ != SIG_ERR) std::signal(SIGINT, before_);
}

bool InterruptScope::interrupted() noexcept {
  return interrupts != 0;
}

ProgressLine::ProgressLine(std::ostream& err, std::string what)
    : err_(err),
      what_(std::move(what)),
      terminal_(&err == &std::cerr && isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      next_(start_ + first_after) {}

ProgressLine::~ProgressLine() {
  if (shown_) err_ << "\r\x1b[K" << std::flush;
}

bool ProgressLine::operator()(double done) {
  if (InterruptScope::interrupted()) return false;
  const Clock::time_point now = Clock::now();
  if (!terminal_ || now < next_) return true;
  next_ = now + every;
  shown_ = true;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double share = std::clamp(done, 0.0, 1.0);
  std::string left;
  if (share > 0.0) left = fmt::format(", about {:.0f} s left", elapsed * (1.0 - share) / share);
  err_ << fmt::format("\r\x1b[K{}: {:.0f}%{}", what_, share * 100.0, left) << std::flush;
  return true;
}

}  // namespace hybridmem_tool
