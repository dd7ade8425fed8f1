// CostInput: the options that fix how long a simulated step takes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "compare_run.hpp"
#include "model_input.hpp"
#include "report_json.hpp"

namespace hybridmem_tool {

/// The cost of a step, and what is said of it.
struct ChosenCost {
  CostOf of;
  Json json;         ///< kind, device, source, and the numbers of each organization
  std::string text;  ///< a line or two
};

class CostInput {
 public:
  void declare(CLI::App& command);

  /// The paper's coefficients for the model and device it measured, a roofline otherwise, with what
  /// was given in their place. Throws UsageError.
  ChosenCost choose(const ChosenModel& model) const;

 private:
  Text device_;
  Text parameters_;
  Text fixed_;
  Text prefill_;
  Text decode_;
};

}  // namespace hybridmem_tool
