// What the test of the package runs.
#include <cstdio>

#include "hybridmem/core/bytes.hpp"
#include "hybridmem/core/version.hpp"

int main() {
  const auto bytes = hybridmem::parse_bytes("63 GiB");
  if (!bytes) return 1;
  std::printf("hybridmem %s: %s\n", hybridmem::library_version_text,
              hybridmem::format_bytes(*bytes).c_str());
  return 0;
}
