// The form that every header keeps: what it is in its first line, one guard, and a size that a
// reader can take in.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>

#include "source_tree.hpp"

namespace {

constexpr std::ptrdiff_t most_lines = 400;

// What is wrong with the form of a header; empty if nothing is.
std::string fault_of(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || !line.starts_with("// ")) return "no comment in the first line";
  while (line.starts_with("//") && std::getline(lines, line)) {
  }
  if (line != "#pragma once") return "no #pragma once behind the opening comment";
  if (text.back() != '\n') return "no end of line at the end";
  if (std::count(text.begin(), text.end(), '\n') > most_lines) return "more than 400 lines";
  return "";
}

}  // namespace

TEST_CASE("every header opens with what it is, has a guard and at most 400 lines") {
  const auto headers = hybridmem_test::read_sources("include");
  REQUIRE(headers.size() > 10);
  for (const auto& [path, text] : headers) {
    CAPTURE(path);
    CHECK(fault_of(text) == "");
  }
}

TEST_CASE("a header of another form is found") {
  CHECK(fault_of("// A header.\n#pragma once\n").empty());
  CHECK(fault_of("// A header.\n// More of it.\n#pragma once\n\nint x;\n").empty());
  CHECK(fault_of("") == "no comment in the first line");
  CHECK(fault_of("#pragma once\n") == "no comment in the first line");
  CHECK(fault_of("\n// A header.\n#pragma once\n") == "no comment in the first line");
  CHECK(fault_of("// A header.\n") == "no #pragma once behind the opening comment");
  CHECK(fault_of("// A header.\n#include <vector>\n#pragma once\n") ==
        "no #pragma once behind the opening comment");
  CHECK(fault_of("// A header.\n#pragma once\nint x;") == "no end of line at the end");
  const std::string head = "// A header.\n#pragma once\n";
  CHECK(fault_of(head + std::string(398, '\n')).empty());
  CHECK(fault_of(head + std::string(399, '\n')) == "more than 400 lines");
}
