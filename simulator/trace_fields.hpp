// TraceFields: the fields of one line of JSON, numbers and lists of numbers, without a document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/trace_error.hpp"

namespace hybridmem_simulator {

/// What a field of a trace line holds.
enum class FieldKind : std::uint8_t {
  whole,      ///< a whole number from 0 to 2^64 - 1
  real,       ///< any other number
  negative,   ///< a whole number below 0
  too_large,  ///< a whole number beyond 2^64 - 1
  list,       ///< an array of whole numbers
  other,      ///< a text, a flag, null, an object, or an array of anything else
};

struct TraceField {
  std::string name;
  FieldKind kind = FieldKind::other;
  std::uint64_t whole = 0;
  double real = 0.0;                        ///< the value of every number
  std::size_t list_first = 0;               ///< of a list: place of its first number
  std::size_t list_count = 0;               ///< of a list: whole numbers in it
  FieldKind list_fault = FieldKind::whole;  ///< of a list: its first element that is not whole
};

/// Of a line that cannot be read as fields.
struct LineFault {
  TraceFault fault = TraceFault::malformed;
  std::string reason;
};

/// The fields of a line that holds one JSON object. Reused from line to line, so that lists are
/// read into the same memory.
class TraceFields {
 public:
  /// Reads a line; false if it is not one JSON object or names a field twice: `fault()` says which.
  bool parse(std::string_view line);

  const LineFault& fault() const noexcept { return fault_; }
  const std::vector<TraceField>& fields() const noexcept { return fields_; }
  /// The field called `name`, or null.
  const TraceField* find(std::string_view name) const noexcept;
  /// The whole numbers of a list of this line.
  std::span<const std::uint64_t> numbers(const TraceField& list) const noexcept {
    return std::span<const std::uint64_t>(numbers_).subspan(list.list_first, list.list_count);
  }

 private:
  friend class FieldCollector;

  std::vector<TraceField> fields_;
  std::vector<std::uint64_t> numbers_;
  LineFault fault_;
};

}  // namespace hybridmem_simulator
