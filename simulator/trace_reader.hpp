// read_trace, write_trace: recorded requests from a file, and back. docs/traces.md describes the
// formats.
#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <ostream>
#include <string>

#include "simulator/request.hpp"
#include "simulator/trace_error.hpp"

namespace hybridmem_simulator {

/// Told apart by their first line.
enum class TraceFormat : std::uint8_t {
  hybridmem,  ///< the project's own: a header line, then one JSON object a request
  mooncake,   ///< JSON lines with `hash_ids` of 512-token blocks
  azure,      ///< comma-separated, lengths alone
};

constexpr const char* name_of(TraceFormat format) noexcept {
  switch (format) {
    case TraceFormat::hybridmem:
      return "hybridmem";
    case TraceFormat::mooncake:
      return "mooncake";
    case TraceFormat::azure:
      return "azure";
  }
  return "unknown";
}

struct TraceOptions {
  std::uint64_t max_requests = 0;  ///< 0: all; lines beyond the last one wanted are not looked at
  double rate_scale = 1.0;  ///< 2: twice as many requests a second; arrivals are divided by it
  bool allow_unknown_fields = false;  ///< JSON fields that no format has: refused, or passed over
};

/// The format whose traces open with this line, without its end. Throws `TraceError`
/// (`unknown_format`, or `malformed` for what begins like JSON and is not).
TraceFormat trace_format_of(const std::string& first_line, const std::string& name);

/// The requests of a trace. Reads line by line, in memory of the order of the result; `name` is for
/// messages and becomes the workload's. A whole chunk of an input gets the number the trace gives
/// it; a last partial chunk belongs to its request alone, whether the trace numbers it or not.
/// Without numbers `has_sharing` is false. Throws `TraceError` on the first line that is wrong;
/// nothing is passed over but a byte-order mark before the first line and, where allowed, unknown
/// fields.
Workload read_trace(std::istream& lines, const std::string& name, const TraceOptions& options = {});
Workload read_trace(const std::filesystem::path& path, const TraceOptions& options = {});

/// Writes a workload in the project's own format; reading it back gives the same requests, arrivals
/// to the last bit.
void write_trace(std::ostream& out, const Workload& workload);

}  // namespace hybridmem_simulator
