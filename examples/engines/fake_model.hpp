// The fake model: a hybrid model with hashes in place of floats. Every byte that a token should
// have left in the state has a say in the next token, so that a state in the wrong place, or one
// that is stale, yields another token.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hybridmem/model/layout_solver.hpp"
#include "hybridmem/model/make_geometry.hpp"

namespace fake {

using Token = std::int32_t;
using Cell = std::uint64_t;
using hybridmem::Tokens;

inline constexpr Token vocabulary = 251;
inline constexpr Token stop_token = 7;

inline constexpr std::uint32_t attention_layers = 4;
inline constexpr std::uint32_t recurrent_layers = 6;
inline constexpr std::uint64_t kv_bytes = 32;           // of one token in one attention layer
inline constexpr std::uint64_t recurrent_bytes = 3072;  // of one recurrent layer
inline constexpr std::uint64_t conv_bytes = 200;
inline constexpr std::size_t recurrent_cells = 6;  // one in 512 bytes, the rest is never touched
inline constexpr std::size_t conv_cells = 3;       // one in 96 bytes: the last three tokens

constexpr Cell mix(Cell a, Cell b) noexcept {
  Cell mixed = (a ^ (b + 0x9e3779b97f4a7c15U)) * 0xd6e8feb86659fd93U;
  mixed = (mixed ^ mixed >> 32U) * 0xd6e8feb86659fd93U;
  return mixed ^ mixed >> 29U;
}

/// What one token leaves in the KV of one layer. The upper byte says that it is KV; zero is the
/// cleared cell, and anything else is what "not a number" is to floats.
constexpr Cell kv_cell(std::uint32_t layer, Token token) noexcept {
  return Cell{0xa1} << 56U | mix(layer + 100, static_cast<Cell>(token)) >> 8U;
}
constexpr bool is_number(Cell cell) noexcept {
  return cell == 0 || cell >> 56U == 0xa1;
}

/// The share of one KV cell in the attention of a later token. A sum: order comes from `position`.
constexpr Cell attended(Cell cell, Tokens position) noexcept {
  return mix(cell, position);
}

/// The state of one recurrent layer.
struct LayerState {
  std::array<Cell, recurrent_cells> recurrent{};
  std::array<Cell, conv_cells> window{};

  constexpr void absorb(std::uint32_t layer, Token token) noexcept {
    window = {mix(layer, static_cast<Cell>(token)), window[0], window[1]};
    for (std::size_t i = 0; i < recurrent.size(); ++i)
      recurrent[i] = mix(recurrent[i] + i, window[0] ^ window[1] ^ window[2]);
  }

  constexpr Cell digest() const noexcept {
    Cell sum = 0;
    for (const Cell cell : recurrent) sum = mix(sum, cell);
    for (const Cell cell : window) sum = mix(sum, cell);
    return sum;
  }
};

constexpr Token sample(Cell digest) noexcept {
  return static_cast<Token>(digest % vocabulary);
}

/// A sequence computed alone in plain memory, without blocks, tables or a cache.
class Isolated {
 public:
  void absorb(Token token) {
    for (std::uint32_t layer = 0; layer < attention_layers; ++layer)
      attention_[layer] += attended(kv_cell(layer, token), position_);
    for (std::uint32_t layer = 0; layer < recurrent_layers; ++layer)
      states_[layer].absorb(layer, token);
    ++position_;
  }

  Token next() const {
    Cell digest = 0;
    for (const Cell sum : attention_) digest = mix(digest, sum);
    for (const LayerState& state : states_) digest = mix(digest, state.digest());
    return sample(digest);
  }

 private:
  std::array<Cell, attention_layers> attention_{};
  std::array<LayerState, recurrent_layers> states_{};
  Tokens position_ = 0;
};

/// The prompt and what follows it: up to `max_tokens` in all, or to the stop token.
inline std::vector<Token> generate_alone(std::span<const Token> prompt, std::size_t max_tokens) {
  std::vector<Token> tokens(prompt.begin(), prompt.end());
  Isolated alone;
  for (const Token token : prompt) alone.absorb(token);
  while (tokens.size() < max_tokens) {
    tokens.push_back(alone.next());
    if (tokens.back() == stop_token) break;
    alone.absorb(tokens.back());
  }
  return tokens;
}

/// The model's pages: 32-token blocks of 1 KiB a layer (16 tokens in StaticDualPool), three member
/// pages a state, four slots a slab, a checkpoint every 64 tokens.
inline hybridmem::PageLayout page_layout() {
  const auto geometry =
      hybridmem::make_geometry(hybridmem::GeometryNumbers{.attention_layers = attention_layers,
                                                          .recurrent_layers = recurrent_layers,
                                                          .kv_bytes_per_token_layer = kv_bytes,
                                                          .recurrent_bytes_layer = recurrent_bytes,
                                                          .conv_bytes_layer = conv_bytes,
                                                          .kernel_chunk_tokens = 16});
  const hybridmem::LayoutOptions options{
      .block_tokens = 32, .checkpoint_interval_tokens = 64, .dual_interval_tokens = 64};
  return hybridmem::solve_layout(geometry.value(), options).value();
}

}  // namespace fake
