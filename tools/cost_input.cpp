#include "cost_input.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

#include "hybridmem/model/paper_geometry.hpp"
#include "simulator/step_cost.hpp"
#include "table.hpp"

namespace hybridmem_tool {

namespace {

using hybridmem_simulator::DeviceSpec;
using hybridmem_simulator::ModelSize;
using hybridmem_simulator::StepCost;
using Costs = std::array<StepCost, hybridmem::organization_kinds.size()>;

const DeviceSpec& read_device(const Text& text) {
  const std::string name = text.value_or("a100-40");
  if (const DeviceSpec* const device = hybridmem_simulator::find_device(name)) return *device;
  std::string known;
  for (const DeviceSpec& device : hybridmem_simulator::device_specs())
    known += (known.empty() ? "" : ", ") + std::string(device.name);
  refuse("--device", name, "one of " + known);
}

bool is_paper_case(const ChosenModel& model, const DeviceSpec& device) {
  return device.name == hybridmem_simulator::find_device("a100-40")->name &&
         model.name == "falcon-h1-7b" && model.geometry.tensor_parallel == 1 &&
         hybridmem::paper_settings(model.geometry).dual_interval_tokens != 0;
}

ModelSize size_of(const ChosenModel& model, const Text& parameters) {
  if (parameters) {
    constexpr double billion = 1e9;
    const double total = billion * read_real("--parameters", parameters, 1e-3, 1e5, 0.0);
    return {total, total, hybridmem_simulator::SizeSource::given};
  }
  if (model.architecture) return hybridmem_simulator::model_size(*model.architecture);
  throw UsageError(
      "--parameters is missing: expected billions of parameters, since a model in numbers does not "
      "say them");
}

}  // namespace

void CostInput::declare(CLI::App& command) {
  const auto add = [&command](const char* name, Text& text, const char* type, const char* help) {
    command.add_option(name, text, wrapped(help, help_columns))
        ->type_name(type)
        ->group("Time of a step");
  };
  add("--device", device_, "NAME",
      "a100-40 (default), a100-80, h100, h200, b200: the paper's measured cost for Falcon-H1-7B on "
      "a100-40, a roofline otherwise");
  add("--parameters", parameters_, "N",
      "Billions of parameters for the roofline (default: the model's)");
  add("--step-fixed", fixed_, "S", "Seconds of a step beside its tokens, in place of the above");
  add("--step-prefill", prefill_, "S", "Seconds of a prefill token, likewise");
  add("--step-decode", decode_, "S", "Seconds of a decoding request, likewise");
}

ChosenCost CostInput::choose(const ChosenModel& model) const {
  const DeviceSpec& device = read_device(device_);
  const bool paper = !parameters_ && is_paper_case(model, device);
  Costs costs;
  ChosenCost chosen;
  const bool all_given = fixed_ && prefill_ && decode_;
  if (all_given) {
    chosen.json["kind"] = "given";
  } else if (paper) {
    for (std::size_t i = 0; i < costs.size(); ++i)
      costs[i] = hybridmem_simulator::paper_cost(hybridmem::organization_kinds[i]);
    chosen.json["kind"] = "paper";
    chosen.json["device"] = device.name;
  } else {
    const ModelSize size = size_of(model, parameters_);
    costs.fill(hybridmem_simulator::roofline_cost(device, size, model.geometry));
    chosen.json["kind"] = "roofline";
    chosen.json["device"] = device.name;
    chosen.json["parameters"] = size.total_parameters;
    chosen.json["active_parameters"] = size.active_parameters;
    chosen.json["parameters_from"] = name_of(size.source);
  }
  const bool overridden = fixed_ || prefill_ || decode_;
  chosen.json["overridden"] = overridden;
  for (StepCost& cost : costs) {
    cost.fixed_s = read_real("--step-fixed", fixed_, 0.0, 1e3, cost.fixed_s);
    cost.prefill_token_s = read_real("--step-prefill", prefill_, 0.0, 1e3, cost.prefill_token_s);
    cost.decode_request_s = read_real("--step-decode", decode_, 0.0, 1e3, cost.decode_request_s);
    if (all_given && cost.fixed_s + cost.prefill_token_s == 0.0)
      throw UsageError("--step-fixed and --step-prefill: expected not both zero");
  }
  chosen.json["source"] = costs.back().source;
  chosen.json["by_organization"] = by_organization([&](std::size_t i) {
    return Json{{"fixed_s", costs[i].fixed_s},
                {"prefill_token_s", costs[i].prefill_token_s},
                {"decode_request_s", costs[i].decode_request_s},
                {"compute_token_s", costs[i].compute_token_s},
                {"weights_s", costs[i].weights_s}};
  });
  chosen.text = paper
                    ? "the paper's, Falcon-H1-7B on a100-40; each organization has its own (--json)"
                    : costs.back().source;
  if (overridden) chosen.text = all_given ? "as given" : chosen.text + ", partly given";
  chosen.of = [costs](hybridmem::OrganizationKind kind) -> hybridmem_simulator::StepSeconds {
    return [cost = costs[static_cast<std::size_t>(kind)]](std::uint64_t prefill,
                                                          std::uint32_t decodes) {
      return cost.seconds(static_cast<hybridmem::Tokens>(prefill), decodes);
    };
  };
  return chosen;
}

}  // namespace hybridmem_tool
