// `hybridmem models`: the presets.
#pragma once

#include <CLI/CLI.hpp>
#include <ostream>

#include "arguments.hpp"

namespace hybridmem_tool {

class ModelsCommand {
 public:
  /// Adds the command and its options to `app`; this object outlives the parse.
  void declare(CLI::App& app);

  /// Prints the presets. Throws UsageError.
  void run(std::ostream& out) const;

 private:
  Text state_dtype_;
  bool json_ = false;
};

}  // namespace hybridmem_tool
