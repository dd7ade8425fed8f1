// Reads the source files of this checkout for the tests that look at the code itself.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace hybridmem_test {

/// Headers and CUDA sources below `directory` of the checkout, by path from its root, with their
/// text.
inline std::map<std::string, std::string> read_sources(const std::string& directory) {
  namespace fs = std::filesystem;
  const fs::path root = HYBRIDMEM_SOURCE_DIR;
  std::map<std::string, std::string> files;
  if (!fs::exists(root / directory)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(root / directory)) {
    const std::string kind = entry.path().extension().string();
    if (!entry.is_regular_file() ||
        (kind != ".hpp" && kind != ".cuh" && kind != ".cu" && kind != ".cpp"))
      continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files[fs::relative(entry.path(), root).generic_string()] =
        std::string(std::istreambuf_iterator<char>(file), {});
  }
  return files;
}

}  // namespace hybridmem_test
