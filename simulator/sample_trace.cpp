// Writes the sample trace of the project: hybridmem_sample_trace > examples/data/sample_trace.jsonl
#include <iostream>

#include "simulator/trace_reader.hpp"
#include "simulator/workload.hpp"

int main() {
  hybridmem_simulator::write_trace(std::cout, hybridmem_simulator::sample_workload());
  return std::cout.flush() ? 0 : 1;
}
