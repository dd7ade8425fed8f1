// EngineInput: the options that fix how the simulated engine and its caches behave.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <vector>

#include "arguments.hpp"
#include "hybridmem/organization/organization_layout.hpp"
#include "simulator/engine.hpp"

namespace hybridmem_tool {

/// What the options came to.
struct ChosenEngine {
  std::vector<hybridmem::OrganizationKind> organizations;  ///< as named, each once
  hybridmem_simulator::EngineOptions options;
  bool paper_rules = false;  ///< the engine keeps one unit of each pool for itself, too
  std::optional<std::uint32_t> split_millionths;
};

class EngineInput {
 public:
  void declare(CLI::App& command);

  /// What was asked for. Throws UsageError.
  ChosenEngine choose() const;

 private:
  Text organizations_;
  Text headroom_;
  Text retention_;
  Text pinning_;
  Text cap_;
  Text token_budget_;
  Text split_;
  bool paper_rules_ = false;
};

/// Readers of single options, also for lists of them. Throw UsageError.
double read_headroom(std::string_view option, const Text& text);
std::uint32_t read_retention(std::string_view option, const Text& text);
std::uint32_t read_cap(std::string_view option, const Text& text);

/// The organizations in a list of names, or all four. Throws UsageError.
std::vector<hybridmem::OrganizationKind> read_organizations(const Text& text);

}  // namespace hybridmem_tool
