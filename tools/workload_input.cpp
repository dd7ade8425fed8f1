#include "workload_input.hpp"

#include <fmt/format.h>

#include "simulator/trace_reader.hpp"
#include "simulator/workload.hpp"
#include "table.hpp"

namespace hybridmem_tool {

namespace {

constexpr std::uint64_t most_requests = 10'000'000;
constexpr double least_rate = 1e-4;
constexpr double most_rate = 1e4;

}  // namespace

void WorkloadInput::declare(CLI::App& command) {
  const auto add = [&command](const char* name, Text& text, const char* type, const char* help) {
    command.add_option(name, text, wrapped(help, help_columns))->type_name(type)->group("Requests");
  };
  add("--trace", trace_, "FILE",
      "Recorded requests: Mooncake JSON lines, Azure CSV, or the project's own JSON lines");
  add("--workload", workload_, "NAME",
      "Generated requests instead: paper (shared contexts), chat (conversations), burst (the "
      "paper's, 5 s on, 15 s off)");
  add("--requests", requests_, "N", "The first N requests only (generated: 300)");
  add("--rate", rate_, "R", "Generated requests a second (default: paper and chat 3, burst 1.7)");
  add("--rate-scale", rate_scale_, "X|auto",
      "Arrivals X times as fast; auto: 0.8 of what the best organization can do (default 1)");
  add("--sharing", sharing_, "Q",
      "Share of generated requests whose context others may have, 0 to 1 (default 1)");
  add("--seed", seed_, "S", "Seed of a generated workload (default 0)");
}

hybridmem_simulator::Workload WorkloadInput::generated(std::uint64_t seed) const {
  using namespace hybridmem_simulator;
  const auto count =
      static_cast<std::uint32_t>(read_number("--requests", requests_, 1, 1'000'000, 300));
  if (*workload_ == "chat") {
    if (sharing_) throw UsageError("--sharing: expected only with --workload paper or burst");
    ChatWorkload options;
    options.seed = seed;
    options.requests = count;
    options.rate_per_s = read_real("--rate", rate_, least_rate, most_rate, options.rate_per_s);
    return chat_workload(options);
  }
  const bool burst = *workload_ == "burst";
  if (!burst && *workload_ != "paper") refuse("--workload", *workload_, "paper, chat or burst");
  PaperWorkload options;
  if (burst) options.arrivals = Arrivals{.rate_per_s = 1.7};
  options.seed = seed;
  options.requests = count;
  options.arrivals.rate_per_s =
      read_real("--rate", rate_, least_rate, most_rate, options.arrivals.rate_per_s);
  options.sharing = read_real("--sharing", sharing_, 0.0, 1.0, options.sharing);
  return burst ? burst_workload(options) : paper_workload(options);
}

ChosenWorkload WorkloadInput::choose() const {
  if (trace_.has_value() == workload_.has_value())
    throw UsageError(trace_ ? "--trace and --workload: expected one of them, not both"
                            : "--trace is missing: expected a file of requests, or --workload "
                              "paper, chat or burst");
  ChosenWorkload chosen;
  if (rate_scale_ && *rate_scale_ == "auto")
    chosen.auto_rate = true;
  else
    chosen.rate_scale = read_real("--rate-scale", rate_scale_, 1e-6, 1e6, 1.0);
  if (trace_) {
    for (const auto& [option, text] : {std::pair<const char*, const Text*>{"--rate", &rate_},
                                       {"--sharing", &sharing_},
                                       {"--seed", &seed_}})
      if (*text) throw UsageError(fmt::format("{}: expected only with --workload", option));
    hybridmem_simulator::TraceOptions options;
    options.max_requests = read_number("--requests", requests_, 1, most_requests, 0);
    try {
      chosen.workload = hybridmem_simulator::read_trace(std::filesystem::path(*trace_), options);
    } catch (const hybridmem_simulator::TraceError& error) {
      throw UsageError("--trace: " + printable(error.what()));
    }
    chosen.source = "trace";
    return chosen;
  }
  chosen.seed = read_number("--seed", seed_, 0, ~std::uint64_t{0}, 0);
  try {
    chosen.workload = generated(chosen.seed);
  } catch (const std::invalid_argument& error) {
    throw UsageError("--workload: " + printable(error.what()));
  }
  chosen.source = "generated";
  return chosen;
}

}  // namespace hybridmem_tool
