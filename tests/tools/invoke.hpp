// Runs the command in this process.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "command_line.hpp"

namespace hybridmem_test {

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

inline Outcome invoke(const std::vector<std::string_view>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  Outcome outcome;
  outcome.status = hybridmem_tool::run(arguments, out, err);
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

/// What the command prints; it must succeed and say nothing else.
inline std::string print(const std::vector<std::string_view>& arguments) {
  const Outcome outcome = invoke(arguments);
  CHECK(outcome.err == "");
  REQUIRE(outcome.status == 0);
  return outcome.out;
}

inline nlohmann::json report(std::vector<std::string_view> arguments) {
  arguments.emplace_back("--json");
  return nlohmann::json::parse(print(arguments));
}

/// The text of a file under tests/data/tool.
inline std::string expected_text(const std::string& name) {
  std::ifstream file(HYBRIDMEM_TEST_DATA "/tool/" + name);
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Lines that fit a terminal, without control characters and without spaces at their ends.
inline void check_readable(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 100);
    CHECK((line.empty() || line.back() != ' '));
    CHECK(std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; }));
  }
}

}  // namespace hybridmem_test
