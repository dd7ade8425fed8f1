// The families built on linear attention and short convolutions: how each spells its sizes and its
// layers in `config.json`. Needs nlohmann_json; throws.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hybridmem/model/hugging_face_mamba.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::detail {

/// Tokens that the chunked kernels of the delta rules, and of lightning attention, work on at once.
inline constexpr Tokens delta_chunk_tokens = 64;
inline constexpr Tokens lightning_chunk_tokens = 256;

/// Layers of the multi-token-prediction head; each has attention.
inline std::uint32_t draft_layers(const Fields& fields) {
  return fields.layer_count({"mtp_num_hidden_layers", "num_nextn_predict_layers"});
}

/// The width of the latent vector that multi-head latent attention keeps.
inline std::uint32_t latent_dim(const Fields& fields) {
  return fields.extent({"kv_lora_rank"}) + fields.extent({"qk_rope_head_dim"});
}

/// Kimi delta attention of `heads` heads.
inline void read_kimi_delta(ModelArchitecture& model, std::uint32_t heads, std::uint32_t head_dim,
                            std::uint32_t conv_kernel) {
  model.mixer = Mixer::kimi_delta;
  model.heads = heads;
  model.head_dim = head_dim;
  model.groups = heads;
  model.state_dim = head_dim;
  model.conv_kernel = conv_kernel;
  model.kernel_chunk_tokens = delta_chunk_tokens;
}

/// Qwen3-Next and Qwen3.5: full attention by word, or in every `full_attention_interval`-th layer.
inline LayerCounts read_qwen(const Fields& fields, ModelArchitecture& model) {
  model.mixer = Mixer::gated_delta;
  model.kv_heads = kv_heads(fields);
  model.kv_head_dim = fields.extent({"head_dim"});
  model.heads = fields.extent({"linear_num_value_heads"});
  model.head_dim = fields.extent({"linear_value_head_dim"});
  model.groups = fields.extent({"linear_num_key_heads"});
  model.state_dim = fields.extent({"linear_key_head_dim"});
  model.conv_kernel = fields.extent({"linear_conv_kernel_dim"});
  model.kernel_chunk_tokens = delta_chunk_tokens;
  model.draft_attention_layers = draft_layers(fields);
  const std::string_view name = word_list_name(fields);
  if (!name.empty()) return count_words_checked(fields, name, common_layer_words);
  const std::uint32_t layers = fields.hidden_layers();
  const auto interval = fields.optional_extent({"full_attention_interval"}, max_layers);
  if (!interval)
    refuse_missing(fields.path("layer_types"), "a list of layer words, or full_attention_interval");
  LayerCounts counts;
  counts.source = fields.path("full_attention_interval");
  for (std::uint32_t i = 0; i < layers; ++i)
    counts.add((i + 1) % *interval == 0 ? LayerKind::attention : LayerKind::recurrent);
  return counts;
}

/// The two lists of `linear_attn_config` count layers from 1 and between them name each once. A
/// list that contains 0 counts from 0, as another family does, and is refused.
inline LayerCounts count_kimi_layers(const Fields& linear, std::uint32_t layers) {
  for (const std::string_view name :
       {std::string_view("full_attn_layers"), std::string_view("kda_layers")}) {
    const Json& list = linear.list(name);
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i] == 0)
        refuse(Error::bad_argument, Fields::element(linear.path(name), i), "0",
               "layers counted from 1 to " + std::to_string(layers) + "; this list counts from 0");
  }
  const std::vector<bool> full = marked_layers(linear, "full_attn_layers", layers, 1);
  const std::vector<bool> delta = marked_layers(linear, "kda_layers", layers, 1);
  for (std::uint32_t i = 0; i < layers; ++i) {
    if (full[i] && delta[i])
      refuse(Error::bad_argument, linear.path("kda_layers"), "layer " + std::to_string(i + 1),
             "no layer that full_attn_layers names too");
    if (!full[i] && !delta[i])
      refuse(Error::bad_argument, linear.path("kda_layers"),
             "without layer " + std::to_string(i + 1),
             "every layer in kda_layers or in full_attn_layers");
  }
  return count_marks(linear.path("kda_layers"), delta, LayerKind::recurrent, LayerKind::attention);
}

inline LayerCounts read_kimi_linear(const Fields& fields, ModelArchitecture& model) {
  const auto linear = fields.optional_object("linear_attn_config");
  if (!linear)
    refuse_missing(fields.path("linear_attn_config"), "the sizes and layers of delta attention");
  read_kimi_delta(model, linear->extent({"num_heads"}), linear->extent({"head_dim"}),
                  linear->extent({"short_conv_kernel_size"}));
  model.kv_latent_dim = latent_dim(fields);
  model.draft_attention_layers = draft_layers(fields);
  return count_kimi_layers(*linear, fields.hidden_layers());
}

/// `attn_type_list`: 0 linear, 1 softmax; the Hugging Face port has `layer_types` instead.
inline LayerCounts read_minimax(const Fields& fields, ModelArchitecture& model) {
  model.mixer = Mixer::lightning;
  model.kv_heads = kv_heads(fields);
  model.kv_head_dim = attention_head_dim(fields);
  model.heads = fields.extent({"num_attention_heads"});
  model.head_dim = model.kv_head_dim;
  model.kernel_chunk_tokens =
      fields.optional_extent({"block_size"}).value_or(lightning_chunk_tokens);
  model.draft_attention_layers = draft_layers(fields);
  const std::string_view name = word_list_name(fields);
  if (!name.empty()) return count_words_checked(fields, name, common_layer_words);
  const std::uint32_t layers = fields.hidden_layers();
  if (fields.find("attn_type_list") == nullptr)
    refuse_missing(fields.path("attn_type_list"), "a list of 0 (linear) and 1 (softmax)");
  const Json& list = fields.list("attn_type_list");
  LayerCounts counts;
  counts.source = fields.path("attn_type_list");
  check_map_length(counts.source, list.size(), layers);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_number_integer() || (list[i] != 0 && list[i] != 1))
      refuse(Error::unknown_name, Fields::element(counts.source, i), printable(list[i]),
             "0 (linear) or 1 (softmax)");
    counts.add(list[i] == 1 ? LayerKind::attention : LayerKind::recurrent);
  }
  return counts;
}

/// Softmax attention in the last layer of each group and in the layers after the last whole group.
/// With `kv_lora_rank` it is latent attention. With `short_conv_kernel_size` (the third version)
/// the other layers are Kimi delta attention, else lightning attention.
inline LayerCounts read_bailing(const Fields& fields, ModelArchitecture& model) {
  const std::uint32_t heads = fields.extent({"num_attention_heads"});
  const std::uint32_t head_dim = attention_head_dim(fields);
  if (const auto taps = fields.optional_extent({"short_conv_kernel_size"})) {
    read_kimi_delta(model, heads, head_dim, *taps);
  } else {
    model.mixer = Mixer::lightning;
    model.heads = heads;
    model.head_dim = head_dim;
    model.kernel_chunk_tokens = lightning_chunk_tokens;
  }
  if (fields.find("kv_lora_rank") != nullptr) {
    model.kv_latent_dim = latent_dim(fields);
  } else {
    model.kv_heads = kv_heads(fields);
    model.kv_head_dim = head_dim;
  }
  model.draft_attention_layers = draft_layers(fields);
  const std::uint32_t layers = fields.hidden_layers();
  const std::uint32_t group = fields.extent({"layer_group_size"}, max_layers);
  LayerCounts counts;
  counts.source = fields.path("layer_group_size");
  for (std::uint32_t i = 0; i < layers; ++i)
    counts.add((i + 1) % group == 0 || i >= layers / group * group ? LayerKind::attention
                                                                   : LayerKind::recurrent);
  return counts;
}

/// Short convolutions, and attention layers by word or by index.
inline LayerCounts read_lfm2(const Fields& fields, ModelArchitecture& model) {
  model.mixer = Mixer::short_conv;
  model.kv_heads = kv_heads(fields);
  model.kv_head_dim = attention_head_dim(fields);
  model.channels = fields.extent({"conv_dim", "block_dim", "hidden_size"});
  model.conv_kernel = fields.extent({"conv_L_cache"});
  constexpr std::array words{LayerWord{"conv", LayerKind::recurrent},
                             LayerWord{"short_conv", LayerKind::recurrent},
                             LayerWord{"attention", LayerKind::attention},
                             LayerWord{"full_attention", LayerKind::attention}};
  return count_words_or_marks(fields, "full_attn_idxs", words, LayerKind::attention,
                              LayerKind::recurrent);
}

/// No attention.
inline LayerCounts read_rwkv7(const Fields& fields, ModelArchitecture& model) {
  model.mixer = Mixer::rwkv7;
  model.channels = fields.extent({"hidden_size"});
  model.head_dim = fields.extent({"head_dim", "head_size"});
  model.heads = exact_quotient(fields.path("head_dim"), model.channels, model.head_dim);
  model.kernel_chunk_tokens = delta_chunk_tokens;
  return uniform_layers(fields, LayerKind::recurrent);
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::detail
