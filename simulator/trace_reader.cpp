#include "simulator/trace_reader.hpp"

#include <charconv>
#include <cstddef>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "simulator/azure_time.hpp"
#include "simulator/trace_fields.hpp"
#include "simulator/trace_lines.hpp"

namespace hybridmem_simulator {

namespace {

constexpr std::string_view azure_header = "TIMESTAMP,ContextTokens,GeneratedTokens";
constexpr Tokens mooncake_chunk_tokens = 512;
constexpr double latest_arrival_s = 1e9;  // 31 years
constexpr Tokens largest_chunk_tokens = 1U << 20U;
constexpr const char* a_length = "a whole number from 1 to 4294967295";
constexpr const char* a_time = "a number of at least 0";

class Reader {
 public:
  Reader(std::istream& stream, const std::string& name, const TraceOptions& options)
      : lines_(stream, name), options_(options) {
    workload_.name = name;
    workload_.has_sharing = false;
  }

  Workload read() {
    if (!(options_.rate_scale >= 1e-6 && options_.rate_scale <= 1e6))
      throw TraceError(TraceFault::bad_option, lines_.name(), 0, "rate scale out of range",
                       "a number from 0.000001 to 1000000");
    if (!lines_.next()) refuse_empty();
    switch (trace_format_of(lines_.text(), lines_.name())) {
      case TraceFormat::hybridmem:
        read_header();
        while (wanted() && lines_.next()) read_own();
        break;
      case TraceFormat::mooncake:
        workload_.chunk_tokens = mooncake_chunk_tokens;
        do read_mooncake();
        while (wanted() && lines_.next());
        break;
      case TraceFormat::azure:
        while (wanted() && lines_.next()) read_azure();
        break;
    }
    if (workload_.requests.empty()) refuse_empty();
    return std::move(workload_);
  }

 private:
  bool wanted() const noexcept {
    return options_.max_requests == 0 || workload_.requests.size() < options_.max_requests;
  }

  [[noreturn]] void refuse_empty() const {
    throw TraceError(TraceFault::empty, lines_.name(), 0, "no request in it",
                     "at least one request");
  }

  void parse_fields(std::initializer_list<std::string_view> known) {
    if (lines_.text().empty())
      lines_.refuse(TraceFault::malformed, "an empty line", "a JSON object");
    if (!fields_.parse(lines_.text()))
      lines_.refuse(fields_.fault().fault, fields_.fault().reason, "a JSON object");
    if (options_.allow_unknown_fields) return;
    for (const TraceField& field : fields_.fields()) {
      bool found = false;
      for (const std::string_view name : known) found = found || field.name == name;
      if (found) continue;
      std::string expected = "only";
      for (const std::string_view name : known) expected.append(" ").append(name);
      lines_.refuse(TraceFault::unknown_field, "a field of another name", expected);
    }
  }

  const TraceField& needed(const std::string& name, const char* expected) const {
    const TraceField* const field = fields_.find(name);
    if (field == nullptr) lines_.refuse(TraceFault::missing_field, name + " is missing", expected);
    return *field;
  }

  [[noreturn]] void refuse_kind(const std::string& name, FieldKind kind,
                                const char* expected) const {
    if (kind == FieldKind::negative)
      lines_.refuse(TraceFault::negative, name + " is negative", expected);
    if (kind == FieldKind::too_large)
      lines_.refuse(TraceFault::overflow, name + " is too large", expected);
    lines_.refuse(TraceFault::wrong_type, name + " is of another type", expected);
  }

  Tokens length(const std::string& name) const {
    const TraceField& field = needed(name, a_length);
    if (field.kind != FieldKind::whole) refuse_kind(name, field.kind, a_length);
    return checked_length(name, field.whole);
  }

  Tokens checked_length(const std::string& name, std::uint64_t value) const {
    if (value == 0) lines_.refuse(TraceFault::zero_length, name + " is 0", a_length);
    if (value > std::numeric_limits<Tokens>::max())
      lines_.refuse(TraceFault::overflow, name + " is too large", a_length);
    return static_cast<Tokens>(value);
  }

  double time_s(const std::string& name, double units_per_s) const {
    const TraceField& field = needed(name, a_time);
    if (field.kind != FieldKind::whole && field.kind != FieldKind::real)
      refuse_kind(name, field.kind, a_time);
    if (field.real < 0.0) refuse_kind(name, FieldKind::negative, a_time);
    return field.real / units_per_s;
  }

  // Checks what all formats have in common and appends the request.
  void add(double arrival_s, Tokens input, Tokens output, std::uint64_t salt,
           std::span<const std::uint64_t> chunks) {
    if (arrival_s > latest_arrival_s)
      lines_.refuse(TraceFault::overflow, "the arrival is too late",
                    "at most 1000000000 seconds from the start");
    if (arrival_s < last_arrival_s_)
      lines_.refuse(TraceFault::out_of_order, "the arrival is before that of the line above",
                    "arrivals that do not decrease");
    if (std::uint64_t{input} + output > std::numeric_limits<Tokens>::max())
      lines_.refuse(TraceFault::overflow, "input and output are too long together",
                    "a sum of at most 4294967295 tokens");
    if (workload_.chunks.size() + chunks.size() > std::numeric_limits<std::uint32_t>::max())
      lines_.refuse(TraceFault::overflow, "too many chunks in all", "at most 4294967295");
    last_arrival_s_ = arrival_s;
    Request request;
    request.arrival_s = arrival_s / options_.rate_scale;
    request.input_tokens = input;
    request.output_tokens = output;
    request.salt = salt;
    request.first_chunk = static_cast<std::uint32_t>(workload_.chunks.size());
    const std::size_t whole = input / workload_.chunk_tokens;
    const std::size_t kept = chunks.size() < whole ? chunks.size() : whole;
    request.chunk_count = static_cast<std::uint32_t>(kept);
    workload_.chunks.insert(workload_.chunks.end(), chunks.begin(),
                            chunks.begin() + static_cast<std::ptrdiff_t>(kept));
    workload_.requests.push_back(request);
  }

  // The numbers in the list `name`, checked; there may be one for a last partial chunk.
  std::span<const std::uint64_t> numbers(const std::string& name, Tokens input,
                                         bool all_needed) const {
    constexpr const char* expected = "an array of whole numbers from 0 to 18446744073709551615";
    const TraceField& field = needed(name, expected);
    if (field.kind != FieldKind::list) refuse_kind(name, FieldKind::other, expected);
    if (field.list_fault != FieldKind::whole)
      refuse_kind("a number of " + name, field.list_fault, expected);
    const std::span<const std::uint64_t> all = fields_.numbers(field);
    const std::size_t whole = input / workload_.chunk_tokens;
    const std::size_t most = whole + (input % workload_.chunk_tokens > 0 ? 1 : 0);
    const std::string has = name + " has " + std::to_string(all.size()) + " numbers";
    if (all_needed && all.size() < whole)
      lines_.refuse(TraceFault::few_hashes, has, "at least " + std::to_string(whole));
    if (all.size() > most)
      lines_.refuse(TraceFault::many_hashes, has, "at most " + std::to_string(most));
    return all;
  }

  void read_header() {
    parse_fields({"hybridmem_trace", "chunk_tokens"});
    const TraceField& version = needed("hybridmem_trace", "1");
    if (version.kind != FieldKind::whole || version.whole != 1)
      lines_.refuse(TraceFault::unknown_format, "hybridmem_trace is of another version", "1");
    constexpr const char* expected = "a whole number from 1 to 1048576";
    const TraceField& chunk = needed("chunk_tokens", expected);
    if (chunk.kind != FieldKind::whole) refuse_kind("chunk_tokens", chunk.kind, expected);
    if (chunk.whole == 0) lines_.refuse(TraceFault::zero_length, "chunk_tokens is 0", expected);
    if (chunk.whole > largest_chunk_tokens)
      lines_.refuse(TraceFault::overflow, "chunk_tokens is too large", expected);
    workload_.chunk_tokens = static_cast<Tokens>(chunk.whole);
  }

  void read_own() {
    parse_fields({"arrival_s", "input_tokens", "output_tokens", "chunks", "salt"});
    const double arrival_s = time_s("arrival_s", 1.0);
    const Tokens input = length("input_tokens");
    const Tokens output = length("output_tokens");
    std::uint64_t salt = 0;
    if (const TraceField* const field = fields_.find("salt")) {
      if (field->kind != FieldKind::whole)
        refuse_kind("salt", field->kind, "a whole number from 0 to 18446744073709551615");
      salt = field->whole;
    }
    const bool named = fields_.find("chunks") != nullptr;
    workload_.has_sharing = workload_.has_sharing || named;
    add(arrival_s, input, output, salt,
        named ? numbers("chunks", input, false) : std::span<const std::uint64_t>{});
  }

  void read_mooncake() {
    parse_fields({"timestamp", "input_length", "output_length", "hash_ids"});
    const double arrival_s = time_s("timestamp", 1000.0);
    const Tokens input = length("input_length");
    const Tokens output = length("output_length");
    const bool named = fields_.find("hash_ids") != nullptr;
    if (workload_.requests.empty()) workload_.has_sharing = named;
    if (named && !workload_.has_sharing)
      lines_.refuse(TraceFault::unknown_field, "hash_ids here, but not in the first line",
                    "hash_ids in every line or in none");
    add(arrival_s, input, output, 0,
        workload_.has_sharing ? numbers("hash_ids", input, true)
                              : std::span<const std::uint64_t>{});
  }

  void read_azure() {
    const std::string_view line = lines_.text();
    const std::size_t first = line.find(',');
    const std::size_t second = first == std::string_view::npos ? first : line.find(',', first + 1);
    if (second == std::string_view::npos || line.find(',', second + 1) != std::string_view::npos)
      lines_.refuse(TraceFault::malformed, "not three columns", std::string(azure_header));
    const auto time = parse_azure_time(line.substr(0, first));
    if (!time)
      lines_.refuse(TraceFault::wrong_type, "TIMESTAMP is not a time",
                    "a time such as 2023-11-16 18:17:03.9799600");
    if (workload_.requests.empty()) first_time_ns_ = *time;
    if (*time < first_time_ns_)
      lines_.refuse(TraceFault::out_of_order, "the arrival is before that of the first line",
                    "arrivals that do not decrease");
    const double arrival_s = static_cast<double>(*time - first_time_ns_) / 1e9;
    const Tokens input = column("ContextTokens", line.substr(first + 1, second - first - 1));
    const Tokens output = column("GeneratedTokens", line.substr(second + 1));
    add(arrival_s, input, output, 0, {});
  }

  Tokens column(const std::string& name, std::string_view cell) const {
    std::uint64_t value = 0;
    const bool negative = cell.starts_with('-');
    const std::string_view digits = negative ? cell.substr(1) : cell;
    const char* const end = digits.data() + digits.size();
    const auto [rest, problem] = std::from_chars(digits.data(), end, value);
    if (rest != end || problem == std::errc::invalid_argument)
      refuse_kind(name, FieldKind::other, a_length);
    if (negative) refuse_kind(name, FieldKind::negative, a_length);
    if (problem != std::errc{}) refuse_kind(name, FieldKind::too_large, a_length);
    return checked_length(name, value);
  }

  TraceLines lines_;
  TraceOptions options_;
  TraceFields fields_;
  Workload workload_;
  double last_arrival_s_ = 0.0;
  std::int64_t first_time_ns_ = 0;
};

}  // namespace

TraceFormat trace_format_of(const std::string& first_line, const std::string& name) {
  constexpr const char* known =
      "a trace of hybridmem (a header with hybridmem_trace), of Mooncake (JSON lines with "
      "timestamp, "
      "input_length, output_length, hash_ids) or of Azure "
      "(TIMESTAMP,ContextTokens,GeneratedTokens)";
  if (first_line == azure_header) return TraceFormat::azure;
  if (first_line.starts_with('{')) {
    TraceFields fields;
    if (!fields.parse(first_line))
      throw TraceError(fields.fault().fault, name, 1, fields.fault().reason, "a JSON object");
    if (fields.find("hybridmem_trace") != nullptr) return TraceFormat::hybridmem;
    for (const char* const field : {"timestamp", "input_length", "output_length", "hash_ids"})
      if (fields.find(field) != nullptr) return TraceFormat::mooncake;
  }
  throw TraceError(TraceFault::unknown_format, name, 1, "a line that opens no known format", known);
}

Workload read_trace(std::istream& lines, const std::string& name, const TraceOptions& options) {
  return Reader(lines, name, options).read();
}

Workload read_trace(const std::filesystem::path& path, const TraceOptions& options) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw TraceError(TraceFault::unreadable, path.string(), 0, "cannot be opened",
                     "a readable file");
  return Reader(file, path.string(), options).read();
}

}  // namespace hybridmem_simulator
