// `hybridmem compare`: what each organization does to a stream of requests.
#pragma once

#include <CLI/CLI.hpp>
#include <ostream>

#include "compare_run.hpp"
#include "cost_input.hpp"
#include "engine_input.hpp"
#include "layout_input.hpp"
#include "model_input.hpp"
#include "workload_input.hpp"

namespace hybridmem_tool {

class CompareCommand {
 public:
  /// Adds the command and its options to `app`; this object outlives the parse.
  void declare(CLI::App& app);

  /// Runs the organizations and prints the rows; progress goes to `err`. Throws UsageError.
  void run(std::ostream& out, std::ostream& err) const;

 private:
  ModelInput model_;
  LayoutInput layout_;
  WorkloadInput workload_;
  EngineInput engine_;
  CostInput cost_;
  Text budget_;
  Text plot_;
  bool json_ = false;
  bool csv_ = false;
};

/// Threads for runs: what the machine has, at least 1.
unsigned available_threads();

}  // namespace hybridmem_tool
