// Table: rows of text in aligned columns, and numbers as people read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hybridmem_tool {

/// Text in columns two spaces apart, under a header and a rule. A cell counts one column a byte:
/// ASCII only.
class Table {
 public:
  enum class Align : std::uint8_t { left, right };

  struct Column {
    std::string header;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Appends a row. A row with fewer cells than there are columns is filled up with empty ones;
  /// more cells than columns are dropped.
  void add(std::vector<std::string> cells);

  std::size_t rows() const noexcept { return rows_.size(); }

  /// The table, each line indented by `indent` columns and without trailing spaces.
  std::string text(std::size_t indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Digits in groups of three: `1,594,368`.
std::string grouped(std::uint64_t number);

/// Bytes in the largest unit that keeps at least one digit before the point, with at most two
/// decimals and grouped digits: `1,557 KiB`, `4.15 GiB`, `3.50 KiB`. Whole multiples of 1 KiB below
/// 10,000 KiB are written in KiB, since pages are.
std::string bytes_text(std::uint64_t bytes);

/// A fraction as a percentage with one decimal: `33.6%`; `0%` and `<0.1%` at the low end.
std::string percent(double fraction);

/// `1 page`, `1,557 pages`.
std::string counted(std::uint64_t number, std::string_view noun);

/// `text` broken at spaces into lines of at most `width` columns, where its words allow it. No
/// newline at the end.
std::string wrapped(std::string_view text, std::size_t width);

}  // namespace hybridmem_tool
