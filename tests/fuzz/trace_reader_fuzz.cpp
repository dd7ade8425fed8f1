// Any text either is a trace, whose workload keeps its rules and survives being written and read
// again, or is refused with a TraceError of one line. The first byte chooses the options.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "simulator/trace_reader.hpp"

namespace {

using namespace hybridmem_simulator;

void expect(bool holds) {
  if (!holds) std::abort();
}

void check(const Workload& workload) {
  expect(!workload.requests.empty() && workload.chunk_tokens > 0);
  expect(workload.has_sharing || workload.chunks.empty());
  double last_s = 0.0;
  for (const Request& request : workload.requests) {
    expect(request.arrival_s >= last_s);
    last_s = request.arrival_s;
    expect(request.input_tokens > 0 && request.output_tokens > 0);
    expect(request.input_tokens + request.output_tokens > request.input_tokens);
    expect(std::size_t{request.first_chunk} + request.chunk_count <= workload.chunks.size());
    expect(request.chunk_count <= request.input_tokens / workload.chunk_tokens);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  TraceOptions options;
  options.max_requests = data[0] % 4;
  options.allow_unknown_fields = (data[0] & 4U) != 0;
  std::istringstream lines(std::string(reinterpret_cast<const char*>(data + 1), size - 1));
  try {
    const Workload workload = read_trace(lines, "fuzz", options);
    check(workload);
    std::stringstream written;
    write_trace(written, workload);
    const Workload again = read_trace(written, "again");
    check(again);
    expect(again.requests.size() == workload.requests.size());
    expect(again.chunks == workload.chunks && again.has_sharing == workload.has_sharing);
  } catch (const TraceError& error) {
    const std::string_view message = error.what();
    expect(message.find('\n') == std::string_view::npos && message.size() < 1'000);
    expect(!error.reason().empty() && !error.expected().empty());
  }
  return 0;
}
