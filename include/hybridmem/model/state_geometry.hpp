// StateGeometry: how many bytes of which state one rank keeps, per token and per checkpoint.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include "hybridmem/core/ids.hpp"
#include "hybridmem/model/model_architecture.hpp"
#include "hybridmem/model/state_tensor.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// The state of a hybrid model on one rank. Every attention layer keeps the same KV bytes per
/// token, and every recurrent layer the same list of tensors. Trivially copyable; made by
/// `make_geometry`.
struct StateGeometry {
  static constexpr std::size_t max_tensors = 6;

  ModelName name;
  std::uint32_t attention_layers = 0;
  std::uint32_t recurrent_layers = 0;
  std::uint32_t sliding_window_layers = 0;  ///< of the attention layers; their KV is held in full
  std::uint32_t draft_attention_layers =
      0;  ///< outside the budget unless an engine drafts with them
  std::uint64_t kv_bytes_per_token_layer = 0;
  std::array<StateTensor, max_tensors> tensors{};  ///< of one recurrent layer
  std::uint8_t tensor_count = 0;
  Tokens kernel_chunk_tokens = 0;          ///< quantum of the prefill kernel; 0: any token
  Tokens attention_alignment_tokens = 16;  ///< attention blocks are multiples of this
  std::uint32_t tensor_parallel = 1;
  DataType kv_dtype = DataType::bf16;

  constexpr std::span<const StateTensor> state_tensors() const noexcept {
    return {tensors.data(), tensor_count};
  }

  /// Bytes of the large state of one recurrent layer at one boundary (the paper's S).
  constexpr std::uint64_t recurrent_bytes_layer() const noexcept {
    return bytes_with(StateRole::recurrent);
  }
  /// Bytes of the convolution window of one recurrent layer at one boundary (the paper's C).
  constexpr std::uint64_t conv_bytes_layer() const noexcept {
    return bytes_with(StateRole::convolution);
  }
  /// Both together: one layer of a checkpoint.
  constexpr std::uint64_t checkpoint_bytes_layer() const noexcept {
    return recurrent_bytes_layer() + conv_bytes_layer();
  }
  /// One checkpoint over all recurrent layers.
  constexpr std::uint64_t checkpoint_bytes() const noexcept {
    return checkpoint_bytes_layer() * recurrent_layers;
  }
  /// KV of one token over all attention layers.
  constexpr std::uint64_t kv_bytes_per_token() const noexcept {
    return kv_bytes_per_token_layer * attention_layers;
  }
  /// The number of tokens whose KV is as large as one checkpoint; 0 without attention layers.
  constexpr double break_even_tokens() const noexcept {
    return attention_layers == 0 ? 0.0
                                 : static_cast<double>(checkpoint_bytes()) /
                                       static_cast<double>(kv_bytes_per_token());
  }

 private:
  constexpr std::uint64_t bytes_with(StateRole role) const noexcept {
    std::uint64_t sum = 0;
    for (const StateTensor& tensor : state_tensors())
      if (tensor.role == role) sum += tensor.bytes().value();
    return sum;
  }
};

static_assert(std::is_trivially_copyable_v<StateGeometry>);

/// A model given by numbers alone: the bytes of one rank, with no shapes.
struct GeometryNumbers {
  std::uint32_t attention_layers = 0;
  std::uint32_t recurrent_layers = 0;
  std::uint64_t kv_bytes_per_token_layer = 0;
  std::uint64_t recurrent_bytes_layer = 0;
  std::uint64_t conv_bytes_layer = 0;
  Tokens kernel_chunk_tokens = 0;
  Tokens attention_alignment_tokens = 16;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
