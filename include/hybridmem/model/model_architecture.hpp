// ModelArchitecture: what a model's configuration says about its state, in one vocabulary for all
// families.
#pragma once

#include <cstdint>

#include "hybridmem/core/fixed_string.hpp"
#include "hybridmem/core/ids.hpp"
#include "hybridmem/model/data_type.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// The name of a model: a preset's name, or what the caller calls it.
using ModelName = FixedString<48>;

/// A family of configuration files, `model_type` in a Hugging Face `config.json`.
enum class ModelFamily : std::uint8_t {
  custom,  ///< described by numbers
  falcon_h1,
  granitemoehybrid,
  bamba,
  nemotron_h,
  jamba,
  zamba2,
  qwen3_next,
  qwen3_5,
  kimi_linear,
  minimax,
  bailing_linear,
  lfm2,
  plamo2,
  phi4flash,
  hymba,
  falcon_mamba,
  mamba2,
  rwkv7,
};

constexpr const char* name_of(ModelFamily family) noexcept {
  switch (family) {
    case ModelFamily::custom:
      return "custom";
    case ModelFamily::falcon_h1:
      return "falcon_h1";
    case ModelFamily::granitemoehybrid:
      return "granitemoehybrid";
    case ModelFamily::bamba:
      return "bamba";
    case ModelFamily::nemotron_h:
      return "nemotron_h";
    case ModelFamily::jamba:
      return "jamba";
    case ModelFamily::zamba2:
      return "zamba2";
    case ModelFamily::qwen3_next:
      return "qwen3_next";
    case ModelFamily::qwen3_5:
      return "qwen3_5";
    case ModelFamily::kimi_linear:
      return "kimi_linear";
    case ModelFamily::minimax:
      return "minimax";
    case ModelFamily::bailing_linear:
      return "bailing_linear";
    case ModelFamily::lfm2:
      return "lfm2";
    case ModelFamily::plamo2:
      return "plamo2";
    case ModelFamily::phi4flash:
      return "phi4flash";
    case ModelFamily::hymba:
      return "hymba";
    case ModelFamily::falcon_mamba:
      return "falcon_mamba";
    case ModelFamily::mamba2:
      return "mamba2";
    case ModelFamily::rwkv7:
      return "rwkv7";
  }
  return "unknown";
}

/// The kind of layer that carries state of fixed size.
enum class Mixer : std::uint8_t {
  mamba1,       ///< selective scan with a state per channel
  mamba2,       ///< state-space duality: a state per head, B and C shared within a group
  gated_delta,  ///< gated delta rule (Qwen3-Next): one matrix per value head
  kimi_delta,   ///< Kimi delta attention: as above, always kept in fp32 by vLLM
  lightning,    ///< lightning attention: one matrix per head, no convolution
  short_conv,   ///< a short convolution alone (LFM2)
  rwkv7,        ///< one matrix per head and two token-shift vectors
};

constexpr const char* name_of(Mixer mixer) noexcept {
  switch (mixer) {
    case Mixer::mamba1:
      return "mamba1";
    case Mixer::mamba2:
      return "mamba2";
    case Mixer::gated_delta:
      return "gated_delta";
    case Mixer::kimi_delta:
      return "kimi_delta";
    case Mixer::lightning:
      return "lightning";
    case Mixer::short_conv:
      return "short_conv";
    case Mixer::rwkv7:
      return "rwkv7";
  }
  return "unknown";
}

/// The shape of a model's state before dtypes and tensor parallelism are chosen. Plain data. Fields
/// that a mixer does not use are zero; `make_geometry` says which it needs.
struct ModelArchitecture {
  ModelName name;
  ModelFamily family = ModelFamily::custom;
  DataType model_dtype = DataType::bf16;  ///< `dtype` or `torch_dtype` of the configuration

  std::uint32_t hidden_layers = 0;     ///< all layers, those without any state included
  std::uint32_t attention_layers = 0;  ///< layers that own KV
  std::uint32_t recurrent_layers = 0;  ///< layers that own recurrent or convolution state
  /// Of the attention layers, those with a sliding window; their KV is held in full like the
  /// others'.
  std::uint32_t sliding_window_layers = 0;
  /// Attention layers of a multi-token-prediction head, not counted in `attention_layers`.
  std::uint32_t draft_attention_layers = 0;

  std::uint32_t kv_heads = 0;     ///< grouped-query attention
  std::uint32_t kv_head_dim = 0;  ///< grouped-query attention
  std::uint32_t kv_latent_dim =
      0;  ///< multi-head latent attention: kv_lora_rank + qk_rope_head_dim

  Mixer mixer = Mixer::mamba2;
  std::uint32_t heads = 0;  ///< recurrent heads; value heads for the gated delta rule
  std::uint32_t head_dim =
      0;  ///< elements per recurrent head; value width for the gated delta rule
  std::uint32_t state_dim = 0;    ///< d_state; key width for the gated delta rule
  std::uint32_t groups = 0;       ///< n_groups of Mamba-2; key heads for the gated delta rule
  std::uint32_t channels = 0;     ///< inner channels of mamba1 and short_conv; hidden size of rwkv7
  std::uint32_t conv_kernel = 0;  ///< taps of the convolution; 0 where there is none

  Tokens kernel_chunk_tokens = 0;  ///< quantum of the prefill kernel; 0: any token

  bool has_mamba_ssm_dtype = false;        ///< `mamba_ssm_dtype` is in the configuration
  bool has_mamba_ssm_cache_dtype = false;  ///< `mamba_ssm_cache_dtype` is in the configuration
  DataType mamba_ssm_dtype = DataType::fp32;
  DataType mamba_ssm_cache_dtype = DataType::fp32;

  /// Whether attention keeps one latent vector per token (MLA) instead of keys and values per head.
  constexpr bool latent_attention() const noexcept { return kv_latent_dim != 0; }

  friend constexpr bool operator==(const ModelArchitecture&, const ModelArchitecture&) = default;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
