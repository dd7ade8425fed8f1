// Sentences and headings that the commands share when a person reads.
#pragma once

#include <string>
#include <vector>

#include "hybridmem/organization/organization_layout.hpp"
#include "model_input.hpp"

namespace hybridmem_tool {

/// The model's name, and where its numbers come from, in one line.
std::string model_title(const ChosenModel& model);

/// Layers, KV, checkpoint and break-even, one line each.
std::string model_lines(const ChosenModel& model, const hybridmem::PageLayout& layout);

/// `S0 coarse_pages`.
std::string organization_title(hybridmem::OrganizationKind kind);

/// Text for a person, wrapped, with a newline at the end.
std::string sentences(const std::string& text);

/// `  label         text`, with a newline.
std::string row(const char* label, const std::string& text);

/// `a`, `a and b`, `a, b and c`.
std::string listed(const std::vector<std::string>& names);

}  // namespace hybridmem_tool
