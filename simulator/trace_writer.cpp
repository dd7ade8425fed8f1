#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <iterator>
#include <stdexcept>

#include "simulator/trace_reader.hpp"

namespace hybridmem_simulator {

void write_trace(std::ostream& out, const Workload& workload) {
  out << fmt::format("{{\"hybridmem_trace\":1,\"chunk_tokens\":{}}}\n", workload.chunk_tokens);
  fmt::memory_buffer line;
  for (const Request& request : workload.requests) {
    if (!std::isfinite(request.arrival_s))
      throw std::invalid_argument("write_trace: an arrival that is not finite");
    line.clear();
    const auto to = std::back_inserter(line);
    fmt::format_to(to, "{{\"arrival_s\":{},\"input_tokens\":{},\"output_tokens\":{}",
                   request.arrival_s, request.input_tokens, request.output_tokens);
    if (workload.has_sharing) {
      fmt::format_to(to, ",\"chunks\":[");
      for (std::size_t i = 0; i < request.chunk_count; ++i)
        fmt::format_to(to, "{}{}", i == 0 ? "" : ",", workload.chunks[request.first_chunk + i]);
      line.push_back(']');
    }
    if (request.salt != 0) fmt::format_to(to, ",\"salt\":{}", request.salt);
    line.push_back('}');
    line.push_back('\n');
    out.write(line.data(), static_cast<std::streamsize>(line.size()));
  }
}

}  // namespace hybridmem_simulator
