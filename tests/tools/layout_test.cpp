// `hybridmem layout`: every value of the report for the paper's model, other ways to name a model,
// and every preset.
#include <string>
#include <vector>

#include "hybridmem/model/preset.hpp"
#include "invoke.hpp"

using namespace hybridmem_test;
using nlohmann::json;

namespace {

const std::string file = HYBRIDMEM_TEST_DATA "/tool/hybrid.json";

}  // namespace

TEST_CASE("layout reports the geometry that the paper measured") {
  const json layout = report({"layout", "--model", "Falcon-H1-7B"});
  CHECK(layout["model"] == "falcon-h1-7b");
  CHECK(layout["family"] == "falcon_h1");
  CHECK(layout["provenance"] == "configuration");
  CHECK(layout["attention_layers"] == 44);
  CHECK(layout["recurrent_layers"] == 44);
  CHECK(layout["sliding_window_layers"] == 0);
  CHECK(layout["tensor_parallel"] == 1);
  CHECK(layout["state_dtype"] == "auto-vllm");
  CHECK(layout["kv_dtype"] == "bf16");
  CHECK(layout["kernel_chunk_tokens"] == 128);
  CHECK(layout["kv_bytes_per_token_layer"] == 1'024);
  CHECK(layout["recurrent_bytes_layer"] == 1'572'864);
  CHECK(layout["conv_bytes_layer"] == 21'504);
  CHECK(layout["checkpoint_bytes_layer"] == 1'594'368);
  CHECK(layout["kv_bytes_per_token"] == 45'056);
  CHECK(layout["checkpoint_bytes"] == 70'152'192);
  CHECK(layout["break_even_tokens"] == 1'557);
  CHECK(layout["break_even_tokens"].is_number_integer());
  CHECK(layout["tensors"] == json::parse(R"([{"name": "ssm", "role": "recurrent", "dtype": "bf16",
                         "shape": [24, 128, 256], "bytes": 1572864},
                        {"name": "conv", "role": "convolution", "dtype": "bf16",
                         "shape": [3, 3584], "bytes": 21504}])"));
}

TEST_CASE("layout reports the pages that the paper used") {
  const json layout = report({"layout", "--model", "falcon-h1-7b"});
  CHECK(layout["block_tokens"] == 512);
  CHECK(layout["page_bytes"] == 524'288);
  CHECK(layout["member_pages"] == 3);
  CHECK(layout["slot_rule"] == "pow2");
  CHECK(layout["slot_bytes"] == 32'768);
  CHECK(layout["slots_per_slab"] == 16);
  CHECK(layout["stack_layers"] == 44);
  CHECK(layout["checkpoint_interval_tokens"] == 512);
  CHECK(layout["key_tokens"] == 16);
  CHECK(layout["members_per_checkpoint"] == 3);
  CHECK(layout["slots_per_checkpoint"] == 1);
  CHECK(layout["coarse_page_bytes"] == 1'594'368);
  CHECK(layout["coarse_pages_per_block"] == 1);
  CHECK(layout["dual"] == json::parse(R"({"block_tokens": 16, "interval_tokens": 1792,
                                          "attention_unit_bytes": 16384,
                                          "recurrent_unit_bytes": 1594368})"));
  CHECK(layout["organizations"]["paged_recurrent"]["units_per_checkpoint"] == 4);
  CHECK(layout["organizations"]["slab_packed"]["slots_per_checkpoint"] == 1);
  CHECK(layout["organizations"]["static_dual_pool"]["block_tokens"] == 16);
  CHECK(layout["best_page"]["page_bytes"] == 524'288);
  CHECK(layout["best_page"]["block_tokens"] == 512);
  CHECK(layout["outside_budget"] == json::parse(R"({"gather_arena_bytes_per_row": 70152192,
                                                    "draft_state_bytes_per_token": 70152192,
                                                    "draft_kv_bytes_per_token": 0,
                                                    "table_bytes_per_block": 4,
                                                    "table_bytes_per_sequence": 32})"));
}

TEST_CASE("layout reports what each organization leaves unused") {
  const json layout = report({"layout", "--model", "falcon-h1-7b"});
  CHECK(layout["mix"] == json::parse(R"({"attention_blocks": 1, "checkpoints": 1})"));
  const json& unused = layout["unused_fraction"];
  // One block and one checkpoint, in KiB: 2 * 1557, 512 + 2048, 512 + 1536 + 32, 512 + 1557.
  CHECK(unused["coarse_pages"].get<double>() == doctest::Approx(1'045.0 / 3'114));
  CHECK(unused["paged_recurrent"].get<double>() == doctest::Approx(491.0 / 2'560));
  CHECK(unused["slab_packed"].get<double>() == doctest::Approx(11.0 / 2'080));
  CHECK(unused["static_dual_pool"].get<double>() == 0.0);
  const json& bytes = layout["unused_bytes"];
  CHECK(bytes["coarse_pages"] == 1'045 * 1'024 * 44);
  CHECK(bytes["paged_recurrent"] == 491 * 1'024 * 44);
  CHECK(bytes["slab_packed"] == 11 * 1'024 * 44);
  CHECK(bytes["static_dual_pool"] == 0);
}

TEST_CASE("layout for people reads as recorded") {
  CHECK(print({"layout", "--model", "falcon-h1-7b"}) == expected_text("layout_falcon-h1-7b.txt"));
}

TEST_CASE("layout keeps the order of its keys") {
  const std::string text = print({"layout", "--model", "falcon-h1-7b", "--json"});
  std::size_t last = 0;
  for (const char* key : {"\"model\"", "\"attention_layers\"", "\"kv_bytes_per_token_layer\"",
                          "\"page_bytes\"", "\"unused_fraction\"", "\"outside_budget\""}) {
    CHECK(text.find(key) > last);
    last = text.find(key);
  }
  CHECK(text == print({"layout", "--model", "falcon-h1-7b", "--json"}));
}

TEST_CASE("layout reads a model from a configuration file") {
  const json layout = report({"layout", "--model", file});
  CHECK(layout["model"] == "hybrid");
  CHECK(layout["provenance"] == "file");
  CHECK(layout["attention_layers"] == 8);
  CHECK(layout["recurrent_layers"] == 8);
  CHECK(layout["kv_bytes_per_token_layer"] == 1'024);
  CHECK(layout["recurrent_bytes_layer"] == 131'072);
  CHECK(layout["conv_bytes_layer"] == 6'912);
  CHECK(report({"layout", "--model", file, "--tensor-parallel", "2"})["recurrent_bytes_layer"] ==
        65'536);
}

TEST_CASE("layout takes a model in numbers") {
  const json layout = report({"layout", "--attention-layers", "44", "--recurrent-layers", "44",
                              "--kv-bytes", "1KiB", "--recurrent-bytes", "1536KiB", "--conv-bytes",
                              "21504", "--kernel-chunk", "128"});
  CHECK(layout["model"] == "custom");
  CHECK(layout["provenance"] == "numbers");
  CHECK(layout["state_dtype"].is_null());
  CHECK(layout["page_bytes"] == 524'288);
  CHECK(layout["slots_per_slab"] == 16);
}

TEST_CASE("layout follows the options that fix a part of it") {
  const json layout = report({"layout",
                              "--model",
                              "falcon-h1-7b",
                              "--block-tokens",
                              "256",
                              "--page-bytes",
                              "512KiB",
                              "--slots",
                              "exact",
                              "--stack-layers",
                              "11",
                              "--checkpoint-interval",
                              "1024",
                              "--dual-interval",
                              "2048",
                              "--key-tokens",
                              "32",
                              "--state-dtype",
                              "fp32",
                              "--kv-dtype",
                              "fp8",
                              "--attention-blocks-per-checkpoint",
                              "4"});
  CHECK(layout["block_tokens"] == 256);
  CHECK(layout["page_bytes"] == 524'288);
  CHECK(layout["slot_rule"] == "exact");
  CHECK(layout["slots_per_slab"] == 24);
  CHECK(layout["stack_layers"] == 11);
  CHECK(layout["checkpoint_interval_tokens"] == 1'024);
  CHECK(layout["dual"]["interval_tokens"] == 2'048);
  CHECK(layout["key_tokens"] == 32);
  CHECK(layout["state_dtype"] == "fp32");
  CHECK(layout["recurrent_bytes_layer"] == 3'145'728);
  CHECK(layout["kv_dtype"] == "fp8");
  CHECK(layout["kv_bytes_per_token_layer"] == 512);
  CHECK(layout["mix"]["attention_blocks"] == 4);
  // What the solver would have taken is said all the same.
  CHECK(layout["best_page"]["unused_fraction"].get<double>() <
        layout["unused_fraction"]["slab_packed"].get<double>());
}

TEST_CASE("layout says what a fixed page gives away") {
  const std::string text =
      print({"layout", "--model", "qwen3-next-80b-a3b", "--block-tokens", "256"});
  CHECK(text.find("Left free, the page would be 1,024 KiB for 512 tokens") != std::string::npos);
}

TEST_CASE("layout notes that sliding windows are held in full") {
  const json layout = report({"layout", "--model", "hymba-1.5b"});
  CHECK(layout["sliding_window_layers"].get<int>() > 0);
  CHECK(layout.contains("sliding_window_note"));
  CHECK(print({"layout", "--model", "hymba-1.5b"}).find("held in full") != std::string::npos);
}

TEST_CASE("every preset has a readable layout") {
  for (const hybridmem::ModelPreset& preset : hybridmem::model_presets()) {
    const std::string_view name = preset.architecture.name.view();
    CAPTURE(name);
    for (const char* choice : {"auto-vllm", "auto-sglang", "bf16", "fp16", "fp32"}) {
      const std::vector<std::string_view> arguments{"layout", "--model", name, "--state-dtype",
                                                    choice};
      check_readable(print(arguments));
      const json layout = report(arguments);
      CHECK(layout["model"] == name);
      for (const char* organization :
           {"coarse_pages", "paged_recurrent", "slab_packed", "static_dual_pool"}) {
        const double unused = layout["unused_fraction"][organization];
        CHECK(unused >= 0.0);
        CHECK(unused < 1.0);
      }
    }
  }
}

TEST_CASE("a page far too large wastes almost all and never more") {
  const json layout = report({"layout", "--model", "lfm2-1.2b", "--block-tokens", "16",
                              "--stack-layers", "1", "--page-bytes", "1TiB"});
  const double unused = layout["unused_fraction"]["slab_packed"];
  CHECK(unused > 0.99);
  CHECK(unused < 1.0);
}
