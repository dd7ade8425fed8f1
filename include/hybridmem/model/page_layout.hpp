// PageLayout: how a geometry is cut into pages, members, slots and stacks. Made by `solve_layout`.
#pragma once

#include <cstdint>
#include <type_traits>

#include "hybridmem/core/arithmetic.hpp"
#include "hybridmem/model/state_geometry.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// How large a slot of a convolution slab is.
enum class SlotRule : std::uint8_t {
  automatic,     ///< `power_of_two` for the paper's geometry, `exact` for any other
  power_of_two,  ///< the least power of two that holds the convolution state (paper, section 3.4)
  exact,         ///< the least multiple of 256 bytes
};

constexpr const char* name_of(SlotRule rule) noexcept {
  switch (rule) {
    case SlotRule::automatic:
      return "automatic";
    case SlotRule::power_of_two:
      return "pow2";
    case SlotRule::exact:
      return "exact";
  }
  return "unknown";
}

/// The physical layout of one rank's state. Plain data.
///
/// Layers are grouped into stacks of `stack_layers` that share one page table: a page id names the
/// same index in each of a stack's tensors, so that one unit of a pool is `stack_layers` pages of
/// the stated bytes. All `*_bytes` here are of one layer.
struct PageLayout {
  StateGeometry geometry;
  Tokens block_tokens = 0;  ///< T, tokens of an attention block (not StaticDualPool's)
  Tokens checkpoint_interval_tokens = 0;  ///< checkpoints are kept at multiples of this
  Tokens key_tokens = 0;                  ///< tokens of one prefix key; divides `block_tokens`
  std::uint32_t stack_layers = 1;         ///< divides the attention and the recurrent layers

  std::uint64_t page_bytes = 0;    ///< page of PagedRecurrent and SlabPacked
  std::uint32_t member_pages = 0;  ///< pages of one layer's recurrent state; 0 without one
  SlotRule slot_rule = SlotRule::exact;
  std::uint64_t slot_bytes = 0;      ///< slot of a slab; 0 without convolution state
  std::uint32_t slots_per_slab = 0;  ///< slots of one page; 0 without convolution state

  std::uint64_t coarse_page_bytes = 0;       ///< page of CoarsePages: a whole composite
  std::uint32_t coarse_pages_per_block = 0;  ///< coarse pages of one layer's attention block

  Tokens dual_block_tokens = 0;            ///< attention block of StaticDualPool
  std::uint64_t dual_attention_bytes = 0;  ///< its attention unit
  Tokens dual_interval_tokens = 0;         ///< its checkpoint interval
  std::uint64_t dual_recurrent_bytes = 0;  ///< its recurrent unit: a whole composite

  /// Stacks of attention layers: the page tables an attention block appears in.
  constexpr std::uint32_t attention_stacks() const noexcept {
    return geometry.attention_layers / stack_layers;
  }
  /// Stacks of recurrent layers: the page tables a checkpoint appears in.
  constexpr std::uint32_t recurrent_stacks() const noexcept {
    return geometry.recurrent_layers / stack_layers;
  }
  constexpr bool has_attention() const noexcept { return geometry.attention_layers > 0; }
  constexpr bool has_recurrent() const noexcept { return member_pages > 0; }
  constexpr bool has_convolution() const noexcept { return slots_per_slab > 0; }

  /// Member pages of one checkpoint over all recurrent stacks.
  constexpr std::uint32_t members_per_checkpoint() const noexcept {
    return member_pages * recurrent_stacks();
  }
  /// Convolution slots of one checkpoint over all recurrent stacks.
  constexpr std::uint32_t slots_per_checkpoint() const noexcept {
    return has_convolution() ? recurrent_stacks() : 0;
  }
};

static_assert(std::is_trivially_copyable_v<PageLayout>);

/// Memory that an engine needs beside the budget, because no organization stores it.
struct OutsideBudget {
  /// A contiguous copy of one checkpoint over all layers, for each prefill row whose kernel cannot
  /// read member pages (the gather arena).
  std::uint64_t gather_arena_bytes_per_row = 0;
  /// One more state over all layers, for each draft token of a row whose engine keeps a snapshot.
  std::uint64_t draft_state_bytes_per_token = 0;
  /// KV of one draft token in the layers of a multi-token-prediction head.
  std::uint64_t draft_kv_bytes_per_token = 0;
  /// Page table entries of one sequence, without states: bytes for each attention block.
  std::uint64_t table_bytes_per_block = 0;
  /// Source and destination entries of one sequence's states: member pages and lines.
  std::uint64_t table_bytes_per_sequence = 0;
};

/// What sits outside the budget under `layout`. Constant time.
constexpr OutsideBudget outside_budget(const PageLayout& layout) noexcept {
  constexpr std::uint64_t entry_bytes = sizeof(std::int32_t);
  const StateGeometry& geometry = layout.geometry;
  OutsideBudget outside;
  outside.gather_arena_bytes_per_row = geometry.checkpoint_bytes();
  outside.draft_state_bytes_per_token = geometry.checkpoint_bytes();
  outside.draft_kv_bytes_per_token =
      geometry.kv_bytes_per_token_layer * geometry.draft_attention_layers;
  outside.table_bytes_per_block = entry_bytes * layout.attention_stacks();
  outside.table_bytes_per_sequence =
      2 * entry_bytes *
      (std::uint64_t{layout.members_per_checkpoint()} + layout.slots_per_checkpoint());
  return outside;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
