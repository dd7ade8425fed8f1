// The families built on Mamba: how each spells its sizes and its layers in `config.json`. Needs
// nlohmann_json; throws.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hybridmem/model/layer_map.hpp"
#include "hybridmem/model/model_architecture.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::detail {

/// `a / b` where it must come out even; `path` names the field that would have said it.
inline std::uint32_t exact_quotient(const std::string& path, std::uint32_t a, std::uint32_t b) {
  if (a % b != 0)
    refuse(Error::not_divisible, path, std::to_string(a) + " / " + std::to_string(b),
           "a whole number");
  return a / b;
}

/// Key-value heads; `null` means as many as query heads.
inline std::uint32_t kv_heads(const Fields& fields) {
  if (fields.contains("num_key_value_heads") && fields.find("num_key_value_heads") == nullptr)
    return fields.extent({"num_attention_heads"});
  return fields.extent({"num_key_value_heads"});
}

/// `head_dim`, or the hidden size shared out among the query heads.
inline std::uint32_t attention_head_dim(const Fields& fields) {
  if (const auto given = fields.optional_extent({"head_dim"})) return *given;
  return exact_quotient(fields.path("head_dim"), fields.extent({"hidden_size"}),
                        fields.extent({"num_attention_heads"}));
}

/// Inner channels as a multiple of the hidden size.
inline std::uint32_t expanded(const Fields& fields, Fields::Names expand = {"mamba_expand"}) {
  return extent_product(fields.path(*expand.begin()), fields.extent(expand),
                        fields.extent({"hidden_size"}));
}

/// Recurrent heads and head size that together make `inner` channels. The head size may be absent
/// or "auto".
inline void read_mamba2_heads(const Fields& fields, ModelArchitecture& model,
                              std::string_view heads, std::string_view head_dim,
                              std::uint32_t inner) {
  const Json* size = fields.find(head_dim);
  const bool automatic = size == nullptr || *size == "auto";
  if (automatic) {
    model.heads = fields.extent({heads});
    model.head_dim = exact_quotient(fields.path(head_dim), inner, model.heads);
    return;
  }
  model.head_dim = fields.extent({head_dim});
  model.heads = fields.extent({heads});
  if (std::uint64_t{model.heads} * model.head_dim != inner)
    refuse(Error::bad_argument, fields.path(head_dim), std::to_string(model.head_dim),
           "the inner channels (" + std::to_string(inner) + ") divided by " + std::string(heads) +
               " (" + std::to_string(model.heads) + ")");
}

/// The spelling shared by Falcon-H1, Granite and Bamba, whose mixer has `inner` channels.
inline void read_mamba2(const Fields& fields, ModelArchitecture& model, std::uint32_t inner) {
  model.mixer = Mixer::mamba2;
  read_mamba2_heads(fields, model, "mamba_n_heads", "mamba_d_head", inner);
  model.state_dim = fields.extent({"mamba_d_state"});
  model.groups = fields.extent({"mamba_n_groups"});
  model.conv_kernel = fields.extent({"mamba_d_conv"});
  model.kernel_chunk_tokens = fields.extent({"mamba_chunk_size"});
}

/// The spelling shared by Jamba, Phi-4-flash and Hymba.
inline void read_mamba1(const Fields& fields, ModelArchitecture& model) {
  model.mixer = Mixer::mamba1;
  model.channels = expanded(fields);
  model.state_dim = fields.extent({"mamba_d_state"});
  model.conv_kernel = fields.extent({"mamba_d_conv"});
}

/// Every layer has both. The attention's head size is a field of its own, never the quotient.
inline LayerCounts read_falcon_h1(const Fields& fields, ModelArchitecture& model) {
  model.kv_heads = kv_heads(fields);
  model.kv_head_dim = fields.extent({"head_dim"});
  const auto inner = fields.optional_extent({"mamba_d_ssm"});
  read_mamba2(fields, model, inner ? *inner : expanded(fields));
  if (const Json* indices = fields.find("attn_layer_indices"))
    refuse(Error::bad_argument, fields.path("attn_layer_indices"), printable(*indices),
           "null: every layer has attention");
  constexpr std::array words{LayerWord{"hybrid", LayerKind::both}};
  const std::string_view name = word_list_name(fields);
  return name.empty() ? uniform_layers(fields, LayerKind::both)
                      : count_words_checked(fields, name, words);
}

/// Granite and Bamba: Mamba layers, and attention layers by word or by index.
inline LayerCounts read_bamba(const Fields& fields, ModelArchitecture& model) {
  model.kv_heads = kv_heads(fields);
  model.kv_head_dim = attention_head_dim(fields);
  read_mamba2(fields, model, expanded(fields));
  return count_words_or_marks(fields, "attn_layer_indices", common_layer_words,
                              LayerKind::attention, LayerKind::recurrent);
}

inline constexpr std::array nemotron_words{LayerWord{"mamba", LayerKind::recurrent},
                                           LayerWord{"linear_attention", LayerKind::recurrent},
                                           LayerWord{"attention", LayerKind::attention},
                                           LayerWord{"full_attention", LayerKind::attention},
                                           LayerWord{"mlp", LayerKind::nothing},
                                           LayerWord{"moe", LayerKind::nothing}};

/// Attention layers of the multi-token-prediction head: those of its pattern, once per head.
inline std::uint32_t nemotron_draft_layers(const Fields& fields) {
  constexpr std::string_view count = "num_nextn_predict_layers";
  constexpr std::string_view list = "mtp_layers_block_type";
  constexpr std::string_view pattern = "mtp_hybrid_override_pattern";
  const bool described = !fields.first_of({list, pattern}).empty();
  const std::uint32_t heads =
      fields.find(count) != nullptr ? fields.layer_count({count}) : (described ? 1U : 0U);
  std::uint32_t each = heads > 0 ? 1 : 0;  // where none is described: one attention layer, one MoE
  if (fields.find(list) != nullptr)
    each = count_words(fields, list, nemotron_words).attention;
  else if (fields.find(pattern) != nullptr)
    each = count_pattern(fields, pattern).attention;
  const std::uint64_t layers = std::uint64_t{heads} * each;
  if (layers > max_layers)
    refuse(Error::overflow, fields.path(count), std::to_string(heads), "at most 65536 layers");
  return static_cast<std::uint32_t>(layers);
}

/// Inner channels are heads times head size; `expand` is not used. A word list makes
/// `num_hidden_layers` optional, as newer files leave it out.
inline LayerCounts read_nemotron_h(const Fields& fields, ModelArchitecture& model) {
  model.mixer = Mixer::mamba2;
  model.kv_heads = kv_heads(fields);
  model.kv_head_dim = fields.extent({"head_dim", "attention_head_dim"});
  model.heads = fields.extent({"mamba_num_heads"});
  model.head_dim = fields.extent({"mamba_head_dim"});
  model.state_dim = fields.extent({"ssm_state_size"});
  // Where both spellings are there, the reference implementation takes the older one.
  model.groups = fields.extent({fields.find("mamba_n_groups") ? "mamba_n_groups" : "n_groups"});
  model.conv_kernel = fields.extent({fields.find("mamba_d_conv") ? "mamba_d_conv" : "conv_kernel"});
  model.kernel_chunk_tokens =
      fields.extent({fields.find("mamba_chunk_size") ? "mamba_chunk_size" : "chunk_size"});
  model.draft_attention_layers = nemotron_draft_layers(fields);
  const std::string_view list = fields.first_of({"layers_block_type", "layer_types"});
  if (!list.empty() && !fields.contains("num_hidden_layers"))
    return count_words(fields, list, nemotron_words);
  if (!list.empty()) return count_words_checked(fields, list, nemotron_words);
  const std::uint32_t layers = fields.hidden_layers();
  LayerCounts counts = count_pattern(fields, "hybrid_override_pattern");
  check_map_length(counts.source, counts.all, layers);
  return counts;
}

/// Attention in every `attn_layer_period`-th layer from `attn_layer_offset` on.
inline LayerCounts read_jamba(const Fields& fields, ModelArchitecture& model) {
  model.kv_heads = kv_heads(fields);
  model.kv_head_dim = attention_head_dim(fields);
  read_mamba1(fields, model);
  const std::string_view name = word_list_name(fields);
  if (!name.empty()) return count_words_checked(fields, name, common_layer_words);
  const std::uint32_t layers = fields.hidden_layers();
  const std::uint32_t period = fields.extent({"attn_layer_period"}, max_layers);
  if (fields.find("attn_layer_offset") == nullptr)
    refuse_missing(fields.path("attn_layer_offset"), "a layer below attn_layer_period");
  const std::uint32_t first = fields.layer_count({"attn_layer_offset"});
  if (first >= period)
    refuse(Error::bad_argument, fields.path("attn_layer_offset"), std::to_string(first),
           "less than attn_layer_period (" + std::to_string(period) + ")");
  LayerCounts counts;
  counts.source = fields.path("attn_layer_period");
  for (std::uint32_t i = 0; i < layers; ++i)
    counts.add(i % period == first ? LayerKind::attention : LayerKind::recurrent);
  return counts;
}

/// Attention over the hidden state beside the embedding, hence twice the width. Hybrid layers hold
/// both; the attention weights are shared between them, the KV is not.
inline LayerCounts read_zamba2(const Fields& fields, ModelArchitecture& model) {
  model.mixer = Mixer::mamba2;
  const std::uint32_t query_heads = fields.extent({"num_attention_heads"});
  model.kv_heads = fields.optional_extent({"num_key_value_heads"}).value_or(query_heads);
  const auto head_dim = fields.optional_extent({"attention_head_dim"});
  const std::uint32_t doubled =
      extent_product(fields.path("hidden_size"), 2, fields.extent({"hidden_size"}));
  model.kv_head_dim = head_dim
                          ? *head_dim
                          : exact_quotient(fields.path("attention_head_dim"), doubled, query_heads);
  const std::uint32_t inner = expanded(fields, {"mamba_expand", "expansion_factor"});
  if (fields.find("n_mamba_heads") == nullptr && fields.find("mamba_headdim") != nullptr) {
    model.head_dim = fields.extent({"mamba_headdim"});
    model.heads = exact_quotient(fields.path("n_mamba_heads"), inner, model.head_dim);
  } else {
    read_mamba2_heads(fields, model, "n_mamba_heads", "mamba_headdim", inner);
  }
  model.state_dim = fields.extent({"mamba_d_state", "state_size"});
  model.groups = fields.extent({"mamba_ngroups"});
  model.conv_kernel = fields.extent({"mamba_d_conv", "conv_dimension"});
  model.kernel_chunk_tokens = fields.extent({"chunk_size"});
  constexpr std::array words{LayerWord{"mamba", LayerKind::recurrent},
                             LayerWord{"linear_attention", LayerKind::recurrent},
                             LayerWord{"hybrid", LayerKind::both}};
  return count_words_or_marks(fields, "hybrid_layer_ids", words, LayerKind::both,
                              LayerKind::recurrent);
}

/// Mamba but for every `mamba_step`-th layer, the one in the middle of each step; in a model of at
/// most half a step, all but the last layer. The convolution covers x alone.
inline LayerCounts read_plamo2(const Fields& fields, ModelArchitecture& model) {
  model.mixer = Mixer::mamba2;
  model.kv_heads = kv_heads(fields);
  model.kv_head_dim = fields.extent({"hidden_size_per_head"});
  model.heads = fields.extent({"mamba_num_heads"});
  model.head_dim = model.kv_head_dim;
  model.state_dim = fields.extent({"mamba_d_state"});
  model.conv_kernel = fields.extent({"mamba_d_conv"});
  model.kernel_chunk_tokens = fields.extent({"mamba_chunk_size"});
  const std::uint32_t layers = fields.hidden_layers();
  const bool enabled = fields.boolean("mamba_enabled", true);
  const std::uint32_t step = fields.extent({"mamba_step"});
  if (step < 2)
    refuse(Error::bad_argument, fields.path("mamba_step"), std::to_string(step), "at least 2");
  const bool windowed = fields.optional_extent({"attention_window_size"}).has_value();
  const std::vector<bool> full = fields.find("full_attention_idx") == nullptr
                                     ? std::vector<bool>(layers, false)
                                     : marked_layers(fields, "full_attention_idx", layers);
  LayerCounts counts;
  counts.source = fields.path(enabled ? "mamba_step" : "mamba_enabled");
  for (std::uint32_t i = 0; i < layers; ++i) {
    const bool mamba = enabled && (layers <= step / 2 ? i != layers - 1 : i % step != step / 2);
    counts.add(mamba                  ? LayerKind::recurrent
               : windowed && !full[i] ? LayerKind::sliding
                                      : LayerKind::attention);
  }
  return counts;
}

/// Mamba in every `mb_per_layer`-th layer and attention elsewhere, up to the middle and two layers
/// more; the second of those has the only full attention. All later layers read its KV and the
/// state output of the layer before it, and own nothing.
inline LayerCounts read_phi4flash(const Fields& fields, ModelArchitecture& model) {
  model.kv_heads = kv_heads(fields);
  model.kv_head_dim = attention_head_dim(fields);
  read_mamba1(fields, model);
  const std::uint32_t layers = fields.hidden_layers();
  const std::uint32_t step = fields.extent({"mb_per_layer"}, max_layers);
  const Json* window = fields.find("sliding_window");
  const std::string path = fields.path("sliding_window");
  if (window != nullptr && window->is_array())
    check_map_length(path, window->size(), layers);
  else if (window != nullptr)
    whole_number(*window, path, 1, max_extent);
  LayerCounts counts;
  counts.source = fields.path("mb_per_layer");
  for (std::uint32_t i = 0; i < layers; ++i) {
    if (i >= layers / 2 + 2) {
      counts.add(LayerKind::nothing);
    } else if (i % step == 0) {
      counts.add(LayerKind::recurrent);
    } else {
      const bool windowed = window != nullptr && i < layers / 2 &&
                            (window->is_array() ? !(*window)[i].is_null() : i % 2 == 1);
      counts.add(windowed ? LayerKind::sliding : LayerKind::attention);
    }
  }
  return counts;
}

/// The layers of Hymba that keep KV of their own, all but the consumers of a reuse group.
inline std::vector<bool> hymba_owners(const Fields& fields, std::uint32_t layers) {
  std::vector<bool> owns(layers, true);
  constexpr std::string_view groups = "kv_reuse_group";
  constexpr std::string_view every = "kv_reuse_every_i_layer";
  if (!fields.contains(groups) && !fields.contains(every))
    refuse_missing(fields.path(groups),
                   "a list of groups of layers, or null where no KV is shared");
  if (fields.find(groups) == nullptr) {
    if (const auto step = fields.extent_unless_negative(every))
      for (std::uint32_t i = 0; i < layers; ++i) owns[i] = i % *step == 0;
    return owns;
  }
  const Json& list = fields.list(groups);
  std::vector<bool> named(layers, false);
  for (std::size_t g = 0; g < list.size(); ++g) {
    const std::string path = Fields::element(fields.path(groups), g);
    if (!list[g].is_array() || list[g].empty())
      refuse(Error::bad_argument, path, printable(list[g]), "a list of layers");
    for (std::size_t i = 0; i < list[g].size(); ++i) {
      const std::string element = Fields::element(path, i);
      if (!list[g][i].is_number_integer() || list[g][i].get<std::int64_t>() < 0 ||
          list[g][i].get<std::int64_t>() >= std::int64_t{layers})
        refuse(Error::bad_argument, element, printable(list[g][i]),
               "a layer from 0 to " + std::to_string(layers - 1));
      const auto layer = list[g][i].get<std::size_t>();
      if (named[layer])
        refuse(Error::bad_argument, element, printable(list[g][i]), "each layer at most once");
      named[layer] = true;
      owns[layer] = i == 0;
    }
  }
  return owns;
}

/// Every layer has Mamba and attention heads side by side; of each reuse group the first layer
/// owns the KV. Layers outside `global_attn_idx` have a sliding window. Keys and values may differ
/// in width; `kv_head_dim` is their mean.
inline LayerCounts read_hymba(const Fields& fields, ModelArchitecture& model) {
  model.kv_heads = kv_heads(fields);
  const std::uint32_t usual = exact_quotient(
      fields.path("num_attention_heads"),
      fields.extent_unless_negative("attn_hidden_size").value_or(fields.extent({"hidden_size"})),
      fields.extent({"num_attention_heads"}));
  const std::uint32_t both = fields.extent_unless_negative("kq_head_dim").value_or(usual) +
                             fields.extent_unless_negative("v_head_dim").value_or(usual);
  model.kv_head_dim = exact_quotient(fields.path("v_head_dim"), both, 2);
  read_mamba1(fields, model);
  const std::uint32_t layers = fields.hidden_layers();
  const std::vector<bool> owns = hymba_owners(fields, layers);
  const bool windowed = fields.extent_unless_negative("sliding_window").has_value();
  const std::vector<bool> global = fields.find("global_attn_idx") == nullptr
                                       ? std::vector<bool>(layers, false)
                                       : marked_layers(fields, "global_attn_idx", layers);
  LayerCounts counts;
  counts.source = fields.path("num_hidden_layers");
  for (std::uint32_t i = 0; i < layers; ++i) {
    counts.add(owns[i] ? LayerKind::both : LayerKind::recurrent);
    if (owns[i] && windowed && !global[i]) ++counts.sliding;
  }
  return counts;
}

/// No attention. The inner channels are `intermediate_size`; `expand` may say something else.
inline LayerCounts read_falcon_mamba(const Fields& fields, ModelArchitecture& model) {
  model.mixer = Mixer::mamba1;
  model.channels = fields.extent({"intermediate_size"});
  model.state_dim = fields.extent({"state_size"});
  model.conv_kernel = fields.extent({"conv_kernel"});
  return uniform_layers(fields, LayerKind::recurrent);
}

/// No attention.
inline LayerCounts read_mamba2_alone(const Fields& fields, ModelArchitecture& model) {
  model.mixer = Mixer::mamba2;
  model.heads = fields.extent({"num_heads"});
  model.head_dim = fields.extent({"head_dim"});
  model.state_dim = fields.extent({"state_size"});
  model.groups = fields.extent({"n_groups"});
  model.conv_kernel = fields.extent({"conv_kernel"});
  model.kernel_chunk_tokens = fields.extent({"chunk_size"});
  return uniform_layers(fields, LayerKind::recurrent);
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::detail
