// The table of known models: one row each, written by one builder function per family.
#pragma once

#include <array>
#include <cstdint>

#include "hybridmem/model/model_architecture.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// Where the numbers of a preset come from.
enum class Provenance : std::uint8_t {
  configuration,  ///< F: read in a published configuration file
  documentation,  ///< D: a documentation table, class defaults or a training recipe
  recalled,       ///< R: not verified; compare with the model's own file before relying on it
};

constexpr const char* name_of(Provenance provenance) noexcept {
  switch (provenance) {
    case Provenance::configuration:
      return "configuration";
    case Provenance::documentation:
      return "documentation";
    case Provenance::recalled:
      return "recalled";
  }
  return "unknown";
}

/// A known model. Its name is lower case with `-` as the only separator.
struct ModelPreset {
  ModelArchitecture architecture;
  Provenance provenance = Provenance::recalled;
};

namespace detail::presets {

using enum Provenance;
using U32 = std::uint32_t;

/// Layers of a model: all, those that own KV, those that own recurrent or convolution state.
struct Layers {
  U32 all;
  U32 attention;
  U32 recurrent;
};

/// Keys and values of one layer: heads and head size, or one latent vector.
struct KeyValue {
  U32 heads = 0;
  U32 head_dim = 0;
  U32 latent_dim = 0;
};

/// A Mamba-2 mixer; the convolution always has four taps.
struct Mamba2 {
  U32 heads;
  U32 head_dim;
  U32 state_dim;
  U32 groups;
};

constexpr ModelPreset make(const char* name, ModelFamily family, Provenance provenance,
                           Layers layers, KeyValue kv, Mixer mixer, Tokens chunk) noexcept {
  ModelPreset preset;
  preset.provenance = provenance;
  ModelArchitecture& model = preset.architecture;
  model.name = name;
  model.family = family;
  model.hidden_layers = layers.all;
  model.attention_layers = layers.attention;
  model.recurrent_layers = layers.recurrent;
  model.kv_heads = kv.heads;
  model.kv_head_dim = kv.head_dim;
  model.kv_latent_dim = kv.latent_dim;
  model.mixer = mixer;
  model.kernel_chunk_tokens = chunk;
  return preset;
}

constexpr ModelPreset mamba2(const char* name, ModelFamily family, Provenance provenance,
                             Layers layers, KeyValue kv, Mamba2 mixer, Tokens chunk) noexcept {
  ModelPreset preset = make(name, family, provenance, layers, kv, Mixer::mamba2, chunk);
  preset.architecture.heads = mixer.heads;
  preset.architecture.head_dim = mixer.head_dim;
  preset.architecture.state_dim = mixer.state_dim;
  preset.architecture.groups = mixer.groups;
  preset.architecture.conv_kernel = 4;
  return preset;
}

constexpr ModelPreset mamba1(const char* name, ModelFamily family, Provenance provenance,
                             Layers layers, KeyValue kv, U32 channels) noexcept {
  ModelPreset preset = make(name, family, provenance, layers, kv, Mixer::mamba1, 0);
  preset.architecture.channels = channels;
  preset.architecture.state_dim = 16;
  preset.architecture.conv_kernel = 4;
  return preset;
}

/// Every layer has both attention and Mamba-2.
constexpr ModelPreset falcon_h1(const char* name, Provenance provenance, U32 layers, KeyValue kv,
                                Mamba2 mixer) noexcept {
  return mamba2(name, ModelFamily::falcon_h1, provenance, {layers, layers, layers}, kv, mixer, 128);
}

constexpr ModelPreset granite(const char* name, Provenance provenance, Layers layers, KeyValue kv,
                              Mamba2 mixer) noexcept {
  return mamba2(name, ModelFamily::granitemoehybrid, provenance, layers, kv, mixer, 256);
}

constexpr ModelPreset nemotron_h(const char* name, Provenance provenance, Layers layers,
                                 KeyValue kv, Mamba2 mixer, U32 draft_layers = 0) noexcept {
  ModelPreset preset = mamba2(name, ModelFamily::nemotron_h, provenance, layers, kv, mixer, 128);
  preset.architecture.has_mamba_ssm_cache_dtype = true;
  preset.architecture.mamba_ssm_cache_dtype = DataType::fp32;
  preset.architecture.draft_attention_layers = draft_layers;
  return preset;
}

/// Hybrid layers also hold Mamba state, so every layer is recurrent.
constexpr ModelPreset zamba2(const char* name, Provenance provenance, U32 layers, U32 hybrid,
                             U32 attention_head_dim, Mamba2 mixer) noexcept {
  return mamba2(name, ModelFamily::zamba2, provenance, {layers, hybrid, layers},
                {32, attention_head_dim}, mixer, 256);
}

/// Mamba-2 whose convolution covers x alone; every attention layer has a sliding window.
constexpr ModelPreset plamo2(const char* name, Provenance provenance, Layers layers, KeyValue kv,
                             U32 heads) noexcept {
  ModelPreset preset =
      mamba2(name, ModelFamily::plamo2, provenance, layers, kv, {heads, 128, 64, 0}, 256);
  preset.architecture.sliding_window_layers = layers.attention;
  return preset;
}

constexpr ModelPreset jamba(const char* name, Provenance provenance, Layers layers, U32 kv_heads,
                            U32 channels) noexcept {
  return mamba1(name, ModelFamily::jamba, provenance, layers, {kv_heads, 128}, channels);
}

constexpr ModelPreset sliding(ModelPreset preset, U32 layers) noexcept {
  preset.architecture.sliding_window_layers = layers;
  return preset;
}

/// Gated delta rule in three layers of four: 16 key heads, and all heads 128 wide.
constexpr ModelPreset qwen(const char* name, ModelFamily family, Provenance provenance, U32 layers,
                           U32 kv_heads, U32 value_heads) noexcept {
  ModelPreset preset = make(name, family, provenance, {layers, layers / 4, layers / 4 * 3},
                            {kv_heads, 256}, Mixer::gated_delta, 64);
  preset.architecture.heads = value_heads;
  preset.architecture.head_dim = 128;
  preset.architecture.state_dim = 128;
  preset.architecture.groups = 16;
  preset.architecture.conv_kernel = 4;
  return preset;
}

/// As above, with the state's element type in the configuration and one multi-token-prediction
/// layer.
constexpr ModelPreset qwen3_5(const char* name, Provenance provenance, U32 layers, U32 kv_heads,
                              U32 value_heads) noexcept {
  ModelPreset preset = qwen(name, ModelFamily::qwen3_5, provenance, layers, kv_heads, value_heads);
  preset.architecture.has_mamba_ssm_dtype = true;
  preset.architecture.mamba_ssm_dtype = DataType::fp32;
  preset.architecture.draft_attention_layers = 1;
  return preset;
}

constexpr ModelPreset kimi(const char* name, Provenance provenance, Layers layers,
                           U32 heads) noexcept {
  ModelPreset preset = make(name, ModelFamily::kimi_linear, provenance, layers, {0, 0, 512 + 64},
                            Mixer::kimi_delta, 64);
  preset.architecture.heads = heads;
  preset.architecture.head_dim = 128;
  preset.architecture.state_dim = 128;
  preset.architecture.groups = heads;
  preset.architecture.conv_kernel = 4;
  return preset;
}

constexpr ModelPreset lightning(const char* name, ModelFamily family, Provenance provenance,
                                Layers layers, KeyValue kv, U32 heads) noexcept {
  ModelPreset preset = make(name, family, provenance, layers, kv, Mixer::lightning, 256);
  preset.architecture.heads = heads;
  preset.architecture.head_dim = 128;
  return preset;
}

constexpr ModelPreset lfm2(const char* name, Provenance provenance, Layers layers,
                           U32 channels) noexcept {
  ModelPreset preset =
      make(name, ModelFamily::lfm2, provenance, layers, {8, 64}, Mixer::short_conv, 0);
  preset.architecture.channels = channels;
  preset.architecture.conv_kernel = 3;
  return preset;
}

constexpr ModelPreset rwkv7(const char* name, U32 layers, U32 hidden_size) noexcept {
  ModelPreset preset =
      make(name, ModelFamily::rwkv7, recalled, {layers, 0, layers}, {}, Mixer::rwkv7, 64);
  preset.architecture.heads = hidden_size / 64;
  preset.architecture.head_dim = 64;
  preset.architecture.channels = hidden_size;
  return preset;
}

inline constexpr auto minimax = ModelFamily::minimax;
inline constexpr auto bailing = ModelFamily::bailing_linear;

// Columns: name, provenance, layers (all, attention, recurrent; one number where all are both), KV
// (heads, head size), and the mixer (Mamba-2: heads, head size, state size, groups).
inline constexpr std::array table{
    falcon_h1("falcon-h1-tiny-90m", configuration, 24, {2, 64}, {24, 32, 64, 1}),
    falcon_h1("falcon-h1-0.5b", configuration, 36, {2, 64}, {24, 64, 128, 1}),
    falcon_h1("falcon-h1-1.5b", configuration, 24, {2, 128}, {48, 64, 256, 1}),
    falcon_h1("falcon-h1-1.5b-deep", documentation, 66, {2, 128}, {24, 64, 256, 1}),
    falcon_h1("falcon-h1-3b", configuration, 32, {2, 128}, {32, 128, 256, 1}),
    falcon_h1("falcon-h1-7b", configuration, 44, {2, 128}, {24, 128, 256, 1}),
    falcon_h1("falcon-h1-34b", configuration, 72, {4, 128}, {32, 128, 256, 2}),
    granite("granite-4.0-h-350m", recalled, {32, 4, 28}, {4, 64}, {48, 32, 128, 1}),
    granite("granite-4.0-h-1b", configuration, {40, 4, 36}, {4, 128}, {48, 64, 128, 1}),
    granite("granite-4.0-h-micro", documentation, {40, 4, 36}, {8, 64}, {64, 64, 128, 1}),
    granite("granite-4.0-h-tiny", configuration, {40, 4, 36}, {4, 128}, {48, 64, 128, 1}),
    granite("granite-4.0-h-small", documentation, {40, 4, 36}, {8, 128}, {128, 64, 128, 1}),
    nemotron_h("nemotron-h-4b", documentation, {52, 4, 24}, {8, 128}, {112, 64, 128, 8}),
    nemotron_h("nemotron-h-8b", documentation, {52, 4, 24}, {8, 128}, {128, 64, 128, 8}),
    nemotron_h("nemotron-h-47b", documentation, {98, 5, 45}, {8, 128}, {256, 64, 256, 8}),
    nemotron_h("nemotron-h-56b", documentation, {118, 10, 54}, {8, 128}, {256, 64, 256, 8}),
    nemotron_h("nemotron-nano-9b-v2", configuration, {56, 4, 27}, {8, 128}, {128, 80, 128, 8}),
    nemotron_h("nemotron-nano-12b-v2", documentation, {62, 6, 28}, {8, 128}, {128, 80, 128, 8}),
    nemotron_h("nemotron-3-nano-30b-a3b", configuration, {52, 6, 23}, {2, 128}, {64, 64, 128, 8}),
    nemotron_h("nemotron-3-super-120b-a12b", configuration, {88, 8, 40}, {2, 128},
               {128, 64, 128, 8}, 1),
    jamba("jamba-1.5-1.7-mini", documentation, {32, 4, 28}, 8, 8192),
    jamba("jamba-1.5-1.7-large", recalled, {72, 9, 63}, 8, 16384),
    jamba("jamba-reasoning-3b", recalled, {28, 2, 26}, 1, 5120),
    mamba2("bamba-9b", ModelFamily::bamba, documentation, {32, 3, 29}, {8, 128}, {128, 64, 128, 1},
           256),
    zamba2("zamba2-1.2b", recalled, 38, 6, 128, {64, 64, 128, 1}),
    zamba2("zamba2-2.7b", documentation, 54, 9, 160, {80, 64, 64, 1}),
    zamba2("zamba2-7b", configuration, 81, 13, 224, {112, 64, 64, 2}),
    qwen("qwen3-next-80b-a3b", ModelFamily::qwen3_next, configuration, 48, 2, 32),
    qwen3_5("qwen3.5-0.8b", recalled, 24, 2, 16),
    qwen3_5("qwen3.5-2b", recalled, 24, 2, 16),
    qwen3_5("qwen3.5-4b", configuration, 32, 4, 32),
    qwen3_5("qwen3.5-9b", configuration, 32, 4, 32),
    qwen3_5("qwen3.5-27b", configuration, 64, 4, 48),
    qwen3_5("qwen3.5-35b-a3b", configuration, 40, 2, 32),
    qwen3_5("qwen3.5-122b-a10b", documentation, 48, 2, 64),
    qwen3_5("qwen3.5-397b-a17b", configuration, 60, 2, 64),
    kimi("kimi-linear-48b-a3b", configuration, {27, 7, 20}, 32),
    kimi("kimi-k3", documentation, {93, 24, 69}, 96),
    lightning("minimax-text-01-m1", minimax, documentation, {80, 10, 70}, {8, 128}, 64),
    lightning("ring-mini-linear-2.0", bailing, documentation, {20, 4, 16}, {4, 128}, 16),
    lightning("ring-flash-linear-2.0", bailing, documentation, {32, 4, 28}, {4, 128}, 32),
    lightning("ring-ling-2.5-1t", bailing, recalled, {80, 10, 70}, {0, 0, 512 + 64}, 64),
    lfm2("lfm2-350m", configuration, {16, 6, 10}, 1024),
    lfm2("lfm2-700m", recalled, {16, 6, 10}, 1536),
    lfm2("lfm2-1.2b", recalled, {16, 6, 10}, 2048),
    lfm2("lfm2-2.6b", configuration, {30, 8, 22}, 2048),
    lfm2("lfm2-8b-a1b", recalled, {24, 6, 18}, 2048),
    plamo2("plamo-2-1b", configuration, {16, 8, 8}, {1, 128}, 32),
    plamo2("plamo-2-8b", documentation, {32, 16, 16}, {4, 128}, 64),
    sliding(
        mamba1("phi-4-mini-flash", ModelFamily::phi4flash, recalled, {32, 9, 9}, {20, 64}, 5120),
        8),
    sliding(mamba1("hymba-1.5b", ModelFamily::hymba, recalled, {32, 17, 32}, {5, 64}, 3200), 14),
    mamba1("falcon-mamba-7b", ModelFamily::falcon_mamba, configuration, {64, 0, 64}, {}, 8192),
    mamba2("codestral-mamba-7b", ModelFamily::mamba2, configuration, {64, 0, 64}, {},
           {128, 64, 128, 8}, 256),
    rwkv7("rwkv-7-0.4b", 24, 1024),
    rwkv7("rwkv-7-1.5b", 24, 2048),
    rwkv7("rwkv-7-2.9b", 32, 2560),
    rwkv7("rwkv-7-7.2b", 32, 4096),
};

/// Another name of a preset: several published models share one row.
struct Alias {
  const char* name;
  const char* preset;
};

inline constexpr std::array aliases{
    Alias{"jamba-1.5-mini", "jamba-1.5-1.7-mini"},
    Alias{"jamba-1.7-mini", "jamba-1.5-1.7-mini"},
    Alias{"jamba-1.5-large", "jamba-1.5-1.7-large"},
    Alias{"jamba-1.7-large", "jamba-1.5-1.7-large"},
    Alias{"minimax-text-01", "minimax-text-01-m1"},
    Alias{"minimax-m1", "minimax-text-01-m1"},
    Alias{"ring-2.5-1t", "ring-ling-2.5-1t"},
    Alias{"ling-2.5-1t", "ring-ling-2.5-1t"},
};

}  // namespace detail::presets

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
