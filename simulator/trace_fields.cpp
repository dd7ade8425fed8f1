#include "simulator/trace_fields.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hybridmem_simulator {

// Receives the parser's events; what stands deeper than a list in the object is only counted.
class FieldCollector {
 public:
  explicit FieldCollector(TraceFields& out) : out_(out) {}

  bool null() { return value(FieldKind::other, 0, 0.0); }
  bool boolean(bool) { return value(FieldKind::other, 0, 0.0); }
  bool string(std::string&) { return value(FieldKind::other, 0, 0.0); }
  bool binary(nlohmann::json::binary_t&) { return value(FieldKind::other, 0, 0.0); }
  bool number_unsigned(std::uint64_t number) {
    return value(FieldKind::whole, number, static_cast<double>(number));
  }
  bool number_integer(std::int64_t number) {
    if (number >= 0) return number_unsigned(static_cast<std::uint64_t>(number));  // -0
    return value(FieldKind::negative, 0, static_cast<double>(number));
  }
  bool number_float(double number, const std::string& text) {
    // A whole number of more than 64 bits arrives here as well.
    if (text.find_first_of(".eE") != std::string::npos) return value(FieldKind::real, 0, number);
    return value(number < 0.0 ? FieldKind::negative : FieldKind::too_large, 0, number);
  }

  bool start_object(std::size_t) {
    if (depth_ == 0) {
      depth_ = 1;
      return true;
    }
    nested();
    ++depth_;
    return true;
  }
  bool start_array(std::size_t) {
    if (depth_ == 0) return refuse("not an object");
    if (depth_ == 1) {
      out_.fields_.back().kind = FieldKind::list;
      out_.fields_.back().list_first = out_.numbers_.size();
    } else {
      nested();
    }
    ++depth_;
    return true;
  }
  bool end_object() {
    --depth_;
    return true;
  }
  bool end_array() {
    --depth_;
    return true;
  }

  bool key(std::string& name) {
    if (depth_ != 1) return true;
    if (out_.find(name) != nullptr) {
      out_.fault_ = {TraceFault::duplicate_field, "a field twice"};
      return false;
    }
    out_.fields_.emplace_back().name = name;
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& error) {
    constexpr int out_of_range_number = 406;
    out_.fault_ =
        error.id == out_of_range_number
            ? LineFault{TraceFault::overflow, "a number beyond the range of a double"}
            : LineFault{TraceFault::malformed,
                        "not JSON at column " + std::to_string(std::max<std::size_t>(byte, 1))};
    return false;
  }

 private:
  bool refuse(const char* reason) {
    out_.fault_ = {TraceFault::malformed, reason};
    return false;
  }

  // A value that opens one level below what a field can hold.
  void nested() {
    TraceField& field = out_.fields_.back();
    if (depth_ == 1)
      field.kind = FieldKind::other;
    else if (field.kind == FieldKind::list && field.list_fault == FieldKind::whole)
      field.list_fault = FieldKind::other;
  }

  bool value(FieldKind kind, std::uint64_t whole, double real) {
    if (depth_ == 0) return refuse("not an object");
    TraceField& field = out_.fields_.back();
    if (depth_ == 1) {
      field.kind = kind;
      field.whole = whole;
      field.real = real;
    } else if (depth_ == 2 && field.kind == FieldKind::list) {
      if (kind == FieldKind::whole) {
        out_.numbers_.push_back(whole);
        ++field.list_count;
      } else if (field.list_fault == FieldKind::whole) {
        field.list_fault = kind;
      }
    }
    return true;
  }

  TraceFields& out_;
  std::size_t depth_ = 0;
};

bool TraceFields::parse(std::string_view line) {
  fields_.clear();
  numbers_.clear();
  if (line.starts_with('\xEF')) {  // a byte-order mark, which the parser would pass over
    fault_ = {TraceFault::malformed, "not JSON at column 1"};
    return false;
  }
  FieldCollector collector(*this);
  return nlohmann::json::sax_parse(line.begin(), line.end(), &collector);
}

const TraceField* TraceFields::find(std::string_view name) const noexcept {
  for (const TraceField& field : fields_)
    if (field.name == name) return &field;
  return nullptr;
}

}  // namespace hybridmem_simulator
