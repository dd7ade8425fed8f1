// The traps of configuration files: what must be refused, with the code and the field that the
// error names; and texts that are no configuration at all.
#include "hybridmem/model/hugging_face_config.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace hybridmem;
using Json = nlohmann::json;

Json config(std::string_view name) {
  std::ifstream file(std::string(HYBRIDMEM_TEST_DATA) + "/configs/" + std::string(name) + ".json");
  REQUIRE(file.good());
  return Json::parse(file);
}

std::string text_of(std::string_view name) {
  return config(name).dump();
}

void check_text_refused(std::string_view text, Error code, std::string_view field) {
  CAPTURE(field);
  std::optional<ConfigError> caught;
  try {
    parse_hugging_face_config(text);
  } catch (const ConfigError& error) {
    caught = error;
  }
  REQUIRE(caught.has_value());
  const std::string_view message = caught->what();
  CAPTURE(message);
  CHECK(std::string_view(name_of(caught->code())) == name_of(code));
  CHECK(caught->field() == field);
  CHECK(message.find(field) == 0);
  CHECK(message.find("expected") != std::string_view::npos);
  CHECK(message.find('\n') == std::string_view::npos);
  CHECK(message.size() < 800);
}

void check_refused(const Json& config, Error code, std::string_view field) {
  check_text_refused(config.dump(), code, field);
}

/// Replaces one field, found by name and not by path, of a configuration from tests/data.
void check_value(std::string_view model, const char* field, const Json& value, Error code,
                 std::string_view named) {
  Json file = config(model);
  Json& object = file.contains("text_config") ? file["text_config"] : file;
  object[field] = value;
  check_refused(file, code, named);
}

TEST_CASE("of a key that appears twice the last one counts") {
  std::string text = text_of("nemotron-nano-9b-v2");
  text.insert(1, R"("n_groups": 1, )");
  CHECK(parse_hugging_face_config(text).groups == 8);
  text.insert(text.size() - 1, R"(, "n_groups": 2)");
  CHECK(parse_hugging_face_config(text).groups == 2);
  text = text_of("qwen3.5-9b");
  text.insert(1, R"("text_config": {"model_type": "qwen3_5", "num_hidden_layers": 1}, )");
  CHECK(parse_hugging_face_config(text).hidden_layers == 32);
}

TEST_CASE("the head size of Falcon-H1 is never the quotient of hidden size and heads") {
  Json file = config("falcon-h1-7b");
  file.erase("head_dim");
  check_refused(file, Error::missing, "head_dim");
}

TEST_CASE("a class default is never assumed for a missing size") {
  struct Case {
    const char* model;
    const char* field;
  };
  for (const Case& one : {Case{"bamba-9b", "mamba_d_state"},
                          {"bamba-9b", "mamba_chunk_size"},
                          {"falcon-mamba-7b", "intermediate_size"},
                          {"falcon-h1-7b", "num_key_value_heads"},
                          {"falcon-h1-7b", "mamba_n_heads"},
                          {"nemotron-nano-9b-v2", "mamba_head_dim"},
                          {"nemotron-nano-9b-v2", "head_dim"},
                          {"nemotron-nano-9b-v2", "n_groups"},
                          {"nemotron-nano-9b-v2", "num_hidden_layers"},
                          {"nemotron-nano-9b-v2", "hybrid_override_pattern"},
                          {"jamba-1.5-1.7-mini", "attn_layer_period"},
                          {"jamba-1.5-1.7-mini", "attn_layer_offset"},
                          {"jamba-1.5-1.7-mini", "mamba_expand"},
                          {"zamba2-7b", "mamba_ngroups"},
                          {"zamba2-7b", "chunk_size"},
                          {"kimi-linear-48b-a3b", "linear_attn_config"},
                          {"kimi-linear-48b-a3b", "kv_lora_rank"},
                          {"minimax-text-01-m1", "attn_type_list"},
                          {"ring-mini-linear-2.0", "layer_group_size"},
                          {"ring-ling-2.5-1t", "qk_rope_head_dim"},
                          {"lfm2-2.6b", "conv_L_cache"},
                          {"plamo-2-1b", "mamba_step"},
                          {"plamo-2-1b", "hidden_size_per_head"},
                          {"phi-4-mini-flash", "mb_per_layer"},
                          {"hymba-1.5b", "kv_reuse_group"},
                          {"codestral-mamba-7b", "num_heads"},
                          {"rwkv-7-0.4b", "head_dim"},
                          {"rwkv-7-0.4b", "num_hidden_layers"}}) {
    CAPTURE(one.model);
    Json file = config(one.model);
    REQUIRE(file.erase(one.field) == 1);
    check_refused(file, Error::missing, one.field);
  }
  for (const char* model : {"lfm2-2.6b", "granite-4.0-h-tiny", "qwen3.5-9b"}) {
    Json file = config(model);
    Json& object = file.contains("text_config") ? file["text_config"] : file;
    object.erase("layer_types");
    check_refused(file, Error::missing,
                  file.contains("text_config") ? "text_config.layer_types" : "layer_types");
  }
  Json zamba = config("zamba2-7b");
  zamba.erase("hybrid_layer_ids");
  check_refused(zamba, Error::missing, "layer_types");
}

TEST_CASE("fields that start with an underscore are not read") {
  Json file = config("lfm2-350m");
  file.erase("full_attn_idxs");
  file["_n_full_attention"] = 6;
  check_refused(file, Error::missing, "layer_types");
}

TEST_CASE("a model without an element type is refused") {
  Json file = config("falcon-h1-7b");
  file.erase("torch_dtype");
  check_refused(file, Error::missing, "dtype");
  check_value("falcon-h1-7b", "torch_dtype", "auto", Error::missing, "dtype");
  check_value("falcon-h1-7b", "torch_dtype", "int7", Error::unknown_name, "torch_dtype");
  check_value("falcon-h1-7b", "dtype", "float64", Error::unknown_name, "dtype");
  check_value("falcon-h1-7b", "dtype", 16, Error::bad_argument, "dtype");
  check_value("qwen3.5-9b", "mamba_ssm_dtype", "f32", Error::unknown_name,
              "text_config.mamba_ssm_dtype");
  check_value("nemotron-nano-9b-v2", "mamba_ssm_cache_dtype", true, Error::bad_argument,
              "mamba_ssm_cache_dtype");
}

TEST_CASE("an unknown model type is refused with the types that are known") {
  check_value("falcon-h1-7b", "model_type", "llama", Error::unknown_name, "model_type");
  check_value("falcon-h1-7b", "model_type", "", Error::unknown_name, "model_type");
  check_value("falcon-h1-7b", "model_type", "\n\x01\xC3\xA9", Error::unknown_name, "model_type");
  check_value("falcon-h1-7b", "model_type", std::string(1000, 'x'), Error::unknown_name,
              "model_type");
  check_value("falcon-h1-7b", "model_type", 7, Error::bad_argument, "model_type");
  Json file = config("falcon-h1-7b");
  file.erase("model_type");
  check_refused(file, Error::missing, "model_type");
  check_refused(Json::object(), Error::missing, "model_type");
  check_refused(Json{{"model_type", "llava"}, {"text_config", {{"model_type", "llama"}}}},
                Error::unknown_name, "text_config.model_type");
  check_refused(Json{{"model_type", "llava"}, {"text_config", Json::object()}}, Error::unknown_name,
                "model_type");
  check_value("bamba-9b", "text_config", 3, Error::bad_argument, "text_config");
}

TEST_CASE("an unknown layer word is refused with its place") {
  Json file = config("granite-4.0-h-tiny");
  file["layer_types"][17] = "retention";
  check_refused(file, Error::unknown_name, "layer_types[17]");
  file["layer_types"][17] = 1;
  check_refused(file, Error::bad_argument, "layer_types[17]");
  file["layer_types"][17] = "";
  check_refused(file, Error::unknown_name, "layer_types[17]");
  // A word of another family is as unknown.
  file["layer_types"][17] = "conv";
  check_refused(file, Error::unknown_name, "layer_types[17]");
  file = config("lfm2-2.6b");
  file["layer_types"][0] = "mamba";
  check_refused(file, Error::unknown_name, "layer_types[0]");
  file = config("qwen3.5-9b");
  file["text_config"]["layer_types"][3] = "sparse_attention";
  check_refused(file, Error::unknown_name, "text_config.layer_types[3]");
  file = config("zamba2-1.2b");
  file["layers_block_type"][2] = "attention";
  check_refused(file, Error::unknown_name, "layers_block_type[2]");
  file = config("nemotron-3-nano-30b-a3b");
  file["layers_block_type"][51] = "Mamba";
  check_refused(file, Error::unknown_name, "layers_block_type[51]");
  check_value("nemotron-nano-9b-v2", "hybrid_override_pattern",
              "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-Mx", Error::unknown_name,
              "hybrid_override_pattern[55]");
  check_value("nemotron-nano-9b-v2", "hybrid_override_pattern", "M\xC3\xA9", Error::unknown_name,
              "hybrid_override_pattern[1]");
  check_value("nemotron-3-super-120b-a12b", "mtp_hybrid_override_pattern", "*X",
              Error::unknown_name, "mtp_hybrid_override_pattern[1]");
  file = config("minimax-text-01-m1");
  for (const Json& kind : {Json(2), Json(-1), Json("1"), Json(true), Json(1.0), Json(nullptr)}) {
    file["attn_type_list"][5] = kind;
    check_refused(file, Error::unknown_name, "attn_type_list[5]");
  }
}

TEST_CASE("a layer map of another length than the model is refused") {
  check_value("granite-4.0-h-tiny", "num_hidden_layers", 41, Error::bad_argument, "layer_types");
  check_value("granite-4.0-h-tiny", "num_hidden_layers", 39, Error::bad_argument, "layer_types");
  check_value("granite-4.0-h-tiny", "layer_types", Json::array(), Error::bad_argument,
              "layer_types");
  check_value("nemotron-nano-9b-v2", "num_hidden_layers", 55, Error::bad_argument,
              "hybrid_override_pattern");
  check_value("nemotron-nano-9b-v2", "hybrid_override_pattern", "", Error::bad_argument,
              "hybrid_override_pattern");
  check_value("nemotron-3-nano-30b-a3b", "num_hidden_layers", 53, Error::bad_argument,
              "layers_block_type");
  check_value("minimax-text-01-m1", "num_hidden_layers", 79, Error::bad_argument, "attn_type_list");
  check_value("qwen3.5-9b", "num_hidden_layers", 31, Error::bad_argument,
              "text_config.layer_types");
  check_value("lfm2-2.6b", "num_hidden_layers", 16, Error::bad_argument, "layer_types");
  check_value("zamba2-1.2b", "num_hidden_layers", 37, Error::bad_argument, "layers_block_type");
  check_value("phi-4-mini-flash", "sliding_window", Json::array({512}), Error::bad_argument,
              "sliding_window");
  Json falcon = config("falcon-h1-7b");
  falcon["layer_types"] = Json::array({"hybrid"});
  check_refused(falcon, Error::bad_argument, "layer_types");
}

TEST_CASE("a model without a recurrent layer is not hybrid") {
  Json file = config("minimax-text-01-m1");
  file["attn_type_list"] = std::vector<int>(80, 1);
  check_refused(file, Error::not_hybrid, "attn_type_list");
  file["model_type"] = "minimax_m2";
  check_refused(file, Error::not_hybrid, "attn_type_list");
  check_value("granite-4.0-h-tiny", "layer_types", std::vector<std::string>(40, "attention"),
              Error::not_hybrid, "layer_types");
  check_value("nemotron-nano-9b-v2", "hybrid_override_pattern", std::string(56, '*'),
              Error::not_hybrid, "hybrid_override_pattern");
  check_value("nemotron-nano-9b-v2", "hybrid_override_pattern", std::string(56, '-'),
              Error::not_hybrid, "hybrid_override_pattern");
  check_value("qwen3-next-80b-a3b", "full_attention_interval", 1, Error::not_hybrid,
              "full_attention_interval");
  check_value("ring-mini-linear-2.0", "layer_group_size", 1, Error::not_hybrid, "layer_group_size");
  check_value("ring-mini-linear-2.0", "layer_group_size", 21, Error::not_hybrid,
              "layer_group_size");
  check_value("plamo-2-1b", "mamba_enabled", false, Error::not_hybrid, "mamba_enabled");
  Json jamba = config("jamba-1.5-1.7-mini");
  jamba["attn_layer_period"] = 1;
  jamba["attn_layer_offset"] = 0;
  check_refused(jamba, Error::not_hybrid, "attn_layer_period");
  Json bamba = config("bamba-9b");
  bamba["num_hidden_layers"] = 1;
  bamba["attn_layer_indices"] = {0};
  check_refused(bamba, Error::not_hybrid, "attn_layer_indices");
}

TEST_CASE("Kimi counts layers from 1 and names each once") {
  const auto with = [](const char* list, const Json& value) {
    Json file = config("kimi-linear-48b-a3b");
    file["linear_attn_config"][list] = value;
    return file;
  };
  const std::string full = "linear_attn_config.full_attn_layers";
  const std::string delta = "linear_attn_config.kda_layers";
  check_refused(with("full_attn_layers", {0, 4, 8}), Error::bad_argument, full + "[0]");
  check_refused(with("full_attn_layers", {4, 0}), Error::bad_argument, full + "[1]");
  check_refused(with("full_attn_layers", {4, 28}), Error::bad_argument, full + "[1]");
  check_refused(with("full_attn_layers", {-1}), Error::bad_argument, full + "[0]");
  check_refused(with("full_attn_layers", {4, 4}), Error::bad_argument, full + "[1]");
  check_refused(with("full_attn_layers", {4.0}), Error::bad_argument, full + "[0]");
  check_refused(with("full_attn_layers", {"4"}), Error::bad_argument, full + "[0]");
  check_refused(with("full_attn_layers", {true}), Error::bad_argument, full + "[0]");
  check_refused(with("full_attn_layers", {std::numeric_limits<std::uint64_t>::max()}),
                Error::bad_argument, full + "[0]");
  check_refused(with("full_attn_layers", {4, 8, 12, 16, 20, 24}), Error::bad_argument, delta);
  check_refused(with("full_attn_layers", {1, 4, 8, 12, 16, 20, 24, 27}), Error::bad_argument,
                delta);
  check_refused(with("full_attn_layers", nullptr), Error::missing, full);
  check_refused(with("kda_layers", "1, 2"), Error::bad_argument, delta);
  check_refused(with("kda_layers", {1, 0}), Error::bad_argument, delta + "[1]");
  check_refused(with("num_heads", 0), Error::bad_argument, "linear_attn_config.num_heads");
  check_value("kimi-k3", "linear_attn_config", Json::array(), Error::bad_argument,
              "text_config.linear_attn_config");
  // All layers counted from 0, as one other family does.
  Json file = config("kimi-linear-48b-a3b");
  for (const char* list : {"full_attn_layers", "kda_layers"})
    for (Json& layer : file["linear_attn_config"][list]) layer = layer.get<int>() - 1;
  check_refused(file, Error::bad_argument, delta + "[0]");
}

TEST_CASE("indices of layers are in range and named once") {
  check_value("bamba-9b", "attn_layer_indices", {9, 32}, Error::bad_argument,
              "attn_layer_indices[1]");
  check_value("bamba-9b", "attn_layer_indices", {-1}, Error::bad_argument, "attn_layer_indices[0]");
  check_value("bamba-9b", "attn_layer_indices", {9, 9}, Error::bad_argument,
              "attn_layer_indices[1]");
  check_value("bamba-9b", "attn_layer_indices", 9, Error::bad_argument, "attn_layer_indices");
  check_value("falcon-h1-7b", "attn_layer_indices", {0}, Error::bad_argument, "attn_layer_indices");
  check_value("zamba2-7b", "hybrid_layer_ids", {81}, Error::bad_argument, "hybrid_layer_ids[0]");
  check_value("lfm2-350m", "full_attn_idxs", {16}, Error::bad_argument, "full_attn_idxs[0]");
  check_value("plamo-2-1b", "full_attention_idx", {16}, Error::bad_argument,
              "full_attention_idx[0]");
  check_value("hymba-1.5b", "global_attn_idx", {0, 0}, Error::bad_argument, "global_attn_idx[1]");
  check_value("hymba-1.5b", "kv_reuse_group", Json::parse("[[1,2],[2,3]]"), Error::bad_argument,
              "kv_reuse_group[1][0]");
  check_value("hymba-1.5b", "kv_reuse_group", Json::parse("[[1,32]]"), Error::bad_argument,
              "kv_reuse_group[0][1]");
  check_value("hymba-1.5b", "kv_reuse_group", Json::parse("[[1,-2]]"), Error::bad_argument,
              "kv_reuse_group[0][1]");
  check_value("hymba-1.5b", "kv_reuse_group", Json::parse("[[]]"), Error::bad_argument,
              "kv_reuse_group[0]");
  check_value("hymba-1.5b", "kv_reuse_group", Json::parse("[1]"), Error::bad_argument,
              "kv_reuse_group[0]");
}

TEST_CASE("a number of the wrong type or out of range is refused") {
  for (const Json& value : {Json("24"), Json(24.0), Json(24.5), Json(true), Json(0), Json(-1),
                            Json::array({24}), Json::object(), Json(-1e300), Json("auto")})
    check_value("falcon-h1-7b", "mamba_n_heads", value, Error::bad_argument, "mamba_n_heads");
  for (const Json& value :
       {Json((1 << 26) + 1), Json(1e300), Json(std::numeric_limits<std::int64_t>::max()),
        Json(std::numeric_limits<std::uint64_t>::max())})
    check_value("falcon-h1-7b", "mamba_n_heads", value, Error::overflow, "mamba_n_heads");
  check_value("falcon-h1-7b", "mamba_n_heads", nullptr, Error::missing, "mamba_n_heads");
  check_value("falcon-h1-7b", "mamba_n_heads", std::numeric_limits<std::int64_t>::min(),
              Error::bad_argument, "mamba_n_heads");
  check_value("qwen3.5-9b", "head_dim", "256", Error::bad_argument, "text_config.head_dim");
  check_value("falcon-h1-7b", "num_hidden_layers", 65'537, Error::overflow, "num_hidden_layers");
  check_value("falcon-h1-7b", "num_hidden_layers", 0, Error::bad_argument, "num_hidden_layers");
  check_value("qwen3.5-9b", "mtp_num_hidden_layers", -1, Error::bad_argument,
              "text_config.mtp_num_hidden_layers");
  check_value("nemotron-3-super-120b-a12b", "num_nextn_predict_layers", 65'537, Error::overflow,
              "num_nextn_predict_layers");
  Json drafts = config("nemotron-3-super-120b-a12b");
  drafts["num_nextn_predict_layers"] = 65'536;
  drafts["mtp_hybrid_override_pattern"] = "**";
  check_refused(drafts, Error::overflow, "num_nextn_predict_layers");
  check_value("jamba-1.5-1.7-mini", "attn_layer_offset", 8, Error::bad_argument,
              "attn_layer_offset");
  check_value("plamo-2-1b", "mamba_step", 1, Error::bad_argument, "mamba_step");
  check_value("plamo-2-1b", "mamba_enabled", 1, Error::bad_argument, "mamba_enabled");
  check_value("hymba-1.5b", "sliding_window", "1024", Error::bad_argument, "sliding_window");
  check_value("phi-4-mini-flash", "sliding_window", 0, Error::bad_argument, "sliding_window");
}

TEST_CASE("a text is not a number and a number not a list") {
  check_value("falcon-h1-7b", "mamba_d_head", "128", Error::bad_argument, "mamba_d_head");
  check_value("granite-4.0-h-tiny", "layer_types", "mamba", Error::bad_argument, "layer_types");
  check_value("nemotron-nano-9b-v2", "hybrid_override_pattern", {"M"}, Error::bad_argument,
              "hybrid_override_pattern");
  check_value("minimax-text-01-m1", "attn_type_list", 0, Error::bad_argument, "attn_type_list");
}

TEST_CASE("sizes that contradict each other are refused") {
  check_value("falcon-h1-7b", "mamba_d_head", 64, Error::bad_argument, "mamba_d_head");
  check_value("falcon-h1-7b", "mamba_d_ssm", 6144, Error::bad_argument, "mamba_d_head");
  check_value("bamba-9b", "mamba_n_heads", 100, Error::not_divisible, "mamba_d_head");
  check_value("granite-4.0-h-tiny", "num_attention_heads", 11, Error::not_divisible, "head_dim");
  check_value("rwkv-7-0.4b", "hidden_size", 1000, Error::not_divisible, "head_dim");
  Json zamba = config("zamba2-7b");
  zamba.erase("attention_head_dim");
  zamba["num_attention_heads"] = 31;
  check_refused(zamba, Error::not_divisible, "attention_head_dim");
  zamba = config("zamba2-7b");
  zamba.erase("n_mamba_heads");
  zamba["mamba_headdim"] = 65;
  check_refused(zamba, Error::not_divisible, "n_mamba_heads");
  check_value("hymba-1.5b", "v_head_dim", 127, Error::not_divisible, "v_head_dim");
}

TEST_CASE("a product beyond the range of extents is refused") {
  Json file = config("bamba-9b");
  file["hidden_size"] = 1 << 26;
  check_refused(file, Error::overflow, "mamba_expand");
  file = config("zamba2-7b");
  file["hidden_size"] = 1 << 26;
  check_refused(file, Error::overflow, "hidden_size");
  file = config("jamba-1.5-1.7-mini");
  file["mamba_expand"] = 1 << 26;
  check_refused(file, Error::overflow, "mamba_expand");
}

TEST_CASE("a text that is no JSON object is refused with its place") {
  const std::string valid = text_of("falcon-h1-7b");
  check_text_refused(std::string_view(), Error::missing, "(document)");
  check_text_refused("", Error::missing, "(document)");
  for (const char* text : {" ", "{", "}", "{\"a\"", "{\"a\":", "{\"a\": 1,}", "[1, 2]", "null", "7",
                           "\"text\"", "true", "nul", "{} {}", "{'a': 1}", "// comment\n{}",
                           "{\"a\": NaN}", "{\"a\": Infinity}", "{\"a\": 01}", "\xEF\xBB\xBF"})
    check_text_refused(text, Error::bad_argument, "(document)");
  for (std::size_t size = 1; size < valid.size(); size += 7)
    check_text_refused(std::string_view(valid).substr(0, size), Error::bad_argument, "(document)");
  check_text_refused("{\"a\": 1e999}", Error::overflow, "(document)");
  for (const char* bytes : {"\x80", "\xC3", "\xFF\xFE", "\xED\xA0\x80", "\xF4\x90\x80\x80"})
    check_text_refused("{\"model_type\": \"" + std::string(bytes) + "\"}", Error::bad_argument,
                       "(document)");
  check_text_refused(std::string_view("{\"a\": 1\0}", 9), Error::bad_argument, "(document)");
  try {
    parse_hugging_face_config("{\n  \"a\": 1,\n  \"b\" 2\n}");
    FAIL("expected an error");
  } catch (const ConfigError& error) {
    CHECK(std::string_view(error.what()).find("line 3") != std::string_view::npos);
  }
}

TEST_CASE("deep nesting and many values are refused without exhausting anything") {
  const auto nested = [](std::size_t depth) {
    return "{\"model_type\": \"x\", \"a\": " + std::string(depth, '[') + std::string(depth, ']') +
           "}";
  };
  check_text_refused(nested(63), Error::unknown_name, "model_type");
  check_text_refused(nested(64), Error::overflow, "(document)");
  check_text_refused(nested(1'000'000), Error::overflow, "(document)");
  check_text_refused(std::string(5'000'000, '['), Error::overflow, "(document)");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  check_text_refused(objects, Error::overflow, "(document)");

  std::string numbers = "{\"model_type\": \"x\", \"a\": [0";
  for (int i = 0; i < 5'000'000; ++i) numbers += ",0";
  check_text_refused(numbers + "]}", Error::overflow, "(document)");
}

TEST_CASE("ten megabytes beside the fields that count are read") {
  std::string text = text_of("falcon-h1-7b");
  text.insert(1, "\"comment\": \"" + std::string(10'000'000, 'x') + "\", ");
  CHECK(parse_hugging_face_config(text).heads == 24);
  check_text_refused(std::string((std::size_t{64} << 20U) + 1, ' '), Error::overflow, "(document)");
}

}  // namespace
