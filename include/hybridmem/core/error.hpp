// The typed errors of the library, and what an error about one input says.
#pragma once

#include <cstdint>
#include <string>

#include "hybridmem/core/config.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// Why an operation was refused. Numbers are stable within a minor version.
enum class Error : std::uint8_t {
  none,
  bad_argument,   ///< a value outside its documented range
  missing,        ///< a required value was not given
  overflow,       ///< a product or sum exceeds the range of its type
  not_divisible,  ///< a quantity that must be split evenly cannot be
  not_hybrid,     ///< the model has no recurrent or convolution state to manage
  unknown_name,   ///< no model, dtype, layer kind or unit has that name
  layout,         ///< page, slot or interval do not fit each other
  capacity,       ///< a budget or a table is too small
};

/// The name of an error code, as spelled in the source.
constexpr const char* name_of(Error error) noexcept {
  switch (error) {
    case Error::none:
      return "none";
    case Error::bad_argument:
      return "bad_argument";
    case Error::missing:
      return "missing";
    case Error::overflow:
      return "overflow";
    case Error::not_divisible:
      return "not_divisible";
    case Error::not_hybrid:
      return "not_hybrid";
    case Error::unknown_name:
      return "unknown_name";
    case Error::layout:
      return "layout";
    case Error::capacity:
      return "capacity";
  }
  return "unknown";
}

/// An error about one input: which field, the value it had, and what was expected instead. Plain
/// data; the pointers refer to string literals and are null only in a default-constructed object.
struct InputError {
  Error code = Error::none;
  const char* field = nullptr;     ///< the name of the field, as the user spells it
  std::int64_t value = 0;          ///< the value it had
  const char* expected = nullptr;  ///< what would have been accepted
  std::int64_t lower = 0;          ///< nearest acceptable value below, 0 when there is none to name
  std::int64_t upper = 0;          ///< nearest acceptable value above, 0 when there is none to name

  friend constexpr bool operator==(const InputError& a, const InputError& b) noexcept {
    return a.code == b.code && a.value == b.value;
  }
};

/// One line for a person: `field = value: expected ... (nearest: lower or upper)`. Allocates.
inline std::string describe(const InputError& error) {
  if (error.field == nullptr) return name_of(error.code);
  std::string text = error.field;
  text += " = " + std::to_string(error.value) + ": expected ";
  text += error.expected;
  if (error.lower != 0 && error.upper != 0)
    text += "; nearest: " + std::to_string(error.lower) + " or " + std::to_string(error.upper);
  else if (error.lower != 0 || error.upper != 0)
    text += "; nearest: " + std::to_string(error.lower + error.upper);
  return text;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
