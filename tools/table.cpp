#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hybridmem/core/bytes.hpp"

namespace hybridmem_tool {

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text(std::size_t indent) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = columns_[i].header.size();
    for (const auto& row : rows_) width = std::max(width, row[i].size());
    widths.push_back(width);
  }
  std::string out;
  const auto add_line = [&](auto&& cell) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line += "  ";
      const std::string text = cell(i);
      const std::string padding(widths[i] - text.size(), ' ');
      line += columns_[i].align == Align::right ? padding + text : text + padding;
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + '\n';
  };
  add_line([&](std::size_t i) { return columns_[i].header; });
  add_line([&](std::size_t i) { return std::string(widths[i], '-'); });
  for (const auto& row : rows_) add_line([&](std::size_t i) { return row[i]; });
  return out;
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::uint64_t kibibyte = 1024;
  if (bytes < kibibyte) return grouped(bytes) + " B";
  if (bytes % kibibyte == 0 && bytes < 10'000 * kibibyte) return grouped(bytes / kibibyte) + " KiB";
  return hybridmem::format_bytes(bytes);
}

std::string percent(double fraction) {
  if (fraction <= 0) return "0%";
  if (fraction < 0.0005) return "<0.1%";
  return fmt::format("{:.1f}%", fraction * 100);
}

std::string counted(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

std::string wrapped(std::string_view text, std::size_t width) {
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (column > 0 && column + 1 + word.size() > width) {
      out += '\n';
      column = 0;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

}  // namespace hybridmem_tool
