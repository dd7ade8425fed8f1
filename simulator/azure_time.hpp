// parse_azure_time: the time stamps of Azure's traces.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hybridmem_simulator {

/// Nanoseconds from 1970 of `2023-11-16 18:17:03.9799600`: a date and a time of day, then up to
/// nine digits of a second, then `Z` or an offset such as `+00:00`, both optional. Years from 1970
/// to 2200. Nothing for any other text.
std::optional<std::int64_t> parse_azure_time(std::string_view text) noexcept;

}  // namespace hybridmem_simulator
