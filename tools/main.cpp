// The command `hybridmem`.
#include <iostream>
#include <string_view>
#include <vector>

#include "command_line.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return hybridmem_tool::run(arguments, std::cout, std::cerr);
}
