// The reader that the golden figures go through must not invent any.
#include "support/csv.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using hybridmem_test::CsvRow;

std::vector<CsvRow> rows_of(const std::string& text) {
  std::istringstream lines(text);
  return hybridmem_test::parse_csv(lines, "t");
}

}  // namespace

TEST_CASE("the csv reader finds cells by the name of their column") {
  const auto rows = rows_of("name,size,share,used,list\nx,12,0.25,true,1 2 40\r\n\ny,0,-1.5,0,\n");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].text("name") == "x");
  CHECK(rows[0].number("size") == 12);
  CHECK(rows[0].number32("size") == 12);
  CHECK(rows[0].real("share") == 0.25);
  CHECK(rows[0].flag("used"));
  CHECK(rows[0].numbers("list") == std::vector<std::uint64_t>{1, 2, 40});
  CHECK(rows[1].real("share") == -1.5);
  CHECK_FALSE(rows[1].flag("used"));
  CHECK(rows[1].empty("list"));
  CHECK(rows[1].numbers("list").empty());
  CHECK(rows[1].place() == "t:4");
  CHECK(hybridmem_test::find_row(rows, "name", "y").number("size") == 0);
}

TEST_CASE("the csv reader keeps commas and doubled quotes of a quoted cell") {
  const auto rows = rows_of("a,b\n\"(3,5)\",\"say \"\"x\"\"\"\n");
  CHECK(rows[0].text("a") == "(3,5)");
  CHECK(rows[0].text("b") == "say \"x\"");
}

TEST_CASE("the csv reader refuses what it cannot read and says where") {
  CHECK_THROWS_WITH_AS(rows_of("a\n1\n")[0].text("b"), "t:2: no column named b",
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(rows_of("a\n1x\n")[0].number("a"), "t:2: a is not a number: '1x'",
                       std::runtime_error);
  CHECK_THROWS_AS(rows_of("a,b\n,2\n")[0].number("a"), std::runtime_error);
  CHECK_THROWS_AS(rows_of("a\n4294967296\n")[0].number32("a"), std::runtime_error);
  CHECK_THROWS_AS(rows_of("a\nyes\n")[0].flag("a"), std::runtime_error);
  CHECK_THROWS_WITH_AS(rows_of("a,b\n1\n"), "t:2: 1 cells, but 2 columns", std::runtime_error);
  CHECK_THROWS_AS(rows_of("a\n\"1\n"), std::runtime_error);
  CHECK_THROWS_AS(rows_of("a,a\n1,2\n"), std::runtime_error);
  CHECK_THROWS_AS(rows_of("a\n"), std::runtime_error);
  CHECK_THROWS_AS(rows_of(""), std::runtime_error);
  CHECK_THROWS_AS(hybridmem_test::read_csv("no such file.csv"), std::runtime_error);
  CHECK_THROWS_AS(hybridmem_test::find_row(rows_of("a\n1\n"), "a", "2"), std::runtime_error);
}
