// The typed errors of the library, and what an error about one input says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hybridmem/core/config.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// Why an operation was refused. Numbers are stable within a minor version.
enum class Error : std::uint8_t {
  none,
  bad_argument,       ///< a value outside its documented range
  missing,            ///< a required value was not given
  overflow,           ///< a product or sum exceeds the range of its type
  not_divisible,      ///< a quantity that must be split evenly cannot be
  not_hybrid,         ///< the model has no recurrent or convolution state to manage
  unknown_name,       ///< no model, dtype, layer kind or unit has that name
  layout,             ///< page, slot or interval do not fit each other
  capacity,           ///< a budget or a table is too small
  stale_handle,       ///< the handle's sequence has ended
  wrong_state,        ///< the sequence or the step is not in a state that allows the call
  damaged,            ///< a failed step lost the state: truncate, preempt or abort
  shortfall,          ///< units are short; a release or a victim would help
  no_state,           ///< no state at that position is held
  position_mismatch,  ///< the exact state of that boundary is not held
  off_grid,           ///< not a position where checkpoints are kept
  keys_short,         ///< fewer keys than the tokens need
  old_epoch,          ///< the sequence began before the epoch advanced
  ticket_order,       ///< steps complete in order, and only so many may be in flight
  no_step,            ///< no step is open
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
    case Error::stale_handle:
      return "stale_handle";
    case Error::wrong_state:
      return "wrong_state";
    case Error::damaged:
      return "damaged";
    case Error::shortfall:
      return "shortfall";
    case Error::no_state:
      return "no_state";
    case Error::position_mismatch:
      return "position_mismatch";
    case Error::off_grid:
      return "off_grid";
    case Error::keys_short:
      return "keys_short";
    case Error::old_epoch:
      return "old_epoch";
    case Error::ticket_order:
      return "ticket_order";
    case Error::no_step:
      return "no_step";
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

  /// Equal when code, field and value are.
  friend constexpr bool operator==(const InputError& a, const InputError& b) noexcept {
    const auto text = [](const char* name) {
      return name == nullptr ? std::string_view{} : std::string_view{name};
    };
    return a.code == b.code && a.value == b.value && text(a.field) == text(b.field);
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
