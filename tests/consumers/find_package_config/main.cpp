// Includes the opt-in header; that it compiles and links is the point.
#include <cstdio>

#include "hybridmem/core/version.hpp"
#include "hybridmem/model/hugging_face_config.hpp"

int main() {
  std::printf("hybridmem %s with config\n", hybridmem::library_version_text);
  return 0;
}
