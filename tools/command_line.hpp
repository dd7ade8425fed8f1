// run: the whole command as a function.
#pragma once

#include <ostream>
#include <span>
#include <string_view>

namespace hybridmem_tool {

/// Runs `hybridmem` with `arguments` (without the program's name) and returns its exit status: 0;
/// 1 where `out` cannot be written or something unforeseen happens; 2 for bad input. A failure is
/// one line on `err`. Nothing escapes as an exception.
int run(std::span<const std::string_view> arguments, std::ostream& out, std::ostream& err);

}  // namespace hybridmem_tool
