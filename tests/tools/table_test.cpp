// Aligned tables and numbers for people.
#include "table.hpp"

#include <doctest/doctest.h>

using namespace hybridmem_tool;

TEST_CASE("columns are as wide as their widest cell and no line ends in spaces") {
  using enum Table::Align;
  Table table({{"name"}, {"bytes", right}, {"note"}});
  table.add({"a", "1", "first"});
  table.add({"longer name", "1,000,000"});
  CHECK(table.rows() == 2);
  CHECK(table.text() ==
        "name             bytes  note\n"
        "-----------  ---------  -----\n"
        "a                    1  first\n"
        "longer name  1,000,000\n");
}

TEST_CASE("a table is indented as asked and extra cells are dropped") {
  Table table({{"a"}, {"b"}});
  table.add({"1", "2", "3"});
  CHECK(table.text(2) ==
        "  a  b\n"
        "  -  -\n"
        "  1  2\n");
}

TEST_CASE("digits are grouped in threes") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1'000) == "1,000");
  CHECK(grouped(1'594'368) == "1,594,368");
  CHECK(grouped(18'446'744'073'709'551'615U) == "18,446,744,073,709,551,615");
}

TEST_CASE("bytes keep KiB for pages and take larger units beyond") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1'023) == "1,023 B");
  CHECK(bytes_text(1'594'368) == "1,557 KiB");
  CHECK(bytes_text(3'584 * 1'024) == "3,584 KiB");
  CHECK(bytes_text(16'777'216) == "16 MiB");
  CHECK(bytes_text(1'600) == "1.56 KiB");
}

TEST_CASE("percentages say when something is left") {
  CHECK(percent(0) == "0%");
  CHECK(percent(0.0001) == "<0.1%");
  CHECK(percent(0.3357) == "33.6%");
  CHECK(percent(1) == "100.0%");
}

TEST_CASE("nouns follow their number") {
  CHECK(counted(1, "page") == "1 page");
  CHECK(counted(1'557, "page") == "1,557 pages");
  CHECK(counted(0, "page") == "0 pages");
}

TEST_CASE("text is wrapped at spaces and long words stay whole") {
  CHECK(wrapped("", 10).empty());
  CHECK(wrapped("one two three", 7) == "one two\nthree");
  CHECK(wrapped("incomprehensible words", 5) == "incomprehensible\nwords");
}
