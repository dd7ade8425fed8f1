// OrganizationLayout: what each organization allocates for one block and one checkpoint, in units.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "hybridmem/core/result.hpp"
#include "hybridmem/model/page_layout.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// The four ways of the paper to keep attention, recurrent and convolution state in one budget.
enum class OrganizationKind : std::uint8_t {
  coarse_pages,     ///< S0: one pool, every object in pages as large as a composite
  paged_recurrent,  ///< S1: one pool, recurrent state in member pages, convolution in a page of its
                    ///< own
  slab_packed,      ///< S2: one pool, recurrent state in member pages, convolution in shared slabs
  static_dual_pool,  ///< D0: two pools of fixed sizes, native units in each
};

inline constexpr std::array organization_kinds{
    OrganizationKind::coarse_pages, OrganizationKind::paged_recurrent,
    OrganizationKind::slab_packed, OrganizationKind::static_dual_pool};

/// The name of an organization in output and on the command line.
constexpr const char* name_of(OrganizationKind kind) noexcept {
  switch (kind) {
    case OrganizationKind::coarse_pages:
      return "coarse_pages";
    case OrganizationKind::paged_recurrent:
      return "paged_recurrent";
    case OrganizationKind::slab_packed:
      return "slab_packed";
    case OrganizationKind::static_dual_pool:
      return "static_dual_pool";
  }
  return "unknown";
}

/// The paper's label of an organization: S0, S1, S2 or D0.
constexpr const char* paper_label(OrganizationKind kind) noexcept {
  switch (kind) {
    case OrganizationKind::coarse_pages:
      return "S0";
    case OrganizationKind::paged_recurrent:
      return "S1";
    case OrganizationKind::slab_packed:
      return "S2";
    case OrganizationKind::static_dual_pool:
      return "D0";
  }
  return "unknown";
}

/// Reads an organization by its name or its paper label. Errors: `unknown_name`.
constexpr Result<OrganizationKind> parse_organization(std::string_view text) {
  for (const OrganizationKind kind : organization_kinds)
    if (text == name_of(kind) || text == paper_label(kind)) return kind;
  return Error::unknown_name;
}

/// The two kinds of demand, hence the pools of StaticDualPool. A shared pool serves both as pool 0.
enum class StateKind : std::uint8_t { attention = 0, recurrent = 1 };

/// One organization over one layout, in whole units over all layer stacks. A unit is `unit_bytes`
/// in each of the `stack_layers` tensors of a stack. Plain data.
struct OrganizationLayout {
  OrganizationKind kind = OrganizationKind::slab_packed;
  std::uint8_t pools = 1;  ///< 1 shared, or 2: attention, then recurrent
  std::array<std::uint64_t, 2>
      unit_bytes{};  ///< of the pool of each StateKind, one layer of a stack
  std::uint32_t stack_layers = 1;
  Tokens block_tokens = 0;  ///< tokens of one attention block
  Tokens checkpoint_interval_tokens = 0;
  std::uint32_t attention_stacks = 0;      ///< page tables that a block appears in
  std::uint32_t recurrent_stacks = 0;      ///< page tables that a checkpoint appears in
  std::uint32_t units_per_block = 0;       ///< units of one attention block
  std::uint32_t member_units = 0;          ///< units of one checkpoint, convolution pages excluded
  std::uint32_t conv_units = 0;            ///< units of one checkpoint for convolution state alone
  std::uint32_t lines_per_checkpoint = 0;  ///< convolution lines of one checkpoint
  std::uint32_t slots_per_checkpoint = 0;  ///< slots in shared slabs; 0 where there are none
  std::uint32_t slots_per_slab = 0;        ///< slots of one unit; 0 where there are none
  std::uint64_t token_bytes_layer = 0;     ///< KV of one token in one attention layer
  std::uint64_t block_payload_bytes = 0;   ///< useful bytes of a full block, all its layers
  std::uint64_t checkpoint_payload_bytes = 0;  ///< useful bytes of a checkpoint, all its layers

  /// Units that one checkpoint takes for itself: all but its slots.
  constexpr std::uint32_t units_per_checkpoint() const noexcept {
    return member_units + conv_units;
  }
  constexpr bool has_slabs() const noexcept { return slots_per_slab > 0; }

  /// The pool that serves a kind.
  constexpr std::uint8_t pool_of(StateKind state) const noexcept {
    return pools == 1 ? std::uint8_t{0} : static_cast<std::uint8_t>(state);
  }
  /// Bytes of one unit of `state`'s pool over the layers of a stack.
  constexpr std::uint64_t stack_unit_bytes(StateKind state) const noexcept {
    return unit_bytes[static_cast<std::size_t>(state)] * stack_layers;
  }
  /// The least number of slabs that hold the slots of `checkpoints` (paper, eq. 4).
  constexpr std::uint64_t least_slabs(std::uint64_t checkpoints) const noexcept {
    return has_slabs()
               ? divide_up(checkpoints * slots_per_checkpoint, std::uint64_t{slots_per_slab})
               : 0;
  }
};

static_assert(std::is_trivially_copyable_v<OrganizationLayout>);

/// How `kind` allocates under `layout`. Constant time.
constexpr OrganizationLayout organization_layout(const PageLayout& layout,
                                                 OrganizationKind kind) noexcept {
  const StateGeometry& geometry = layout.geometry;
  const std::uint32_t stacks = layout.recurrent_stacks();
  OrganizationLayout out;
  out.kind = kind;
  out.stack_layers = layout.stack_layers;
  out.block_tokens = layout.block_tokens;
  out.checkpoint_interval_tokens = layout.checkpoint_interval_tokens;
  out.attention_stacks = layout.attention_stacks();
  out.recurrent_stacks = stacks;
  out.units_per_block = layout.attention_stacks();
  out.checkpoint_payload_bytes = geometry.checkpoint_bytes();
  out.lines_per_checkpoint = layout.has_convolution() ? stacks : 0;
  switch (kind) {
    case OrganizationKind::coarse_pages:
      out.unit_bytes = {layout.coarse_page_bytes, layout.coarse_page_bytes};
      out.units_per_block *= layout.coarse_pages_per_block;
      out.member_units = stacks;
      break;
    case OrganizationKind::paged_recurrent:
      out.unit_bytes = {layout.page_bytes, layout.page_bytes};
      out.member_units = layout.members_per_checkpoint();
      out.conv_units = layout.has_convolution() ? stacks : 0;
      break;
    case OrganizationKind::slab_packed:
      out.unit_bytes = {layout.page_bytes, layout.page_bytes};
      out.member_units = layout.members_per_checkpoint();
      out.slots_per_checkpoint = layout.slots_per_checkpoint();
      out.slots_per_slab = layout.slots_per_slab;
      break;
    case OrganizationKind::static_dual_pool:
      out.pools = 2;
      out.unit_bytes = {layout.dual_attention_bytes, layout.dual_recurrent_bytes};
      out.block_tokens = layout.has_attention() ? layout.dual_block_tokens : layout.block_tokens;
      out.checkpoint_interval_tokens = layout.dual_interval_tokens;
      out.member_units = stacks;
      break;
  }
  out.token_bytes_layer = geometry.kv_bytes_per_token_layer;
  out.block_payload_bytes = out.block_tokens * geometry.kv_bytes_per_token();
  return out;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
