// parse_hugging_face_config: every configuration in tests/data equals its preset, and every
// spelling of a field or a layer map that a family uses says the same.
#include "hybridmem/model/hugging_face_config.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "hybridmem/model/preset.hpp"

namespace {

using namespace hybridmem;
using Json = nlohmann::json;

const std::filesystem::path configs = std::filesystem::path(HYBRIDMEM_TEST_DATA) / "configs";

Json config(std::string_view name) {
  std::ifstream file(configs / (std::string(name) + ".json"));
  REQUIRE(file.good());
  return Json::parse(file);
}

ModelArchitecture parse(const Json& config, std::string_view name = {}) {
  return parse_hugging_face_config(config.dump(), name);
}

/// What the preset says, under the name that an unnamed configuration gets.
ModelArchitecture expected(std::string_view name) {
  ModelArchitecture model = find_preset(name)->architecture;
  model.name = name_of(model.family);
  return model;
}

/// A list in which the layers that `marks` names are `marked`, and the others `other`.
Json words(std::size_t layers, const std::vector<std::size_t>& marks, const char* marked,
           const char* other) {
  Json list = Json::array();
  for (std::size_t i = 0; i < layers; ++i) list.push_back(other);
  for (const std::size_t i : marks) list[i] = marked;
  return list;
}

TEST_CASE("every configuration in tests/data equals the preset of its name") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(configs)) {
    if (entry.path().extension() != ".json") continue;
    CAPTURE(entry.path().filename().string());
    const ModelPreset* preset = find_preset(entry.path().stem().string());
    REQUIRE(preset != nullptr);
    const ModelArchitecture model = read_hugging_face_config(entry.path());
    const ModelArchitecture& known = preset->architecture;
    CHECK(model.name.view() == known.name.view());
    CHECK(model.hidden_layers == known.hidden_layers);
    CHECK(model.attention_layers == known.attention_layers);
    CHECK(model.recurrent_layers == known.recurrent_layers);
    CHECK(model.sliding_window_layers == known.sliding_window_layers);
    CHECK(model.draft_attention_layers == known.draft_attention_layers);
    CHECK(model == known);
    ++files;
  }
  CHECK(files == 54);
}

TEST_CASE("the name of the architecture is the caller's or else the family's") {
  CHECK(parse(config("falcon-h1-7b"), "mine").name.view() == "mine");
  CHECK(parse(config("falcon-h1-7b")).name.view() == "falcon_h1");
  CHECK(parse(config("kimi-k3")).name.view() == "kimi_linear");
}

TEST_CASE("every variant of a model type is its family") {
  for (const char* type : {"qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"}) {
    Json file = config("qwen3.5-9b");
    file["text_config"]["model_type"] = type;
    CHECK(parse(file) == expected("qwen3.5-9b"));
  }
  for (const char* type : {"minimax_text_01", "minimax_m1", "minimax"}) {
    Json file = config("minimax-text-01-m1");
    file["model_type"] = type;
    CHECK(parse(file) == expected("minimax-m1"));
  }
  for (const char* type :
       {"bailing_moe_linear", "bailing_moe_linear_v2", "bailing_moe_v2_5", "bailing_hybrid"}) {
    Json file = config("ring-mini-linear-2.0");
    file["model_type"] = type;
    CHECK(parse(file) == expected("ring-mini-linear-2.0"));
  }
  Json file = config("lfm2-350m");
  file["model_type"] = "lfm2_moe";
  CHECK(parse(file) == expected("lfm2-350m"));
}

TEST_CASE("a model with several parts is read from its language part") {
  const Json inner = config("qwen3.5-9b")["text_config"];
  CHECK(parse(inner) == expected("qwen3.5-9b"));
  CHECK(parse(Json{{"model_type", "some_vision_model"}, {"text_config", inner}}) ==
        expected("qwen3.5-9b"));
  Json untyped = inner;
  untyped.erase("model_type");
  CHECK(parse(Json{{"model_type", "qwen3_5"}, {"text_config", untyped}}) == expected("qwen3.5-9b"));
  CHECK(parse(Json{{"model_type", "NemotronH_Nano_VL_V2"},
                   {"llm_config", config("nemotron-nano-12b-v2")}}) ==
        expected("nemotron-nano-12b-v2"));
  Json file = config("falcon-h1-7b");
  file["text_config"] = nullptr;
  CHECK(parse(file) == expected("falcon-h1-7b"));
}

TEST_CASE("element types come from the language part and else from the whole") {
  Json file = config("qwen3.5-9b");
  file["text_config"].erase("dtype");
  file["text_config"].erase("mamba_ssm_dtype");
  file["torch_dtype"] = "float16";
  file["mamba_ssm_dtype"] = "bfloat16";
  const ModelArchitecture model = parse(file);
  CHECK(model.model_dtype == DataType::fp16);
  CHECK(model.has_mamba_ssm_dtype);
  CHECK(model.mamba_ssm_dtype == DataType::bf16);
  file["text_config"]["dtype"] = "float32";
  CHECK(parse(file).model_dtype == DataType::fp32);
}

TEST_CASE("dtype is preferred to torch_dtype and either will do") {
  Json file = config("falcon-h1-7b");
  CHECK(parse(file).model_dtype == DataType::bf16);
  file["dtype"] = "float16";
  CHECK(parse(file).model_dtype == DataType::fp16);
  file.erase("torch_dtype");
  CHECK(parse(file).model_dtype == DataType::fp16);
  file["dtype"] = nullptr;
  file["torch_dtype"] = "torch.float32";
  CHECK(parse(file).model_dtype == DataType::fp32);
}

TEST_CASE("the state type of a configuration is kept and auto is no choice") {
  Json file = config("nemotron-nano-9b-v2");
  file["mamba_ssm_cache_dtype"] = "float16";
  CHECK(parse(file).mamba_ssm_cache_dtype == DataType::fp16);
  for (const Json& none : {Json("auto"), Json(nullptr)}) {
    file["mamba_ssm_cache_dtype"] = none;
    CHECK_FALSE(parse(file).has_mamba_ssm_cache_dtype);
  }
}

TEST_CASE("Falcon-H1 takes its inner channels from the expansion when they are not given") {
  Json file = config("falcon-h1-1.5b");  // 3072 channels, hidden size 2048
  file["mamba_d_ssm"] = nullptr;
  file["mamba_n_heads"] = 64;
  CHECK(parse(file).heads == 64);
  CHECK(parse(file).head_dim == 64);
  file.erase("mamba_d_ssm");
  file["mamba_d_head"] = "auto";
  CHECK(parse(file).head_dim == 64);
  file["layer_types"] = words(24, {}, "", "hybrid");
  CHECK(parse(file).attention_layers == 24);
  CHECK(parse(file).recurrent_layers == 24);
}

TEST_CASE("Granite and Bamba name their attention layers by word or by index") {
  Json bamba = config("bamba-9b");
  CHECK(bamba["mamba_d_head"] == "auto");
  bamba["mamba_d_head"] = 64;
  CHECK(parse(bamba) == expected("bamba-9b"));
  bamba.erase("mamba_d_head");
  CHECK(parse(bamba) == expected("bamba-9b"));
  bamba.erase("attn_layer_indices");
  bamba["layers_block_type"] = words(32, {9, 18, 27}, "attention", "mamba");
  CHECK(parse(bamba) == expected("bamba-9b"));

  Json granite = config("granite-4.0-h-tiny");
  granite["layer_types"] = words(40, {5, 15, 25, 35}, "full_attention", "linear_attention");
  CHECK(parse(granite) == expected("granite-4.0-h-tiny"));
  granite["num_key_value_heads"] = nullptr;  // as many as query heads
  CHECK(parse(granite).kv_heads == 12);
  granite["head_dim"] = 96;
  CHECK(parse(granite).kv_head_dim == 96);
  granite["layer_types"] = words(40, {5, 15}, "sliding_attention", "mamba");
  CHECK(parse(granite).attention_layers == 2);
  CHECK(parse(granite).sliding_window_layers == 2);
}

TEST_CASE("Nemotron-H writes its layers as letters or as words") {
  Json file = config("nemotron-3-nano-30b-a3b");
  const Json list = file["layers_block_type"];
  file.erase("layers_block_type");
  file["hybrid_override_pattern"] = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME";
  CHECK(parse(file) == expected("nemotron-3-nano-30b-a3b"));
  file.erase("hybrid_override_pattern");
  Json renamed = list;
  for (Json& word : renamed)
    word = word == "mamba" ? "linear_attention" : word == "attention" ? "full_attention" : word;
  file["layer_types"] = renamed;
  CHECK(parse(file) == expected("nemotron-3-nano-30b-a3b"));
  file.erase("num_hidden_layers");
  CHECK(parse(file) == expected("nemotron-3-nano-30b-a3b"));
}

TEST_CASE("Nemotron-H reads both spellings of its sizes and prefers the older ones") {
  Json file = config("nemotron-nano-9b-v2");
  file["expand"] = 99;  // not the inner channels
  CHECK(parse(file) == expected("nemotron-nano-9b-v2"));
  file["attention_head_dim"] = file["head_dim"];
  file.erase("head_dim");
  CHECK(parse(file) == expected("nemotron-nano-9b-v2"));
  file["mamba_n_groups"] = 4;
  file["mamba_d_conv"] = 5;
  file["mamba_chunk_size"] = 256;
  CHECK(parse(file).groups == 4);
  CHECK(parse(file).conv_kernel == 5);
  CHECK(parse(file).kernel_chunk_tokens == 256);
}

TEST_CASE("multi-token-prediction heads are counted apart from the layers") {
  Json nemotron = config("nemotron-3-super-120b-a12b");
  CHECK(parse(nemotron).attention_layers == 8);
  CHECK(parse(nemotron).draft_attention_layers == 1);
  nemotron["num_nextn_predict_layers"] = 2;
  CHECK(parse(nemotron).draft_attention_layers == 2);
  nemotron.erase("num_nextn_predict_layers");
  nemotron["mtp_hybrid_override_pattern"] = "*E*";
  CHECK(parse(nemotron).draft_attention_layers == 2);
  nemotron.erase("mtp_hybrid_override_pattern");
  CHECK(parse(nemotron).draft_attention_layers == 0);
  nemotron["num_nextn_predict_layers"] = 1;
  CHECK(parse(nemotron).draft_attention_layers == 1);
  nemotron["mtp_layers_block_type"] = {"attention", "moe", "attention"};
  CHECK(parse(nemotron).draft_attention_layers == 2);
  nemotron["num_nextn_predict_layers"] = 0;
  CHECK(parse(nemotron).draft_attention_layers == 0);

  Json qwen = config("qwen3.5-9b");
  qwen["text_config"]["mtp_num_hidden_layers"] = 3;
  CHECK(parse(qwen).draft_attention_layers == 3);
  Json ring = config("ring-ling-2.5-1t");
  ring["num_nextn_predict_layers"] = 1;
  CHECK(parse(ring).draft_attention_layers == 1);
  CHECK(parse(ring).attention_layers == 10);
}

TEST_CASE("Jamba places attention by period and offset or by word") {
  Json file = config("jamba-1.5-1.7-mini");
  file["attn_layer_offset"] = 0;
  CHECK(parse(file).attention_layers == 4);
  file["attn_layer_offset"] = 7;
  file["num_hidden_layers"] = 31;
  CHECK(parse(file).attention_layers == 3);
  file["layers_block_type"] = words(31, {4, 12}, "attention", "mamba");
  CHECK(parse(file).attention_layers == 2);
}

TEST_CASE("Zamba2 reads words or indices and old and new names") {
  Json file = config("zamba2-7b");
  const auto ids = file["hybrid_layer_ids"].get<std::vector<std::size_t>>();
  file.erase("hybrid_layer_ids");
  for (const char* mamba : {"mamba", "linear_attention"}) {
    file["layers_block_type"] = words(81, ids, "hybrid", mamba);
    CHECK(parse(file) == expected("zamba2-7b"));
  }
  for (const auto& [now, before] : {std::pair{"mamba_d_state", "state_size"},
                                    {"mamba_d_conv", "conv_dimension"},
                                    {"mamba_expand", "expansion_factor"}}) {
    file[before] = file[now];
    file.erase(now);
  }
  for (const char* derived : {"num_key_value_heads", "attention_head_dim", "n_mamba_heads"})
    file.erase(derived);
  CHECK(parse(file) == expected("zamba2-7b"));
  file["n_mamba_heads"] = 112;
  file.erase("mamba_headdim");
  CHECK(parse(file) == expected("zamba2-7b"));
}

TEST_CASE("Qwen places full attention by word or by interval") {
  Json file = config("qwen3-next-80b-a3b");
  CHECK(file.contains("full_attention_interval"));
  file["layer_types"] = words(48, {3, 7}, "full_attention", "linear_attention");
  CHECK(parse(file).attention_layers == 2);  // the words count
  file.erase("layer_types");
  file["full_attention_interval"] = 7;
  CHECK(parse(file).attention_layers == 6);
}

TEST_CASE("MiniMax writes numbers or words") {
  Json file = config("minimax-text-01-m1");
  file.erase("attn_type_list");
  file.erase("block_size");
  file["layer_types"] =
      words(80, {7, 15, 23, 31, 39, 47, 55, 63, 71, 79}, "full_attention", "linear_attention");
  CHECK(parse(file) == expected("minimax-m1"));
  file.erase("head_dim");
  CHECK(parse(file).head_dim == 96);  // 6144 / 64
}

TEST_CASE("Bailing ends every group with softmax attention and a broken group is all softmax") {
  Json file = config("ring-mini-linear-2.0");
  file["num_hidden_layers"] = 22;  // four groups of five and two layers more
  CHECK(parse(file).attention_layers == 6);
  CHECK(parse(file).recurrent_layers == 16);
}

TEST_CASE("Bailing with a short convolution is Kimi delta attention") {
  Json file = config("ring-ling-2.5-1t");
  file["short_conv_kernel_size"] = nullptr;
  CHECK(parse(file).mixer == Mixer::lightning);
  file["short_conv_kernel_size"] = 4;
  const ModelArchitecture model = parse(file);
  CHECK(model.mixer == Mixer::kimi_delta);
  CHECK(model.conv_kernel == 4);
  CHECK(model.groups == 64);
  CHECK(model.state_dim == 128);
  CHECK(model.kernel_chunk_tokens == 64);
}

TEST_CASE("LFM2 names its attention layers by word or by index") {
  Json file = config("lfm2-350m");
  CHECK(file.contains("full_attn_idxs"));
  const auto ids = file["full_attn_idxs"].get<std::vector<std::size_t>>();
  file["full_attn_idxs"] = nullptr;
  for (const char* convolution : {"conv", "short_conv"}) {
    file["layer_types"] = words(16, ids, "full_attention", convolution);
    CHECK(parse(file) == expected("lfm2-350m"));
  }
  file.erase("block_dim");
  CHECK(parse(file) == expected("lfm2-350m"));  // the hidden size
  file["conv_dim"] = 512;
  CHECK(parse(file).channels == 512);
}

TEST_CASE("PLaMo-2 has attention in the middle of each step") {
  Json file = config("plamo-2-1b");
  file["mamba_step"] = 5;  // layers 2, 7 and 12 of 16
  CHECK(parse(file).attention_layers == 3);
  file["full_attention_idx"] = {7};
  CHECK(parse(file).sliding_window_layers == 2);
  file["attention_window_size"] = nullptr;
  CHECK(parse(file).sliding_window_layers == 0);
  file["full_attention_idx"] = nullptr;
  file["mamba_step"] = 40;  // half a step is longer than the model: attention in the last layer
  CHECK(parse(file).attention_layers == 1);
  CHECK(parse(file).recurrent_layers == 15);
  CHECK(parse(file).groups == 0);
}

TEST_CASE("Phi-4-flash owns nothing after the middle") {
  Json file = config("phi-4-mini-flash");
  Json windows = Json::array();
  for (int i = 0; i < 32; ++i) windows.push_back(i < 16 && i % 2 == 1 ? Json(512) : Json(nullptr));
  file["sliding_window"] = windows;
  CHECK(parse(file) == expected("phi-4-mini-flash"));
  file["sliding_window"] = nullptr;
  CHECK(parse(file).sliding_window_layers == 0);
  CHECK(parse(file).attention_layers == 9);
}

TEST_CASE("Hymba shares KV in groups or in steps or not at all") {
  Json file = config("hymba-1.5b");
  file["kv_reuse_group"] = nullptr;
  CHECK(parse(file).attention_layers == 32);
  CHECK(parse(file).sliding_window_layers == 29);
  file["kv_reuse_every_i_layer"] = -1;
  CHECK(parse(file).attention_layers == 32);
  file["kv_reuse_every_i_layer"] = 3;
  CHECK(parse(file).attention_layers == 11);
  file["sliding_window"] = nullptr;
  CHECK(parse(file).sliding_window_layers == 0);
  file["kq_head_dim"] = -1;
  file["v_head_dim"] = 128;
  CHECK(parse(file).kv_head_dim == 96);  // keys of 64 and values of 128
}

TEST_CASE("Falcon-Mamba takes its channels from intermediate_size") {
  Json file = config("falcon-mamba-7b");
  CHECK(file["expand"] == 16);
  CHECK(parse(file).channels == 8192);
}

TEST_CASE("RWKV-7 reads both spellings of its head size") {
  Json file = config("rwkv-7-0.4b");
  file["head_size"] = file["head_dim"];
  file.erase("head_dim");
  CHECK(parse(file) == expected("rwkv-7-0.4b"));
}

TEST_CASE("a file is named after itself and one that cannot be read is an error") {
  CHECK(read_hugging_face_config(configs / "zamba2-7b.json").name.view() == "zamba2-7b");
  for (const auto& path : {configs / "no-such-file.json", configs}) {
    try {
      read_hugging_face_config(path);
      FAIL("expected an error");
    } catch (const ConfigError& error) {
      CHECK(error.code() == Error::missing);
      CHECK(error.field() == path.string());
      CHECK(std::string_view(error.what()).find('\n') == std::string_view::npos);
    }
  }
}

}  // namespace
