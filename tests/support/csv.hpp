// A small reader of the tables under tests/data: a header row, cells that may be quoted, columns by
// name. Whatever is wrong with a table is an exception that says where, never a default value.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hybridmem_test {

/// The cells of one line. A quoted cell may hold commas; a doubled quote in it stands for one.
inline std::vector<std::string> split_csv_line(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      if (c != '"')
        cells.back() += c;
      else if (i + 1 < line.size() && line[i + 1] == '"')
        cells.back() += line[++i];
      else
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  if (quoted) throw std::runtime_error("csv: a quote is not closed in: " + std::string(line));
  return cells;
}

/// One row of a table. Copies share the header and may outlive the table.
class CsvRow {
 public:
  using Header = std::map<std::string, std::size_t, std::less<>>;

  CsvRow(std::shared_ptr<const Header> header, std::vector<std::string> cells, std::string place)
      : header_(std::move(header)), cells_(std::move(cells)), place_(std::move(place)) {}

  /// Where the row stands, for messages: `file:line`.
  const std::string& place() const { return place_; }

  const std::string& text(std::string_view column) const {
    const auto found = header_->find(column);
    if (found == header_->end())
      throw std::runtime_error(place_ + ": no column named " + std::string(column));
    return cells_.at(found->second);
  }
  bool empty(std::string_view column) const { return text(column).empty(); }

  /// A whole number; an exception if the cell holds anything else.
  std::uint64_t number(std::string_view column) const { return parsed<std::uint64_t>(column); }
  std::uint32_t number32(std::string_view column) const { return parsed<std::uint32_t>(column); }
  double real(std::string_view column) const { return parsed<double>(column); }

  bool flag(std::string_view column) const {
    const std::string& cell = text(column);
    if (cell == "true" || cell == "1") return true;
    if (cell == "false" || cell == "0") return false;
    throw std::runtime_error(place_ + ": " + std::string(column) + " is not a flag: " + cell);
  }

  /// Whole numbers separated by spaces; an empty cell is an empty list.
  std::vector<std::uint64_t> numbers(std::string_view column) const {
    std::vector<std::uint64_t> all;
    std::istringstream words(text(column));
    for (std::string word; words >> word;) all.push_back(parse<std::uint64_t>(word, column));
    return all;
  }

 private:
  template <class T>
  T parsed(std::string_view column) const {
    return parse<T>(text(column), column);
  }

  template <class T>
  T parse(const std::string& cell, std::string_view column) const {
    T value{};
    const char* const end = cell.data() + cell.size();
    const auto [rest, problem] = std::from_chars(cell.data(), end, value);
    if (problem != std::errc{} || rest != end)
      throw std::runtime_error(place_ + ": " + std::string(column) + " is not a number: '" + cell +
                               "'");
    return value;
  }

  std::shared_ptr<const Header> header_;
  std::vector<std::string> cells_;
  std::string place_;
};

/// The rows of a table read from `lines`; `name` is for messages. An exception when a row has more
/// or fewer cells than the header, or when there is no row at all.
inline std::vector<CsvRow> parse_csv(std::istream& lines, const std::string& name) {
  std::string line;
  if (!std::getline(lines, line)) throw std::runtime_error(name + ": no header");
  auto header = std::make_shared<CsvRow::Header>();
  for (const std::string& column : split_csv_line(line))
    if (!header->emplace(column, header->size()).second)
      throw std::runtime_error(name + ": two columns named " + column);
  std::vector<CsvRow> rows;
  for (std::size_t at = 2; std::getline(lines, line); ++at) {
    if (line.empty() || line == "\r") continue;
    const std::string place = name + ":" + std::to_string(at);
    std::vector<std::string> cells = split_csv_line(line);
    if (cells.size() != header->size())
      throw std::runtime_error(place + ": " + std::to_string(cells.size()) + " cells, but " +
                               std::to_string(header->size()) + " columns");
    rows.emplace_back(header, std::move(cells), place);
  }
  if (rows.empty()) throw std::runtime_error(name + ": no rows");
  return rows;
}

/// The rows of `file` in `directory`.
inline std::vector<CsvRow> read_csv_in(const std::string& directory, const std::string& file) {
  std::ifstream lines(directory + "/" + file);
  if (!lines) throw std::runtime_error("cannot open " + file + " in " + directory);
  return parse_csv(lines, file);
}

/// The rows of `file`, a path below tests/data.
inline std::vector<CsvRow> read_csv(const std::string& file) {
  return read_csv_in(HYBRIDMEM_TEST_DATA, file);
}

/// The rows of `file`, a table of the paper.
inline std::vector<CsvRow> read_paper_csv(const std::string& file) {
  return read_csv_in(HYBRIDMEM_SOURCE_DIR "/simulator/paper/data", file);
}

/// The first row whose `column` holds `value`; an exception if there is none.
inline CsvRow find_row(const std::vector<CsvRow>& rows, std::string_view column,
                       std::string_view value) {
  for (const CsvRow& row : rows)
    if (row.text(column) == value) return row;
  throw std::runtime_error("no row with " + std::string(column) + " = " + std::string(value));
}

}  // namespace hybridmem_test
