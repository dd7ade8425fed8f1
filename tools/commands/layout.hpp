// `hybridmem layout`: how a model's state is cut into pages, members and slots, and what each
// organization leaves unused.
#pragma once

#include <CLI/CLI.hpp>
#include <ostream>

#include "layout_input.hpp"
#include "model_input.hpp"

namespace hybridmem_tool {

class LayoutCommand {
 public:
  /// Adds the command and its options to `app`; this object outlives the parse.
  void declare(CLI::App& app);

  /// Prints the layout. Throws UsageError.
  void run(std::ostream& out) const;

 private:
  ModelInput model_;
  LayoutInput layout_;
  bool json_ = false;
};

}  // namespace hybridmem_tool
