// The rows of `hybridmem compare` as a picture.
#pragma once

#include <string>

#include "compare_report.hpp"

namespace hybridmem_tool {

/// An SVG of two rows of bars: output tokens a second, and TTFT p50 and p99. Bars start at zero.
std::string compare_plot(const CompareContext& context);

}  // namespace hybridmem_tool
