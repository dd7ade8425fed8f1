// Traces in three formats: what is read, and that whatever is wrong is refused with its line.
#include "simulator/trace_reader.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulator/azure_time.hpp"
#include "simulator/trace_lines.hpp"

namespace {

using namespace hybridmem_simulator;

Workload read(const std::string& text, const TraceOptions& options = {}) {
  std::istringstream lines(text);
  return read_trace(lines, "trace", options);
}

// Reads what must be refused, and gives the error.
TraceError refused(const std::string& text, const TraceOptions& options = {}) {
  try {
    read(text, options);
  } catch (const TraceError& error) {
    const std::string message = error.what();
    CHECK(message.find('\n') == std::string::npos);
    CHECK(message.find("; expected ") != std::string::npos);
    return error;
  }
  FAIL("not refused: " << text.substr(0, 200));
  return {TraceFault::empty, "", 0, "", ""};
}

void check_refused(const std::string& text, TraceFault fault, std::size_t line) {
  CAPTURE(text.substr(0, 300));
  const TraceError error = refused(text);
  CAPTURE(std::string(error.what()));
  CHECK(std::string(name_of(error.fault())) == name_of(fault));
  CHECK(error.line() == line);
}

std::vector<std::uint64_t> chunks_of(const Workload& workload, std::size_t request) {
  const Request& r = workload.requests.at(request);
  const auto first = workload.chunks.begin() + r.first_chunk;
  return {first, first + r.chunk_count};
}

const std::string mooncake_line =
    "{\"timestamp\": 27482, \"input_length\": 1030, \"output_length\": 5, \"hash_ids\": [7, 8, "
    "9]}\n";
const std::string own_header = "{\"hybridmem_trace\":1,\"chunk_tokens\":16}\n";
const std::string own_line = "{\"arrival_s\":0.5,\"input_tokens\":40,\"output_tokens\":3}\n";
const std::string azure_header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
const std::string azure_line = "2023-11-16 18:17:03.9799600,4808,10\n";

std::string own(const std::string& fields) {
  return own_header + "{" + fields + "}\n";
}

std::string mooncake(const std::string& timestamp, const std::string& input,
                     const std::string& output, const std::string& hashes) {
  return "{\"timestamp\":" + timestamp + ",\"input_length\":" + input +
         ",\"output_length\":" + output + ",\"hash_ids\":" + hashes + "}\n";
}

}  // namespace

TEST_CASE("Mooncake: lengths, milliseconds, numbers of whole chunks") {
  const Workload workload =
      read(mooncake_line + mooncake("27482", "1024", "1", "[7,8]") +
           mooncake("30000.5", "511", "2", "[]") + mooncake("30001", "511", "2", "[3]"));
  CHECK(workload.name == "trace");
  CHECK(workload.has_sharing);
  CHECK(workload.chunk_tokens == 512);
  REQUIRE(workload.requests.size() == 4);
  CHECK(workload.requests[0].arrival_s == 27.482);
  CHECK(workload.requests[0].input_tokens == 1'030);
  CHECK(workload.requests[0].output_tokens == 5);
  CHECK(workload.requests[0].salt == 0);
  // The number of the last 6 tokens is dropped: they belong to the request alone.
  CHECK(chunks_of(workload, 0) == std::vector<std::uint64_t>{7, 8});
  CHECK(chunks_of(workload, 1) == std::vector<std::uint64_t>{7, 8});
  CHECK(workload.requests[2].arrival_s == 30.0005);
  CHECK(chunks_of(workload, 2).empty());
  CHECK(chunks_of(workload, 3).empty());
}

TEST_CASE("Mooncake without hashes has no sharing, and says so") {
  const std::string line = "{\"timestamp\":0,\"input_length\":600,\"output_length\":5}\n";
  const Workload workload = read(line + line);
  CHECK_FALSE(workload.has_sharing);
  CHECK(workload.requests.size() == 2);
  CHECK(workload.chunks.empty());
  check_refused(line + mooncake("1", "600", "5", "[1]"), TraceFault::unknown_field, 2);
  check_refused(mooncake("1", "600", "5", "[1]") + line, TraceFault::missing_field, 2);
}

TEST_CASE("Azure: lengths, and times to the tenth of a microsecond from the first") {
  const Workload workload =
      read(azure_header + azure_line + "2023-11-16 18:17:04.0319601,3180,8\n" +
           "2023-11-17 00:00:00,1,1");
  CHECK_FALSE(workload.has_sharing);
  REQUIRE(workload.requests.size() == 3);
  CHECK(workload.requests[0].arrival_s == 0.0);
  CHECK(workload.requests[0].input_tokens == 4'808);
  CHECK(workload.requests[0].output_tokens == 10);
  CHECK(workload.requests[1].arrival_s == 0.0520001);
  CHECK(workload.requests[2].arrival_s == doctest::Approx(20'576.02004));
  CHECK(workload.requests[2].chunk_count == 0);
}

TEST_CASE("Azure's times") {
  constexpr std::int64_t second = 1'000'000'000;
  CHECK(parse_azure_time("1970-01-02 00:00:01") == 86'401 * second);
  CHECK(parse_azure_time("2023-11-16 18:17:03.9799600") == 1'700'158'623 * second + 979'960'000);
  CHECK(parse_azure_time("2024-02-29 00:00:00.000000001Z") == 1'709'164'800 * second + 1);
  CHECK(parse_azure_time("1970-01-01 01:00:00.5+00:30") == 1'800 * second + second / 2);
  CHECK(parse_azure_time("1970-01-01 00:00:00-01:00") == 3'600 * second);
  for (const char* const text :
       {"", "2023-11-16", "2023-11-16T18:17:03", "2023-13-16 18:17:03", "2023-02-29 18:17:03",
        "2023-11-16 24:17:03", "2023-11-16 18:60:03", "2023-11-16 18:17:60", "2023-11-16 18:17:03.",
        "2023-11-16 18:17:03.1234567890", "2023-11-16 18:17:03 ", "1969-12-31 23:59:59",
        "2023-11-16 18:17:03+24:00", "2023-11-16 18:17:03+0000", "2023-11-16 18:17:-3"}) {
    CAPTURE(text);
    CHECK(parse_azure_time(text) == std::nullopt);
  }
}

TEST_CASE("the project's own format") {
  const Workload workload = read(
      own_header +
      "{\"arrival_s\":0.25,\"input_tokens\":40,\"output_tokens\":3,\"chunks\":[4,5]}\n" +
      "{\"output_tokens\":1,\"input_tokens\":100,\"arrival_s\":1,\"chunks\":[4]}\n" +
      "{\"arrival_s\":1e1,\"input_tokens\":100,\"output_tokens\":1,\"salt\":18446744073709551615}");
  CHECK(workload.has_sharing);
  CHECK(workload.chunk_tokens == 16);
  REQUIRE(workload.requests.size() == 3);
  CHECK(workload.requests[0].arrival_s == 0.25);
  CHECK(chunks_of(workload, 0) == std::vector<std::uint64_t>{4, 5});
  CHECK(chunks_of(workload, 1) == std::vector<std::uint64_t>{4});
  CHECK(workload.requests[2].arrival_s == 10.0);
  CHECK(workload.requests[2].chunk_count == 0);
  CHECK(workload.requests[2].salt == std::numeric_limits<std::uint64_t>::max());
  CHECK_FALSE(read(own_header + own_line).has_sharing);
}

TEST_CASE("formats are told apart by the first line") {
  CHECK(trace_format_of("{\"hybridmem_trace\":1}", "") == TraceFormat::hybridmem);
  CHECK(trace_format_of("{\"hash_ids\":[]}", "") == TraceFormat::mooncake);
  CHECK(trace_format_of("TIMESTAMP,ContextTokens,GeneratedTokens", "") == TraceFormat::azure);
  for (const char* const text : {"hello\n", "\n", "{}\n", "{\"a\":1}\n", "[1]\n",
                                 "TIMESTAMP,ContextTokens\n", "arrival_tick,prompt_len,gen_len\n"})
    check_refused(text, TraceFault::unknown_format, 1);
  check_refused("{\"timestamp\": 0, \"inp", TraceFault::malformed, 1);
  check_refused("{\"hybridmem_trace\":2,\"chunk_tokens\":16}\n", TraceFault::unknown_format, 1);
  CHECK(std::string(name_of(TraceFormat::azure)) == "azure");
}

TEST_CASE("a trace without a request is refused") {
  check_refused("", TraceFault::empty, 0);
  check_refused(own_header, TraceFault::empty, 0);
  check_refused(azure_header, TraceFault::empty, 0);
}

TEST_CASE("lines that are wrong are refused with their number") {
  using enum TraceFault;
  // Not a record.
  check_refused(mooncake_line + "\n" + mooncake_line, malformed, 2);
  check_refused(mooncake_line + "\n", malformed, 2);
  check_refused(mooncake_line + "[]\n", malformed, 2);
  check_refused(mooncake_line + "7\n", malformed, 2);
  check_refused(mooncake_line + mooncake_line.substr(0, 50), malformed, 2);
  check_refused(mooncake_line.substr(0, mooncake_line.size() - 1) + " {}\n", malformed, 1);
  check_refused(mooncake_line + "{\"timestamp\":\"\xFF\"}\n", malformed, 2);
  check_refused(azure_header + "2023-11-16 18:17:03,1\n", malformed, 2);
  check_refused(azure_header + "2023-11-16 18:17:03,1,2,3\n", malformed, 2);
  check_refused(azure_header + azure_line + "\n", malformed, 3);
  // Fields.
  check_refused(own("\"arrival_s\":0,\"input_tokens\":1"), missing_field, 2);
  check_refused(own("\"input_tokens\":1,\"output_tokens\":1"), missing_field, 2);
  check_refused("{\"hybridmem_trace\":1}\n" + own_line, missing_field, 1);
  check_refused("{\"timestamp\":0}\n", missing_field, 1);
  check_refused(own("\"arrival_s\":0,\"input_tokens\":1,\"output_tokens\":1,\"chunk\":[]"),
                unknown_field, 2);
  check_refused(own("\"arrival_s\":0,\"input_tokens\":1,\"input_tokens\":2,\"output_tokens\":1"),
                duplicate_field, 2);
  // Types.
  check_refused(mooncake("\"0\"", "1", "1", "[]"), wrong_type, 1);
  check_refused(mooncake("0", "1.5", "1", "[]"), wrong_type, 1);
  check_refused(mooncake("0", "1", "true", "[]"), wrong_type, 1);
  check_refused(mooncake("0", "1", "[1]", "[]"), wrong_type, 1);
  check_refused(mooncake("0", "1", "{\"a\":{\"timestamp\":[1]}}", "[]"), wrong_type, 1);
  check_refused(mooncake("0", "1", "1", "null"), wrong_type, 1);
  check_refused(mooncake("0", "600", "1", "[1.0]"), wrong_type, 1);
  check_refused(mooncake("0", "600", "1", "[\"1\"]"), wrong_type, 1);
  check_refused(mooncake("0", "600", "1", "[[1]]"), wrong_type, 1);
  check_refused(mooncake("0", "600", "1", "[{\"a\":1}]"), wrong_type, 1);
  check_refused(azure_header + "yesterday,1,1\n", wrong_type, 2);
  check_refused(azure_header + "2023-11-16 18:17:03,1.5,1\n", wrong_type, 2);
  check_refused(azure_header + "2023-11-16 18:17:03,,1\n", wrong_type, 2);
  check_refused(azure_header + "2023-11-16 18:17:03,1,-\n", wrong_type, 2);
  check_refused("{\"hybridmem_trace\":1,\"chunk_tokens\":1.5}\n", wrong_type, 1);
  check_refused(own("\"arrival_s\":0,\"input_tokens\":1,\"output_tokens\":1,\"salt\":\"a\""),
                wrong_type, 2);
  // Zero, negative, too large.
  check_refused(mooncake("0", "0", "1", "[]"), zero_length, 1);
  check_refused(mooncake("0", "1", "0", "[]"), zero_length, 1);
  check_refused(azure_header + "2023-11-16 18:17:03,0,1\n", zero_length, 2);
  check_refused("{\"hybridmem_trace\":1,\"chunk_tokens\":0}\n", zero_length, 1);
  check_refused(mooncake("-1", "1", "1", "[]"), negative, 1);
  check_refused(mooncake("-0.5", "1", "1", "[]"), negative, 1);
  check_refused(mooncake("0", "-1", "1", "[]"), negative, 1);
  check_refused(mooncake("0", "600", "1", "[-1]"), negative, 1);
  check_refused(azure_header + "2023-11-16 18:17:03,1,-1\n", negative, 2);
  check_refused(own("\"arrival_s\":0,\"input_tokens\":1,\"output_tokens\":1,\"salt\":-1"), negative,
                2);
  check_refused(mooncake("0", "4294967296", "1", "[]"), overflow, 1);
  check_refused(mooncake("0", "18446744073709551616", "1", "[]"), overflow, 1);
  check_refused(mooncake("0", "1", "4294967295", "[]"), overflow, 1);
  check_refused(mooncake("0", "600", "1", "[18446744073709551616]"), overflow, 1);
  check_refused(mooncake("1e999", "1", "1", "[]"), overflow, 1);
  check_refused(mooncake("1e300", "1", "1", "[]"), overflow, 1);
  check_refused(azure_header + "2023-11-16 18:17:03,99999999999999999999,1\n", overflow, 2);
  check_refused(azure_header + "2023-11-16 18:17:03,4294967296,1\n", overflow, 2);
  check_refused("{\"hybridmem_trace\":1,\"chunk_tokens\":1048577}\n", overflow, 1);
  // Order.
  check_refused(mooncake("2", "1", "1", "[]") + mooncake("1", "1", "1", "[]"), out_of_order, 2);
  check_refused(own_header + own_line + own_line +
                    "{\"arrival_s\":0.4,\"input_tokens\":40,\"output_tokens\":3}\n",
                out_of_order, 4);
  check_refused(azure_header + azure_line + "2023-11-16 18:17:03.9799599,1,1\n", out_of_order, 3);
  check_refused(azure_header + "2023-11-16 18:17:03,1,1\n2023-11-16 18:17:05,1,1\n" +
                    "2023-11-16 18:17:04,1,1\n",
                out_of_order, 4);
  // Numbers of chunks.
  check_refused(mooncake("0", "1030", "5", "[7]"), few_hashes, 1);
  check_refused(mooncake("0", "1030", "5", "[7,8,9,10]"), many_hashes, 1);
  check_refused(mooncake("0", "1024", "5", "[7,8,9]"), many_hashes, 1);
  check_refused(own("\"arrival_s\":0,\"input_tokens\":16,\"output_tokens\":1,\"chunks\":[1,2]"),
                many_hashes, 2);
}

TEST_CASE("an error names the file, the line, the reason and what was expected") {
  const TraceError error = refused(mooncake_line + mooncake("27483", "0", "1", "[]"));
  CHECK(std::string(error.what()) ==
        "trace:2: input_length is 0; expected a whole number from 1 to 4294967295");
  CHECK(error.reason() == "input_length is 0");
  CHECK(error.expected() == "a whole number from 1 to 4294967295");
}

TEST_CASE("Windows line ends, a byte-order mark and a missing last line end are read") {
  CHECK(read("\xEF\xBB\xBF"
             "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
             "2023-11-16 18:17:03.9799600,4808,10\r\n2023-11-16 18:17:04,1,1")
            .requests.size() == 2);
  CHECK(read(own_header + "{\"arrival_s\":0,\"input_tokens\":1,\"output_tokens\":1}\r\n")
            .requests.size() == 1);
  check_refused(own_header + "\xEF\xBB\xBF" + own_line, TraceFault::malformed, 2);
}

TEST_CASE("options: the first requests, a higher rate, fields of other names") {
  const std::string text = own_header + own_line + own_line + "nonsense\n";
  CHECK(read(text, {.max_requests = 2}).requests.size() == 2);
  CHECK(refused(text, {.max_requests = 3}).line() == 4);
  CHECK(read(own_header + own_line, {.rate_scale = 2.0}).requests[0].arrival_s == 0.25);
  for (const double scale : {0.0, -1.0, 1e7, std::numeric_limits<double>::quiet_NaN()})
    CHECK(refused(text, {.rate_scale = scale}).fault() == TraceFault::bad_option);
  const std::string more =
      "{\"timestamp\":0,\"input_length\":600,\"hash_ids\":[5],\"output_length\":5,\"type\":\"a\","
      "\"tags\":[1,2,{\"x\":[3]}],\"hashes\":[8,9]}\n";
  CHECK(refused(more).fault() == TraceFault::unknown_field);
  const Workload workload = read(more, {.allow_unknown_fields = true});
  CHECK(chunks_of(workload, 0) == std::vector<std::uint64_t>{5});
}

TEST_CASE("a line without an end is not stored without an end") {
  const std::string text = own_header + std::string(max_trace_line_bytes + 1, ' ');
  check_refused(text, TraceFault::line_too_long, 2);
  CHECK(refused(own_header + std::string(2'000'000, '[')).fault() == TraceFault::malformed);
  CHECK(refused(own_header + "{\"a\":" + std::string(2'000'000, '[')).fault() ==
        TraceFault::malformed);
}

TEST_CASE("files that cannot be read are refused") {
  const auto fault_of = [](const std::filesystem::path& path) {
    try {
      read_trace(path);
    } catch (const TraceError& error) {
      CHECK(error.line() <= 1);
      return error.fault();
    }
    return TraceFault::bad_option;
  };
  CHECK(fault_of("no/such/trace.jsonl") == TraceFault::unreadable);
  CHECK(fault_of(std::filesystem::temp_directory_path()) == TraceFault::unreadable);
  std::istream nowhere(nullptr);
  CHECK_THROWS_AS(read_trace(nowhere, "nowhere"), TraceError);
}

TEST_CASE("what is written is read back the same") {
  Workload workload;
  workload.chunk_tokens = 16;
  workload.chunks = {1, 2, 3, std::numeric_limits<std::uint64_t>::max()};
  workload.requests = {
      {.arrival_s = 0.0, .input_tokens = 1, .output_tokens = 1},
      {.arrival_s = 0.1, .input_tokens = 50, .output_tokens = 2, .chunk_count = 3},
      {.arrival_s = 1.0 / 3.0,
       .input_tokens = 4'294'967'000,
       .output_tokens = 295,
       .first_chunk = 1,
       .chunk_count = 3,
       .salt = 99},
      {.arrival_s = 123'456'789.123456789, .input_tokens = 16, .output_tokens = 1}};
  for (const bool sharing : {true, false}) {
    workload.has_sharing = sharing;
    std::stringstream text;
    write_trace(text, workload);
    const Workload again = read_trace(text, "again");
    CHECK(again.has_sharing == sharing);
    CHECK(again.chunk_tokens == 16);
    REQUIRE(again.requests.size() == workload.requests.size());
    for (std::size_t i = 0; i < again.requests.size(); ++i) {
      CHECK(again.requests[i].arrival_s == workload.requests[i].arrival_s);
      CHECK(again.requests[i].input_tokens == workload.requests[i].input_tokens);
      CHECK(again.requests[i].output_tokens == workload.requests[i].output_tokens);
      CHECK(again.requests[i].salt == workload.requests[i].salt);
      if (sharing)
        CHECK(chunks_of(again, i) == chunks_of(workload, i));
      else
        CHECK(again.requests[i].chunk_count == 0);
    }
  }
  workload.requests[0].arrival_s = std::numeric_limits<double>::infinity();
  std::ostringstream out;
  CHECK_THROWS_AS(write_trace(out, workload), std::invalid_argument);
}
