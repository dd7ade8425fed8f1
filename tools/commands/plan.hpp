// `hybridmem plan`: how many units a budget buys in each organization, and what they hold.
#pragma once

#include <CLI/CLI.hpp>
#include <ostream>

#include "capacity_plan.hpp"
#include "layout_input.hpp"
#include "model_input.hpp"

namespace hybridmem_tool {

class PlanCommand {
 public:
  /// Adds the command and its options to `app`; this object outlives the parse.
  void declare(CLI::App& app);

  /// Prints the plan. Throws UsageError.
  void run(std::ostream& out) const;

 private:
  PlanRequest request() const;

  ModelInput model_;
  LayoutInput layout_;
  Text budget_;
  Text split_;
  Text mix_;
  Text sequences_;
  Text length_;
  Text checkpoints_;
  bool json_ = false;
};

}  // namespace hybridmem_tool
