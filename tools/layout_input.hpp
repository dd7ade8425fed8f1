// LayoutInput: the options that fix parts of the page layout, and what the solver makes of them.
#pragma once

#include <CLI/CLI.hpp>

#include "arguments.hpp"
#include "hybridmem/model/layout_solver.hpp"

namespace hybridmem_tool {

/// A layout and the mix in which its unused bytes are counted.
struct ChosenLayout {
  hybridmem::PageLayout layout;
  std::uint32_t blocks_per_checkpoint = 1;
  /// What the solver takes when block and page are free; `layout` itself unless one was fixed. The
  /// same as `layout` where a free choice is impossible.
  hybridmem::PageLayout best;
};

class LayoutInput {
 public:
  void declare(CLI::App& command);

  /// The layout asked for. Throws UsageError.
  ChosenLayout choose(const hybridmem::StateGeometry& geometry) const;

 private:
  Text block_tokens_;
  Text page_bytes_;
  Text slots_;
  Text stack_layers_;
  Text checkpoint_interval_;
  Text dual_interval_;
  Text key_tokens_;
  Text max_block_tokens_;
  Text blocks_per_checkpoint_;
};

}  // namespace hybridmem_tool
