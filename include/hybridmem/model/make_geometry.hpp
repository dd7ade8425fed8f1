// make_geometry: from an architecture or from numbers to the bytes that one rank keeps, or a typed
// error.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "hybridmem/core/result.hpp"
#include "hybridmem/model/state_geometry.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// What an engine decides about a model's state.
struct GeometryOptions {
  StateDtype state_dtype = StateDtype::auto_vllm;
  bool kv_dtype_is_model_dtype = true;  ///< otherwise `kv_dtype`
  DataType kv_dtype = DataType::bf16;
  std::uint32_t tensor_parallel = 1;  ///< ranks; every count below is of one rank
};

/// The element types of a model's recurrent state and convolution window.
struct StateDataTypes {
  DataType recurrent = DataType::bf16;
  DataType convolution = DataType::bf16;
};

/// The types an engine keeps the state of `model` in. An explicit choice sets the recurrent state
/// alone: engines keep the convolution window in the model's type (vLLM) or in bf16 (SGLang).
constexpr StateDataTypes state_data_types(const ModelArchitecture& model,
                                          StateDtype choice) noexcept {
  const DataType own = model.model_dtype;
  switch (choice) {
    case StateDtype::bf16:
      return {DataType::bf16, own};
    case StateDtype::fp16:
      return {DataType::fp16, own};
    case StateDtype::fp32:
      return {DataType::fp32, own};
    case StateDtype::auto_sglang:
      return {model.has_mamba_ssm_dtype ? model.mamba_ssm_dtype : DataType::fp32, DataType::bf16};
    case StateDtype::auto_vllm:
      break;
  }
  if (model.mixer == Mixer::kimi_delta || model.mixer == Mixer::rwkv7) return {DataType::fp32, own};
  if (model.family == ModelFamily::nemotron_h)
    return {model.has_mamba_ssm_cache_dtype ? model.mamba_ssm_cache_dtype : DataType::fp32, own};
  if (model.family == ModelFamily::qwen3_5 && model.has_mamba_ssm_dtype)
    return {model.mamba_ssm_dtype, own};
  return {own, own};
}

namespace detail {

/// Extents beyond these are refused as nonsense before any product is formed.
inline constexpr std::uint32_t max_layers = 65'536;
inline constexpr std::uint32_t max_extent = 1U << 26U;

struct NamedExtent {
  const char* name;
  std::uint64_t value;
};

/// The first extent of `needed` that is zero or beyond `max_extent`, as an error with code `none`
/// if all are usable.
template <std::size_t Count>
constexpr InputError first_bad_extent(const std::array<NamedExtent, Count>& needed) noexcept {
  for (const NamedExtent& extent : needed) {
    if (extent.value == 0)
      return {Error::missing, extent.name, 0, "a positive number for this kind of layer"};
    if (extent.value > max_extent)
      return {Error::overflow, extent.name, static_cast<std::int64_t>(extent.value),
              "at most 67108864"};
  }
  return {};
}

constexpr StateTensor matrix_state(const char* name, DataType dtype, std::uint32_t heads,
                                   std::uint32_t rows, std::uint32_t columns) noexcept {
  StateTensor tensor;
  tensor.name = name;
  tensor.role = StateRole::recurrent;
  tensor.dtype = dtype;
  tensor.rank = 3;
  tensor.split_axis = 0;
  tensor.shape = {heads, rows, columns};
  tensor.divided = heads;
  return tensor;
}

constexpr StateTensor channel_state(const char* name, DataType dtype, std::uint32_t channels,
                                    std::uint32_t columns) noexcept {
  StateTensor tensor;
  tensor.name = name;
  tensor.role = StateRole::recurrent;
  tensor.dtype = dtype;
  tensor.rank = 2;
  tensor.split_axis = 0;
  tensor.shape = {channels, columns, 0};
  tensor.divided = channels;
  return tensor;
}

/// A window of `taps` columns over `divided + groups * group_extent` channels.
constexpr StateTensor window(const char* name, DataType dtype, std::uint32_t taps,
                             std::uint32_t divided, std::uint32_t groups = 0,
                             std::uint32_t group_extent = 0) noexcept {
  StateTensor tensor;
  tensor.name = name;
  tensor.role = StateRole::convolution;
  tensor.dtype = dtype;
  tensor.rank = 2;
  tensor.split_axis = 1;
  tensor.shape = {taps, divided + groups * group_extent, 0};
  tensor.divided = divided;
  tensor.groups = groups;
  tensor.group_extent = group_extent;
  return tensor;
}

constexpr StateTensor whole_window(const char* name, DataType dtype, std::uint32_t taps,
                                   std::uint32_t channels) noexcept {
  StateTensor tensor = window(name, dtype, taps, channels);
  tensor.split_axis = -1;
  return tensor;
}

/// The state tensors of one recurrent layer before sharding. Shapes as vLLM and SGLang compute
/// them.
constexpr Result<StateGeometry, InputError> with_mixer_tensors(StateGeometry geometry,
                                                               const ModelArchitecture& model,
                                                               StateDataTypes types) {
  const auto add = [&geometry](const StateTensor& tensor) {
    geometry.tensors[geometry.tensor_count++] = tensor;
  };
  const std::uint32_t taps = model.conv_kernel > 0 ? model.conv_kernel - 1 : 0;
  InputError bad;
  switch (model.mixer) {
    case Mixer::mamba1:
      bad = first_bad_extent(std::array{NamedExtent{"inner channels", model.channels},
                                        NamedExtent{"state size", model.state_dim},
                                        NamedExtent{"conv kernel", model.conv_kernel}});
      if (bad.code != Error::none) return bad;
      add(channel_state("ssm", types.recurrent, model.channels, model.state_dim));
      if (taps > 0) add(window("conv", types.convolution, taps, model.channels));
      return geometry;
    case Mixer::mamba2: {
      bad = first_bad_extent(std::array{NamedExtent{"recurrent heads", model.heads},
                                        NamedExtent{"recurrent head size", model.head_dim},
                                        NamedExtent{"state size", model.state_dim},
                                        NamedExtent{"conv kernel", model.conv_kernel}});
      if (bad.code != Error::none) return bad;
      bad = first_bad_extent(std::array{NamedExtent{
          "convolution channels", std::uint64_t{model.heads} * model.head_dim +
                                      2 * std::uint64_t{model.groups} * model.state_dim}});
      if (bad.code != Error::none) return bad;
      add(matrix_state("ssm", types.recurrent, model.heads, model.head_dim, model.state_dim));
      if (taps > 0)  // x, and B and C of each group; PLaMo-2 has no groups: x alone
        add(window("conv", types.convolution, taps, model.heads * model.head_dim, model.groups,
                   2 * model.state_dim));
      return geometry;
    }
    case Mixer::gated_delta:
    case Mixer::kimi_delta: {
      bad = first_bad_extent(std::array{
          NamedExtent{"value heads", model.heads}, NamedExtent{"value head size", model.head_dim},
          NamedExtent{"key heads", model.groups}, NamedExtent{"key head size", model.state_dim},
          NamedExtent{"conv kernel", model.conv_kernel}});
      if (bad.code != Error::none) return bad;
      const std::uint64_t keys = 2 * std::uint64_t{model.groups} * model.state_dim;
      const std::uint64_t values = std::uint64_t{model.heads} * model.head_dim;
      bad = first_bad_extent(std::array{NamedExtent{"convolution channels", keys + values}});
      if (bad.code != Error::none) return bad;
      add(matrix_state("delta", types.recurrent, model.heads, model.head_dim, model.state_dim));
      if (taps > 0)  // one window over q, k and v
        add(window("conv", types.convolution, taps, static_cast<std::uint32_t>(keys + values)));
      return geometry;
    }
    case Mixer::lightning:
      bad = first_bad_extent(std::array{NamedExtent{"recurrent heads", model.heads},
                                        NamedExtent{"recurrent head size", model.head_dim}});
      if (bad.code != Error::none) return bad;
      add(matrix_state("linear", types.recurrent, model.heads, model.head_dim, model.head_dim));
      return geometry;
    case Mixer::short_conv:
      bad = first_bad_extent(std::array{NamedExtent{"convolution channels", model.channels},
                                        NamedExtent{"conv kernel minus one", taps}});
      if (bad.code != Error::none) return bad;
      add(window("conv", types.convolution, taps, model.channels));
      return geometry;
    case Mixer::rwkv7:
      bad = first_bad_extent(std::array{NamedExtent{"recurrent heads", model.heads},
                                        NamedExtent{"recurrent head size", model.head_dim},
                                        NamedExtent{"hidden size", model.channels}});
      if (bad.code != Error::none) return bad;
      add(matrix_state("wkv", types.recurrent, model.heads, model.head_dim, model.head_dim));
      add(whole_window("shift_time", types.convolution, 1, model.channels));
      add(whole_window("shift_channel", types.convolution, 1, model.channels));
      return geometry;
  }
  return InputError{Error::bad_argument, "mixer", static_cast<std::int64_t>(model.mixer),
                    "a known kind of recurrent layer"};
}

/// KV bytes per token of one attention layer on one rank. Key and value heads are shared out evenly
/// and kept once a rank where there are fewer heads than ranks; a latent vector is kept whole.
constexpr Result<std::uint64_t, InputError> kv_bytes(const ModelArchitecture& model, DataType dtype,
                                                     std::uint32_t ranks) {
  if (model.attention_layers == 0) return std::uint64_t{0};
  if (model.latent_attention()) {
    if (model.kv_latent_dim > max_extent)
      return InputError{Error::overflow, "latent attention width", model.kv_latent_dim,
                        "at most 67108864"};
    return bytes_of(dtype) * model.kv_latent_dim;
  }
  const InputError bad =
      first_bad_extent(std::array{NamedExtent{"key-value heads", model.kv_heads},
                                  NamedExtent{"attention head size", model.kv_head_dim}});
  if (bad.code != Error::none) return bad;
  if (model.kv_heads % ranks != 0 && ranks % model.kv_heads != 0)
    return InputError{Error::not_divisible, "tensor_parallel", ranks,
                      "a divisor or a multiple of the key-value heads"};
  const std::uint64_t heads = model.kv_heads >= ranks ? model.kv_heads / ranks : 1;
  return 2 * heads * model.kv_head_dim * bytes_of(dtype);
}

/// Layer counts that both constructions require.
constexpr InputError check_layers(std::uint32_t attention, std::uint32_t recurrent) noexcept {
  if (recurrent == 0)
    return {Error::not_hybrid, "recurrent layers", 0,
            "at least one layer with recurrent or convolution state"};
  if (recurrent > max_layers)
    return {Error::overflow, "recurrent layers", recurrent, "at most 65536"};
  if (attention > max_layers)
    return {Error::overflow, "attention layers", attention, "at most 65536"};
  return {};
}

/// Refuses a geometry whose bytes over all layers and a million tokens do not fit in 63 bits.
constexpr Result<StateGeometry, InputError> checked_range(const StateGeometry& geometry) {
  Checked layer{0};
  for (const StateTensor& tensor : geometry.state_tensors()) layer = layer + tensor.bytes();
  const Checked total = layer * Checked{geometry.recurrent_layers} +
                        Checked{geometry.kv_bytes_per_token_layer} *
                            Checked{geometry.attention_layers} * Checked{1'000'000};
  if (total.overflowed() || total.value() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    return InputError{Error::overflow, "state bytes over all layers", 0, "less than 2^63"};
  return geometry;
}

}  // namespace detail

/// The geometry of one rank of `model`. Errors: `not_hybrid` (no recurrent layer), `missing` (a
/// size that the mixer needs is zero), `not_divisible` (heads, groups or channels over the ranks),
/// `overflow`, `bad_argument`. Constant time, no allocation.
constexpr Result<StateGeometry, InputError> make_geometry(const ModelArchitecture& model,
                                                          const GeometryOptions& options = {}) {
  const InputError layers = detail::check_layers(model.attention_layers, model.recurrent_layers);
  if (layers.code != Error::none) return layers;
  if (options.tensor_parallel == 0 || options.tensor_parallel > 4096)
    return InputError{Error::bad_argument, "tensor_parallel", options.tensor_parallel, "1 to 4096"};

  StateGeometry geometry;
  geometry.name = model.name;
  geometry.attention_layers = model.attention_layers;
  geometry.recurrent_layers = model.recurrent_layers;
  geometry.sliding_window_layers = model.sliding_window_layers;
  geometry.draft_attention_layers = model.draft_attention_layers;
  geometry.kernel_chunk_tokens = model.kernel_chunk_tokens;
  geometry.tensor_parallel = options.tensor_parallel;
  geometry.kv_dtype = options.kv_dtype_is_model_dtype ? model.model_dtype : options.kv_dtype;
  if (model.latent_attention()) geometry.attention_alignment_tokens = 64;

  const auto kv = detail::kv_bytes(model, geometry.kv_dtype, options.tensor_parallel);
  if (!kv) return kv.error();
  geometry.kv_bytes_per_token_layer = *kv;

  if (model.mixer == Mixer::gated_delta && model.groups % options.tensor_parallel != 0)
    return InputError{Error::not_divisible, "tensor_parallel", options.tensor_parallel,
                      "a divisor of the key heads"};
  const auto whole =
      detail::with_mixer_tensors(geometry, model, state_data_types(model, options.state_dtype));
  if (!whole) return whole.error();
  geometry = *whole;
  for (std::size_t i = 0; i < geometry.tensor_count; ++i) {
    const auto part = shard(geometry.tensors[i], options.tensor_parallel);
    if (!part) return part.error();
    geometry.tensors[i] = *part;
  }
  return detail::checked_range(geometry);
}

/// The geometry that `numbers` describe, with one byte tensor for each kind of state. Errors:
/// `not_hybrid`, `missing`, `overflow`, `bad_argument`. Constant time, no allocation.
constexpr Result<StateGeometry, InputError> make_geometry(const GeometryNumbers& numbers) {
  const InputError layers =
      detail::check_layers(numbers.attention_layers, numbers.recurrent_layers);
  if (layers.code != Error::none) return layers;
  constexpr std::uint64_t limit = std::numeric_limits<std::uint32_t>::max();
  if (numbers.attention_layers > 0 && numbers.kv_bytes_per_token_layer == 0)
    return InputError{Error::missing, "kv_bytes_per_token_layer", 0, "a positive number of bytes"};
  if (numbers.recurrent_bytes_layer == 0 && numbers.conv_bytes_layer == 0)
    return InputError{Error::not_hybrid, "recurrent_bytes_layer", 0,
                      "state bytes, recurrent or convolution"};
  for (const detail::NamedExtent& extent :
       std::array{detail::NamedExtent{"kv_bytes_per_token_layer", numbers.kv_bytes_per_token_layer},
                  detail::NamedExtent{"recurrent_bytes_layer", numbers.recurrent_bytes_layer},
                  detail::NamedExtent{"conv_bytes_layer", numbers.conv_bytes_layer}})
    if (extent.value > limit)
      return InputError{Error::overflow, extent.name, std::numeric_limits<std::int64_t>::max(),
                        "less than 4 GiB a layer"};
  if (numbers.attention_alignment_tokens == 0)
    return InputError{Error::bad_argument, "attention_alignment_tokens", 0, "at least 1"};

  StateGeometry geometry;
  geometry.name = "custom";
  geometry.attention_layers = numbers.attention_layers;
  geometry.recurrent_layers = numbers.recurrent_layers;
  geometry.kv_bytes_per_token_layer =
      numbers.attention_layers > 0 ? numbers.kv_bytes_per_token_layer : 0;
  geometry.kernel_chunk_tokens = numbers.kernel_chunk_tokens;
  geometry.attention_alignment_tokens = numbers.attention_alignment_tokens;
  const auto add = [&geometry](const char* name, StateRole role, std::uint64_t bytes) {
    if (bytes == 0) return;
    StateTensor tensor;
    tensor.name = name;
    tensor.role = role;
    tensor.dtype = DataType::byte;
    tensor.rank = 1;
    tensor.shape = {static_cast<std::uint32_t>(bytes), 0, 0};
    geometry.tensors[geometry.tensor_count++] = tensor;
  };
  add("recurrent", StateRole::recurrent, numbers.recurrent_bytes_layer);
  add("conv", StateRole::convolution, numbers.conv_bytes_layer);
  return detail::checked_range(geometry);
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
