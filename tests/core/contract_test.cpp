#include "hybridmem/core/contract.hpp"

#include <doctest/doctest.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <string>
#include <thread>

#include "violations.hpp"

using hybridmem::ContractHandler;
using hybridmem::ContractViolation;
using hybridmem::set_contract_handler;
using hybridmem_test::violation_of;

namespace {

void ignore_first(const ContractViolation& /*violation*/) {}
void ignore_second(const ContractViolation& /*violation*/) {}

struct Death {
  bool aborted = false;
  std::string text;  // what it wrote to standard error
};

// Runs `body` in a child process whose standard error is read back.
template <class Body>
Death death_of(Body&& body) {
  std::array<int, 2> pipe_ends{};
  REQUIRE(pipe(pipe_ends.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(pipe_ends[1], STDERR_FILENO);
    close(pipe_ends[0]);
    std::signal(SIGABRT, SIG_DFL);  // doctest would report the abort as a failed test
    body();
    _exit(0);
  }
  close(pipe_ends[1]);
  Death death;
  std::array<char, 256> buffer{};
  for (ssize_t got = read(pipe_ends[0], buffer.data(), buffer.size()); got > 0;
       got = read(pipe_ends[0], buffer.data(), buffer.size()))
    death.text.append(buffer.data(), static_cast<std::size_t>(got));
  close(pipe_ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  death.aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  return death;
}

bool evaluated = false;

bool evaluate(bool answer) {
  evaluated = true;
  return answer;
}

}  // namespace

TEST_CASE("a false condition at the check level is reported with its text and place") {
  const auto violation =
      violation_of([] { HYBRIDMEM_CHECK(HYBRIDMEM_CHECK_LEVEL, 1 + 1 == 3, "sums add up"); });
  REQUIRE(violation.has_value());
  CHECK(std::string(violation->condition) == "1 + 1 == 3");
  CHECK(std::string(violation->message) == "sums add up");
  CHECK(std::string(violation->file).find("contract_test.cpp") != std::string::npos);
  CHECK(violation->line > 0);
  CHECK(violation->level == HYBRIDMEM_CHECK_LEVEL);
}

TEST_CASE("a true condition is not reported") {
  evaluated = false;
  CHECK_FALSE(violation_of([] { HYBRIDMEM_CHECK(0, evaluate(true), "always"); }).has_value());
  CHECK(evaluated);
}

TEST_CASE("above the check level the condition is not even evaluated") {
  evaluated = false;
  CHECK_FALSE(violation_of([] {
                HYBRIDMEM_CHECK(HYBRIDMEM_CHECK_LEVEL + 1, evaluate(false), "never");
              }).has_value());
  CHECK_FALSE(evaluated);
}

TEST_CASE("a check is one statement") {
  bool other = false;
  if (evaluated)
    HYBRIDMEM_CHECK(0, true, "then");
  else
    other = true;
  CHECK(other == !evaluated);
}

TEST_CASE("the handler is replaced, returned and restored") {
  const ContractHandler before = set_contract_handler(&ignore_first);
  CHECK((set_contract_handler(&ignore_second) == &ignore_first));
  CHECK((set_contract_handler(nullptr) == &ignore_second));
  CHECK((set_contract_handler(before) == &hybridmem::abort_on_violation));
}

TEST_CASE("after a handler that returns, execution goes on") {
  const ContractHandler before = set_contract_handler(&ignore_first);
  bool reached = false;
  HYBRIDMEM_CHECK(0, false, "ignored");
  reached = true;
  set_contract_handler(before);
  CHECK(reached);
}

TEST_CASE("the default handler prints one line and aborts") {
  const Death death = death_of([] { HYBRIDMEM_CHECK(0, false, "a promise"); });
  CHECK(death.aborted);
  CHECK(death.text.find("hybridmem: contract violated at ") == 0);
  CHECK(death.text.find("contract_test.cpp:") != std::string::npos);
  CHECK(death.text.find("a promise (false)\n") != std::string::npos);
}

TEST_CASE("the handler may be replaced while another thread reports") {
  const ContractHandler before = set_contract_handler(&ignore_first);
  std::thread other([] {
    for (int i = 0; i < 1000; ++i)
      set_contract_handler(i % 2 == 0 ? &ignore_first : &ignore_second);
  });
  for (int i = 0; i < 1000; ++i) HYBRIDMEM_CHECK(0, false, "from two threads");
  other.join();
  const ContractHandler last = set_contract_handler(before);
  CHECK((last == &ignore_first || last == &ignore_second));
}
