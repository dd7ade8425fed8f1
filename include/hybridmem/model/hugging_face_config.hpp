// A model's architecture from its Hugging Face `config.json`. Opt-in: needs nlohmann_json (the
// package nlohmann-json3-dev or the CMake target nlohmann_json::nlohmann_json), and throws.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "hybridmem/model/hugging_face_linear.hpp"
#include "hybridmem/model/hugging_face_mamba.hpp"
#include "hybridmem/model/json_document.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

namespace detail {

/// A `model_type` and how its file is read.
struct ModelType {
  std::string_view name;
  ModelFamily family;
  LayerCounts (*read)(const Fields&, ModelArchitecture&);
};

inline constexpr std::array model_types{
    ModelType{"falcon_h1", ModelFamily::falcon_h1, read_falcon_h1},
    ModelType{"granitemoehybrid", ModelFamily::granitemoehybrid, read_bamba},
    ModelType{"bamba", ModelFamily::bamba, read_bamba},
    ModelType{"nemotron_h", ModelFamily::nemotron_h, read_nemotron_h},
    ModelType{"jamba", ModelFamily::jamba, read_jamba},
    ModelType{"zamba2", ModelFamily::zamba2, read_zamba2},
    ModelType{"qwen3_next", ModelFamily::qwen3_next, read_qwen},
    ModelType{"qwen3_5", ModelFamily::qwen3_5, read_qwen},
    ModelType{"qwen3_5_text", ModelFamily::qwen3_5, read_qwen},
    ModelType{"qwen3_5_moe", ModelFamily::qwen3_5, read_qwen},
    ModelType{"qwen3_5_moe_text", ModelFamily::qwen3_5, read_qwen},
    ModelType{"kimi_linear", ModelFamily::kimi_linear, read_kimi_linear},
    ModelType{"kimi_k3", ModelFamily::kimi_linear, read_kimi_linear},
    ModelType{"minimax_text_01", ModelFamily::minimax, read_minimax},
    ModelType{"minimax_m1", ModelFamily::minimax, read_minimax},
    ModelType{"minimax", ModelFamily::minimax, read_minimax},
    ModelType{"minimax_m2", ModelFamily::minimax, read_minimax},
    ModelType{"bailing_moe_linear", ModelFamily::bailing_linear, read_bailing},
    ModelType{"bailing_moe_linear_v2", ModelFamily::bailing_linear, read_bailing},
    ModelType{"bailing_moe_v2_5", ModelFamily::bailing_linear, read_bailing},
    ModelType{"bailing_hybrid", ModelFamily::bailing_linear, read_bailing},
    ModelType{"lfm2", ModelFamily::lfm2, read_lfm2},
    ModelType{"lfm2_moe", ModelFamily::lfm2, read_lfm2},
    ModelType{"plamo2", ModelFamily::plamo2, read_plamo2},
    ModelType{"phi4flash", ModelFamily::phi4flash, read_phi4flash},
    ModelType{"hymba", ModelFamily::hymba, read_hymba},
    ModelType{"falcon_mamba", ModelFamily::falcon_mamba, read_falcon_mamba},
    ModelType{"mamba2", ModelFamily::mamba2, read_mamba2_alone},
    ModelType{"rwkv7", ModelFamily::rwkv7, read_rwkv7},
};

/// The type that `model_type` of `fields` names, or null where there is none or it is unknown.
inline const ModelType* find_model_type(const Fields& fields) {
  const std::string* name = fields.optional_text("model_type");
  if (name == nullptr) return nullptr;
  for (const ModelType& type : model_types)
    if (type.name == *name) return &type;
  return nullptr;
}

[[noreturn]] inline void refuse_model_type(const Fields& fields) {
  std::string expected = "one of";
  for (const ModelType& type : model_types) expected += " " + std::string(type.name);
  const Json* name = fields.find("model_type");
  if (name == nullptr) refuse_missing(fields.path("model_type"), expected);
  refuse(Error::unknown_name, fields.path("model_type"), printable(*name), expected);
}

/// The element type of the weights: `dtype`, or `torch_dtype` in older files; of the language part
/// if it has one, else of the whole.
inline DataType model_data_type(const Fields& text, const Fields& root) {
  for (const Fields* fields : {&text, &root})
    for (const std::string_view name : {std::string_view("dtype"), std::string_view("torch_dtype")})
      if (const auto type = fields->data_type(name)) return *type;
  refuse_missing(text.path("dtype"), "the element type of the weights, or torch_dtype");
}

/// The element type that the field `name` gives, of the language part or of the whole.
inline std::optional<DataType> state_data_type(const Fields& text, const Fields& root,
                                               std::string_view name) {
  const auto own = text.data_type(name);
  return own ? own : root.data_type(name);
}

}  // namespace detail

/// The architecture that a `config.json` describes. A model with several parts is read from
/// `text_config` (or `llm_config`). `name` is what the caller calls the model; without one the
/// architecture is named after its family. Fields that start with `_` are not read.
///
/// Throws `ConfigError`: `missing` (a field, or any text), `bad_argument` (not JSON, a wrong type,
/// a number out of range, a layer map of the wrong length), `overflow` (an extent beyond 2^26, more
/// than 65536 layers, a file beyond the limits of `json_document.hpp`), `not_divisible`,
/// `not_hybrid` (no layer with recurrent or convolution state), `unknown_name` (model type, layer
/// word, element type). Linear in the text.
inline ModelArchitecture parse_hugging_face_config(std::string_view json,
                                                   std::string_view name = {}) {
  const detail::Json document = detail::parse_document(json);
  const detail::Fields root(document);
  auto part = root.optional_object("text_config");
  if (!part) part = root.optional_object("llm_config");
  const detail::Fields text = part ? *part : root;

  const detail::ModelType* type = detail::find_model_type(text);
  if (type == nullptr) type = detail::find_model_type(root);
  if (type == nullptr) detail::refuse_model_type(text.find("model_type") != nullptr ? text : root);

  ModelArchitecture model;
  model.name = name.empty() ? std::string_view(name_of(type->family)) : name;
  model.family = type->family;
  const detail::LayerCounts layers = type->read(text, model);
  if (layers.recurrent == 0)
    detail::refuse(Error::not_hybrid, layers.source, "no recurrent layer",
                   "at least one layer with recurrent or convolution state");
  model.hidden_layers = layers.all;
  model.attention_layers = layers.attention;
  model.recurrent_layers = layers.recurrent;
  model.sliding_window_layers = layers.sliding;

  model.model_dtype = detail::model_data_type(text, root);
  if (const auto state = detail::state_data_type(text, root, "mamba_ssm_dtype")) {
    model.has_mamba_ssm_dtype = true;
    model.mamba_ssm_dtype = *state;
  }
  if (const auto state = detail::state_data_type(text, root, "mamba_ssm_cache_dtype")) {
    model.has_mamba_ssm_cache_dtype = true;
    model.mamba_ssm_cache_dtype = *state;
  }
  return model;
}

/// The architecture that the file at `path` describes, named after the file without its extension.
/// Throws `ConfigError`, as above and with code `missing` where the file cannot be read.
inline ModelArchitecture read_hugging_face_config(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 65'536> buffer;
  while (file.good() && text.size() <= detail::max_document_bytes) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    text.append(buffer.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof() && text.size() <= detail::max_document_bytes)
    throw ConfigError(Error::missing, path.string(),
                      path.string() + " cannot be read: expected a config.json");
  return parse_hugging_face_config(text, path.stem().string());
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
