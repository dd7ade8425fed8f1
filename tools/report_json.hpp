// What the commands print with --json: key order is fixed, sizes are whole bytes, counts are whole.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <ostream>

#include "hybridmem/organization/capacity.hpp"
#include "layout_input.hpp"
#include "model_input.hpp"

namespace hybridmem_tool {

using Json = nlohmann::ordered_json;

/// The layouts of the four organizations, in the order of `organization_kinds`.
std::array<hybridmem::OrganizationLayout, 4> all_organizations(const hybridmem::PageLayout& layout);

/// An object with one value for each organization.
template <class Value>
Json by_organization(Value&& value) {
  Json object = Json::object();
  std::size_t index = 0;
  for (const hybridmem::OrganizationKind kind : hybridmem::organization_kinds)
    object[name_of(kind)] = value(index++);
  return object;
}

/// A whole number where the value is one.
Json number(double value);

/// Everything that `hybridmem layout` says.
Json layout_report(const ChosenModel& model, const ChosenLayout& layout);

/// Writes the report with two spaces of indent and a newline. Text that is not UTF-8 is replaced.
void write(std::ostream& out, const Json& report);

}  // namespace hybridmem_tool
