// `hybridmem models`: all presets, for programs and for people.
#include <string>

#include "hybridmem/model/preset.hpp"
#include "invoke.hpp"

using namespace hybridmem_test;
using nlohmann::json;

TEST_CASE("models lists every preset once and in order") {
  const json all = report({"models"});
  const auto presets = hybridmem::model_presets();
  CHECK(all["state_dtype"] == "auto-vllm");
  REQUIRE(all["models"].size() == presets.size());
  for (std::size_t i = 0; i < presets.size(); ++i)
    CHECK(all["models"][i]["model"] == presets[i].architecture.name.view());
}

TEST_CASE("models says what a preset keeps") {
  const json all = report({"models", "--state-dtype", "fp32"});
  for (const json& model : all["models"]) {
    if (model["model"] == "falcon-h1-7b") {
      CHECK(model["family"] == "falcon_h1");
      CHECK(model["provenance"] == "configuration");
      CHECK(model["kv_bytes_per_token"] == 45'056);
      CHECK(model["checkpoint_bytes"] == (3'145'728 + 21'504) * 44);
    }
    if (model["model"] == "codestral-mamba-7b") CHECK(model["break_even_tokens"].is_null());
  }
}

TEST_CASE("models for people has a row for each preset") {
  const std::string text = print({"models"});
  for (const hybridmem::ModelPreset& preset : hybridmem::model_presets())
    CHECK(text.find("\n" + std::string(preset.architecture.name.view()) + "  ") !=
          std::string::npos);
}
