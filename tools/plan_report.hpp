// What `hybridmem plan` says, for programs and for people.
#pragma once

#include <string>

#include "capacity_plan.hpp"
#include "report_json.hpp"

namespace hybridmem_tool {

/// Everything a report is made from.
struct PlanContext {
  const ChosenModel& model;
  const hybridmem::PageLayout& layout;
  const PlanRequest& request;
  const CapacityPlan& plan;
  std::string budget_text;  ///< as typed
};

Json plan_json(const PlanContext& context);
std::string plan_text(const PlanContext& context);

}  // namespace hybridmem_tool
