// parse_document: JSON text into a document, with limits on nesting and size, so that no input
// exhausts the stack or the memory. Needs nlohmann_json; throws.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "hybridmem/model/json_fields.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::detail {

/// What a configuration file is at most: a real one has a hundred fields, or, with one entry for
/// each quantized tensor, a few hundred thousand.
inline constexpr std::size_t max_document_bytes = std::size_t{64} << 20U;
inline constexpr std::size_t max_document_values = std::size_t{1} << 20U;
inline constexpr int max_document_depth = 64;

inline constexpr const char* document_field = "(document)";

[[noreturn]] inline void refuse_document(Error code, const std::string& problem) {
  throw ConfigError(code, document_field, std::string(document_field) + ": " + problem);
}

/// `line L, column C` of a byte offset, both counted from 1.
inline std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n');
  const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1);
  return "line " + std::to_string(line) + ", column " +
         std::to_string(std::max<std::size_t>(column, 1));
}

/// The document in `text`. Where an object has a key twice, the last one counts, as in Python's
/// json. Errors: `missing` (no text), `bad_argument` (not JSON, not UTF-8, a top level that is not
/// an object), `overflow` (nested, long or large beyond the limits above). Linear in the text.
inline Json parse_document(std::string_view text) {
  if (text.empty()) refuse_document(Error::missing, "the text is empty: expected a JSON object");
  if (text.size() > max_document_bytes)
    refuse_document(Error::overflow,
                    std::to_string(text.size()) + " bytes: expected at most 64 MiB");
  std::size_t values = 0;
  const auto within_limits = [&values](int depth, Json::parse_event_t event, const Json&) {
    const bool opens =
        event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens && depth >= max_document_depth)
      refuse_document(Error::overflow,
                      "nested deeper than 64 levels: expected a model's "
                      "configuration");
    if (++values > max_document_values)
      refuse_document(Error::overflow,
                      "more than 1048576 keys and values: expected a model's "
                      "configuration");
    return true;
  };
  Json document;
  try {
    document = Json::parse(text.data(), text.data() + text.size(), within_limits);
  } catch (const Json::parse_error& error) {
    refuse_document(Error::bad_argument, "not JSON at " + line_and_column(text, error.byte) +
                                             ": expected a JSON object");
  } catch (const Json::exception&) {
    refuse_document(Error::overflow,
                    "a number beyond the range of a double: expected a model's "
                    "configuration");
  }
  if (!document.is_object())
    refuse_document(Error::bad_argument, printable(document) + ": expected a JSON object");
  return document;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::detail
