#include "compare_plot.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hybridmem_tool {

namespace {

constexpr double width = 760.0;
constexpr double left = 190.0;  // names stand here
constexpr double right = 90.0;  // numbers stand here
constexpr double bar = 18.0;
constexpr double gap = 8.0;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

std::string label(double x, double y, const std::string& text, const char* more = "") {
  return fmt::format("  <text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, more, escaped(text));
}

/// Bars of one measure under a heading; moves `y` below them.
template <class Value>
std::string bars(const CompareResult& result, double& y, const std::string& heading,
                 const char* colour, const char* unit, Value&& value) {
  double most = 0.0;
  for (const CompareRow& row : result.rows) most = std::max(most, value(row));
  y += 30.0;
  std::string text = label(16.0, y, heading, " font-weight=\"bold\"");
  y += 12.0;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const CompareRow& row = result.rows[i];
    const double length = most > 0.0 ? value(row) / most * (width - left - right) : 0.0;
    text += label(left - 8.0, y + bar - 5.0, row_name(row), " text-anchor=\"end\"");
    text += fmt::format(
        "  <rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"{}/>\n",
        left, y, length, bar, colour,
        i == result.best ? " stroke=\"#111111\" stroke-width=\"1.5\"" : "");
    text += label(left + length + 6.0, y + bar - 5.0, fmt::format("{:.4g} {}", value(row), unit));
    y += bar + gap;
  }
  return text;
}

}  // namespace

std::string compare_plot(const CompareContext& context) {
  const CompareResult& result = context.result;
  double y = 28.0;
  std::string body = label(16.0, y,
                           fmt::format("{}, budget {}, {} requests of {}", context.model.name,
                                       context.request.budget_text, result.workload.requests.size(),
                                       printable(result.workload.name)),
                           " font-size=\"15\"");
  body += bars(result, y, "Output tokens a second (more is better)", "#3b6ea8", "tok/s",
               [](const CompareRow& row) { return row.summary.output_tokens_per_s; });
  body += bars(result, y, "Time to first token, p50 (less is better)", "#c98b2b", "s",
               [](const CompareRow& row) { return row.summary.ttft_p50_s; });
  body += bars(result, y, "Time to first token, p99 (less is better)", "#b0492f", "s",
               [](const CompareRow& row) { return row.summary.ttft_p99_s; });
  body += label(16.0, y + 20.0, "Outlined: " + row_name(result.rows[result.best]) + ", the best.");
  const double height = y + 36.0;
  return fmt::format(
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
             "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
             "  <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
             width, height) +
         body + "</svg>\n";
}

}  // namespace hybridmem_tool
