// WorkloadInput: the options that say which requests are simulated.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "arguments.hpp"
#include "simulator/request.hpp"

namespace hybridmem_tool {

/// The requests at the rate of their source, and how they are to be scaled.
struct ChosenWorkload {
  hybridmem_simulator::Workload workload;
  std::string source;       ///< `trace` or `generated`
  std::uint64_t seed = 0;   ///< of a generated one
  double rate_scale = 1.0;  ///< arrivals are divided by it
  bool auto_rate = false;   ///< the scale is to be found
};

class WorkloadInput {
 public:
  void declare(CLI::App& command);

  /// The requests asked for. Throws UsageError.
  ChosenWorkload choose() const;

 private:
  hybridmem_simulator::Workload generated(std::uint64_t seed) const;

  Text trace_;
  Text workload_;
  Text requests_;
  Text rate_;
  Text rate_scale_;
  Text sharing_;
  Text seed_;
};

}  // namespace hybridmem_tool
