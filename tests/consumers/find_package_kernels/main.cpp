// Calls a launcher with an argument that it refuses before any launch: runs without a GPU.
#include <cstdio>

#include "hybridmem/kernels/zero_units.hpp"

int main() {
  const auto status = hybridmem::kernels::zero_units({.page_bytes = 100}, nullptr);
  if (status.has_value()) return 1;
  std::printf("refused: %s\n", hybridmem::describe(status.error().input).c_str());
  return status.error().input.code == hybridmem::Error::not_divisible ? 0 : 1;
}
