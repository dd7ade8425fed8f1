// Fields: typed access to one object of a configuration file, with errors that name the field by
// its path from the root (`text_config.num_hidden_layers`). Needs nlohmann_json; throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "hybridmem/core/error.hpp"
#include "hybridmem/model/data_type.hpp"
#include "hybridmem/model/make_geometry.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// A configuration file that cannot be read. `what()` is one line: the field, the value it had and
/// what was expected instead.
class ConfigError : public std::runtime_error {
 public:
  ConfigError(Error code, std::string field, const std::string& message)
      : std::runtime_error(message), code_(code), field_(std::move(field)) {}

  Error code() const noexcept { return code_; }

  /// The path of the field from the root, `layer_types[3]` for an element of a list; `(document)`
  /// where the text as a whole is at fault, and the path of a file that cannot be read.
  const std::string& field() const noexcept { return field_; }

 private:
  Error code_;
  std::string field_;
};

namespace detail {

using Json = nlohmann::json;

/// A value for a message: short, on one line, ASCII.
inline std::string printable(const Json& value) {
  if (value.is_array()) return "a list of " + std::to_string(value.size());
  if (value.is_object()) return "an object";
  constexpr std::size_t longest = 48;
  std::string text = value.is_string() && value.get_ref<const std::string&>().size() > longest
                         ? Json(value.get_ref<const std::string&>().substr(0, longest))
                               .dump(-1, ' ', true, Json::error_handler_t::replace)
                         : value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  return text;
}

/// Throws `path = value: expected ...`.
[[noreturn]] inline void refuse(Error code, const std::string& path, const std::string& value,
                                std::string_view expected) {
  throw ConfigError(code, path, path + " = " + value + ": expected " + std::string(expected));
}

[[noreturn]] inline void refuse_missing(const std::string& path, std::string_view expected) {
  throw ConfigError(Error::missing, path, path + " is missing: expected " + std::string(expected));
}

/// The factor product, refused beyond the greatest extent. `path` names what is formed.
inline std::uint32_t extent_product(const std::string& path, std::uint64_t a, std::uint64_t b) {
  const Checked product = Checked{a} * Checked{b};
  if (product.overflowed() || product.value() > max_extent)
    refuse(Error::overflow, path, std::to_string(a) + " * " + std::to_string(b),
           "a product of at most 67108864");
  return static_cast<std::uint32_t>(product.value());
}

/// One element or field as a whole number from `lowest` to `highest`. Errors: `bad_argument` (not a
/// whole number, too small), `overflow` (too large).
inline std::int64_t whole_number(const Json& value, const std::string& path, std::int64_t lowest,
                                 std::int64_t highest) {
  const bool large = (value.is_number_unsigned() &&
                      value.get<std::uint64_t>() > static_cast<std::uint64_t>(highest)) ||
                     (value.is_number_integer() && !value.is_number_unsigned() &&
                      value.get<std::int64_t>() > highest) ||
                     (value.is_number_float() && value.get<double>() > 1e18);
  if (large) refuse(Error::overflow, path, printable(value), "at most " + std::to_string(highest));
  if (!value.is_number_integer() || value.get<std::int64_t>() < lowest)
    refuse(Error::bad_argument, path, printable(value),
           lowest == 1 ? "a positive whole number"
                       : "a whole number of at least " + std::to_string(lowest));
  return value.get<std::int64_t>();
}

/// One object of the document. Cheap to copy; refers to the document, which must outlive it. A
/// field whose value is `null` counts as absent. Fields that start with `_` are never asked for.
class Fields {
 public:
  using Names = std::initializer_list<std::string_view>;  ///< spellings, the preferred one first

  explicit Fields(const Json& object, std::string prefix = {})
      : object_(&object), prefix_(std::move(prefix)) {}

  std::string path(std::string_view name) const { return prefix_ + std::string(name); }
  static std::string element(const std::string& path, std::size_t index) {
    return path + "[" + std::to_string(index) + "]";
  }

  /// Whether the key is there at all, be it `null`.
  bool contains(std::string_view name) const { return object_->contains(name); }

  /// The value, or null where it is absent.
  const Json* find(std::string_view name) const {
    const auto at = object_->find(name);
    return at == object_->end() || at->is_null() ? nullptr : &*at;
  }

  /// The first spelling that is present, or an empty name.
  std::string_view first_of(Names names) const {
    for (const std::string_view name : names)
      if (find(name) != nullptr) return name;
    return {};
  }

  /// A positive number of at most `max_extent`.
  std::optional<std::uint32_t> optional_extent(Names names,
                                               std::uint32_t highest = max_extent) const {
    const std::string_view name = first_of(names);
    if (name.empty()) return std::nullopt;
    return static_cast<std::uint32_t>(whole_number(*find(name), path(name), 1, highest));
  }

  std::uint32_t extent(Names names, std::uint32_t highest = max_extent) const {
    const auto value = optional_extent(names, highest);
    if (!value) refuse_missing(path(*names.begin()), "a positive whole number");
    return *value;
  }

  /// `num_hidden_layers`.
  std::uint32_t hidden_layers() const { return extent({"num_hidden_layers"}, max_layers); }

  /// A number of layers that may be zero, the default.
  std::uint32_t layer_count(Names names) const {
    const std::string_view name = first_of(names);
    if (name.empty()) return 0;
    return static_cast<std::uint32_t>(whole_number(*find(name), path(name), 0, max_layers));
  }

  /// A number for which some families write -1 to say that it is not set.
  std::optional<std::uint32_t> extent_unless_negative(std::string_view name) const {
    const Json* value = find(name);
    if (value == nullptr) return std::nullopt;
    const std::int64_t number =
        whole_number(*value, path(name), std::numeric_limits<std::int64_t>::min(), max_extent);
    if (number <= 0) return std::nullopt;
    return static_cast<std::uint32_t>(number);
  }

  bool boolean(std::string_view name, bool fallback) const {
    const Json* value = find(name);
    if (value == nullptr) return fallback;
    if (!value->is_boolean())
      refuse(Error::bad_argument, path(name), printable(*value), "true or false");
    return value->get<bool>();
  }

  const std::string* optional_text(std::string_view name) const {
    const Json* value = find(name);
    if (value == nullptr) return nullptr;
    if (!value->is_string()) refuse(Error::bad_argument, path(name), printable(*value), "a text");
    return value->get_ptr<const std::string*>();
  }

  /// An element type by name; absent and `auto` alike are no choice.
  std::optional<DataType> data_type(std::string_view name) const {
    const std::string* text = optional_text(name);
    if (text == nullptr || *text == "auto") return std::nullopt;
    const auto type = parse_data_type(*text);
    if (!type)
      refuse(type.error(), path(name), printable(*find(name)),
             "an element type such as bfloat16 or float32");
    return *type;
  }

  const Json& list(std::string_view name) const {
    const Json* value = find(name);
    if (value == nullptr) refuse_missing(path(name), "a list");
    if (!value->is_array()) refuse(Error::bad_argument, path(name), printable(*value), "a list");
    return *value;
  }

  std::optional<Fields> optional_object(std::string_view name) const {
    const Json* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_object())
      refuse(Error::bad_argument, path(name), printable(*value), "an object");
    return Fields(*value, path(name) + ".");
  }

 private:
  const Json* object_;
  std::string prefix_;
};

}  // namespace detail

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
