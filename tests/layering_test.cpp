// The floors of include/hybridmem/README.md, on this tree and on trees that break the rules.
#include "layering.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "source_tree.hpp"

using hybridmem_test::check_layering;
using hybridmem_test::includes_of;
using hybridmem_test::LayeringFinding;
using hybridmem_test::OptIn;
using hybridmem_test::SourceTree;

namespace {

const std::vector<OptIn> json_is_opt_in{{"hybridmem/model/json_fields.hpp", "nlohmann/"}};

std::string include_of(const std::string& name) {
  return "// A file.\n#pragma once\n\n#include \"" + name + "\"\n";
}

// What a single file of the given text is accused of; empty if of nothing.
std::string accusation(const std::string& path, const std::string& text) {
  const auto findings = check_layering({{path, text}}, json_is_opt_in);
  CHECK(findings.size() <= 1);
  return findings.empty() ? "" : findings.front().reason;
}

// The opt-in headers, from the list that CMake builds the targets of.
std::vector<OptIn> opt_in_headers() {
  std::vector<OptIn> headers;
  std::istringstream list(HYBRIDMEM_CONFIG_HEADERS);
  for (std::string name; std::getline(list, name, ',');) headers.push_back({name, "nlohmann/"});
  return headers;
}

}  // namespace

TEST_CASE("every include of this tree keeps to the floors") {
  SourceTree tree = hybridmem_test::read_sources("include");
  tree.merge(hybridmem_test::read_sources("kernels"));
  REQUIRE(tree.size() > 10);
  REQUIRE(tree.contains("include/hybridmem/core/version.hpp"));
  for (const LayeringFinding& finding : check_layering(tree, opt_in_headers()))
    FAIL_CHECK(finding.file << " includes " << finding.included << ": " << finding.reason);
}

TEST_CASE("each opt-in header exists") {
  const SourceTree tree = hybridmem_test::read_sources("include");
  for (const OptIn& entry : opt_in_headers()) CHECK(tree.contains("include/" + entry.header));
}

TEST_CASE("a header may include its own floor and every one below") {
  CHECK(accusation("include/hybridmem/cache/a.hpp", include_of("hybridmem/cache/b.hpp")).empty());
  for (const std::string_view floor : hybridmem_test::floors) {
    const std::string name = "hybridmem/" + std::string(floor) + "/b.hpp";
    CHECK(accusation("include/hybridmem/cache/a.hpp", include_of(name)).empty());
  }
  CHECK(
      accusation("include/hybridmem/pool/deep/a.hpp", include_of("hybridmem/core/b.hpp")).empty());
}

TEST_CASE("an include that climbs is found, whichever floors it joins") {
  for (std::size_t low = 0; low < hybridmem_test::floors.size(); ++low) {
    for (std::size_t high = low + 1; high < hybridmem_test::floors.size(); ++high) {
      const std::string from(hybridmem_test::floors[low]);
      const std::string to(hybridmem_test::floors[high]);
      CHECK(accusation("include/hybridmem/" + from + "/a.hpp",
                       include_of("hybridmem/" + to + "/b.hpp")) ==
            "climbs from " + from + " to " + to);
    }
  }
}

TEST_CASE("a climb is found in every spelling of the include line") {
  const std::string path = "include/hybridmem/core/a.hpp";
  const std::string reason = "climbs from core to pool";
  CHECK(accusation(path, "#include <hybridmem/pool/b.hpp>\n") == reason);
  CHECK(accusation(path, "  #  include   \"hybridmem/pool/b.hpp\"  // why\n") == reason);
  CHECK(accusation(path, "#include\"hybridmem/pool/b.hpp\"") == reason);
  CHECK(accusation(path, "#include \"hybridmem/pool/b.hpp\"\r\n") == reason);
  CHECK(accusation(path, "// #include \"hybridmem/pool/b.hpp\"\n").empty());
}

TEST_CASE("every breach of a file is reported") {
  const auto findings =
      check_layering({{"include/hybridmem/core/a.hpp",
                       include_of("hybridmem/pool/b.hpp") + include_of("hybridmem/cache/c.hpp")},
                      {"include/hybridmem/model/d.hpp", include_of("hybridmem/core/e.hpp")},
                      {"include/hybridmem/model/f.hpp", include_of("hybridmem/prefix/g.hpp")}},
                     {});
  REQUIRE(findings.size() == 3);
  CHECK(findings[0].file == "include/hybridmem/core/a.hpp");
  CHECK(findings[0].included == "hybridmem/pool/b.hpp");
  CHECK(findings[2].file == "include/hybridmem/model/f.hpp");
}

TEST_CASE("an unknown floor is refused, as a place and as a target") {
  CHECK(accusation("include/hybridmem/attic/a.hpp", "#pragma once\n") == "lies on no known floor");
  CHECK(accusation("include/hybridmem/a.hpp", "#pragma once\n") == "lies on no known floor");
  CHECK(accusation("include/elsewhere/a.hpp", "#pragma once\n") == "lies on no known floor");
  CHECK(accusation("include/hybridmem/cache/a.hpp", include_of("hybridmem/attic/b.hpp")) ==
        "an unknown floor");
  CHECK(accusation("include/hybridmem/cache/a.hpp", include_of("hybridmem/b.hpp")) ==
        "a header of the library lies on a floor");
}

TEST_CASE("kernels stand on core, model and device, and nothing stands on kernels") {
  const std::string reason = "kernels stand on core, model and device alone";
  for (const std::string path :
       {"include/hybridmem/kernels/a.hpp", "include/hybridmem/kernels/a.cuh", "kernels/src/a.cu"}) {
    for (const std::string floor : {"core", "model", "device", "kernels"})
      CHECK(accusation(path, include_of("hybridmem/" + floor + "/b.hpp")).empty());
    for (const std::string floor : {"observe", "pool", "organization", "prefix", "cache"})
      CHECK(accusation(path, include_of("hybridmem/" + floor + "/b.hpp")) == reason);
    CHECK(accusation(path, "#include <cuda_runtime_api.h>\n#include <cub/cub.cuh>\n").empty());
  }
  for (const std::string_view floor : hybridmem_test::floors)
    CHECK(accusation("include/hybridmem/" + std::string(floor) + "/a.hpp",
                     include_of("hybridmem/kernels/b.hpp")) == "no floor stands on kernels");
}

TEST_CASE("nothing in the library stands on what is built with it") {
  for (const std::string path : {"include/hybridmem/cache/a.hpp", "kernels/src/a.cu"}) {
    CHECK(accusation(path, include_of("simulator/b.hpp")) ==
          "nothing in the library stands on simulator/");
    CHECK(accusation(path, include_of("tools/b.hpp")) == "nothing in the library stands on tools/");
    CHECK(accusation(path, include_of("../../../tools/b.hpp")) ==
          "nothing in the library stands on tools/");
    CHECK(accusation(path, include_of("tests/b.hpp")) == "nothing in the library stands on tests/");
  }
}

TEST_CASE("a header of the library is included by its full name") {
  const std::string reason = "a header of the library is named from hybridmem/ on";
  CHECK(accusation("include/hybridmem/core/a.hpp", include_of("b.hpp")) == reason);
  CHECK(accusation("include/hybridmem/core/a.hpp", include_of("../cache/b.hpp")) == reason);
  CHECK(accusation("include/hybridmem/core/a.hpp", include_of("core/b.hpp")) == reason);
}

TEST_CASE("foreign headers are for the named opt-in headers only") {
  const std::string reason = "not a header of the standard library";
  const std::string json = "#include <nlohmann/json.hpp>\n";
  CHECK(accusation("include/hybridmem/model/json_fields.hpp", json).empty());
  CHECK(accusation("include/hybridmem/model/other.hpp", json) == reason);
  CHECK(accusation("include/hybridmem/model/json_fields.hpp", "#include <fmt/core.h>\n") == reason);
  CHECK(accusation("include/hybridmem/core/a.hpp", "#include <cuda_runtime_api.h>\n") == reason);
  CHECK(accusation("include/hybridmem/core/a.hpp", "#include <unistd.h>\n") == reason);
  CHECK(accusation("include/hybridmem/core/a.hpp", "#include <cstdint>\n#include <vector>\n")
            .empty());
  CHECK(accusation("include/hybridmem/model/other.hpp",
                   include_of("hybridmem/model/json_fields.hpp")) ==
        "only an opt-in header includes an opt-in header");
}

TEST_CASE("files outside the library are not judged") {
  CHECK(check_layering({{"tools/main.cpp", include_of("simulator/b.hpp")}}, {}).empty());
}

TEST_CASE("include lines are read from any text") {
  CHECK(includes_of("").empty());
  CHECK(includes_of("#").empty());
  CHECK(includes_of("#include").empty());
  CHECK(includes_of("#include \"open").empty());
  CHECK(includes_of("#include MACRO\n").empty());
  CHECK(includes_of("\n\n#include <a>\n#include \"b\"").size() == 2);
}
