#include "engine_input.hpp"

#include <algorithm>

#include "table.hpp"

namespace hybridmem_tool {

namespace {

constexpr std::uint64_t most_requesters = 255;
constexpr double most_headroom = 0.99;

}  // namespace

double read_headroom(std::string_view option, const Text& text) {
  return read_real(option, text, 0.0, most_headroom, 0.0);
}

std::uint32_t read_retention(std::string_view option, const Text& text) {
  return static_cast<std::uint32_t>(read_number(option, text, 0, most_requesters, 0));
}

std::uint32_t read_cap(std::string_view option, const Text& text) {
  return static_cast<std::uint32_t>(read_number(option, text, 1, 4'096, 256));
}

std::vector<hybridmem::OrganizationKind> read_organizations(const Text& text) {
  if (!text || *text == "all")
    return {hybridmem::organization_kinds.begin(), hybridmem::organization_kinds.end()};
  std::vector<hybridmem::OrganizationKind> kinds;
  for (const std::string& name : read_list("--organizations", *text)) {
    const auto kind = hybridmem::parse_organization(name);
    if (!kind)
      refuse("--organizations", name,
             "coarse_pages, paged_recurrent, slab_packed, static_dual_pool (or S0, S1, S2, D0), "
             "with commas between them, or all");
    if (std::ranges::find(kinds, *kind) != kinds.end())
      refuse("--organizations", *text, "each organization once");
    kinds.push_back(*kind);
  }
  return kinds;
}

void EngineInput::declare(CLI::App& command) {
  const auto add = [&command](const char* name, Text& text, const char* type, const char* help) {
    command.add_option(name, text, wrapped(help, help_columns))->type_name(type)->group("Engine");
  };
  add("--organizations", organizations_, "LIST",
      "Names or S0, S1, S2, D0, with commas between them (default: all)");
  add("--headroom", headroom_, "F",
      "Share of each pool kept clear when a request is admitted (default 0)");
  add("--retention", retention_, "K",
      "Distinct requesters that keep a checkpoint held while its sequence runs (default 0: off)");
  add("--pinning", pinning_, "K",
      "Distinct requesters that earn a preempted request a pin (default 0: off)");
  add("--cap", cap_, "N", "Requests that run at once (default 256)");
  add("--token-budget", token_budget_, "N", "Tokens of one step (default 2048)");
  add("--split", split_, "F",
      "Attention share of static_dual_pool, 0 to 1 (default: the paper's, or the best of nine)");
  command
      .add_flag("--paper-rules", paper_rules_,
                wrapped("The paper's engine: required checkpoints, slabs in creation order, slots "
                        "first in first out, pinning 2, one unit of each pool kept back",
                        help_columns))
      ->group("Engine");
}

ChosenEngine EngineInput::choose() const {
  ChosenEngine chosen;
  chosen.organizations = read_organizations(organizations_);
  chosen.paper_rules = paper_rules_;
  chosen.options.running_cap = read_cap("--cap", cap_);
  chosen.options.token_budget = static_cast<hybridmem::Tokens>(
      read_number("--token-budget", token_budget_, 1, std::uint64_t{1} << 20U, 2'048));
  hybridmem::CacheOptions& cache = chosen.options.cache;
  cache.headroom = read_headroom("--headroom", headroom_);
  cache.retention = read_retention("--retention", retention_);
  cache.preemption_pinning = static_cast<std::uint32_t>(
      read_number("--pinning", pinning_, 0, most_requesters, paper_rules_ ? 2 : 0));
  if (paper_rules_) {
    cache.checkpoints_yield = false;
    cache.organization.slab_order = hybridmem::SlabOrder::creation;
    cache.organization.slot_placement = hybridmem::SlotPlacement::fifo;
  }
  if (split_) chosen.split_millionths = read_millionths("--split", *split_);
  return chosen;
}

}  // namespace hybridmem_tool
