// Geometries for tests: those that the paper measured, by their numbers, and random ones.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <ostream>
#include <stdexcept>

#include "hybridmem/model/layout_solver.hpp"
#include "hybridmem/model/make_geometry.hpp"
#include "hybridmem/organization/organization_layout.hpp"

namespace hybridmem_test {

/// Falcon-H1-7B in bf16 on one rank (table 1).
inline constexpr hybridmem::GeometryNumbers falcon_numbers{.attention_layers = 44,
                                                           .recurrent_layers = 44,
                                                           .kv_bytes_per_token_layer = 1'024,
                                                           .recurrent_bytes_layer = 1'572'864,
                                                           .conv_bytes_layer = 21'504,
                                                           .kernel_chunk_tokens = 128};

/// Granite-4.0-H-Micro in bf16 on one rank.
inline constexpr hybridmem::GeometryNumbers granite_numbers{.attention_layers = 4,
                                                            .recurrent_layers = 36,
                                                            .kv_bytes_per_token_layer = 2'048,
                                                            .recurrent_bytes_layer = 1'048'576,
                                                            .conv_bytes_layer = 26'112,
                                                            .kernel_chunk_tokens = 256};

/// Nemotron-3-Nano-30B-A3B: layer counts without a common divisor.
inline constexpr hybridmem::GeometryNumbers nemotron_numbers{.attention_layers = 6,
                                                             .recurrent_layers = 23,
                                                             .kv_bytes_per_token_layer = 1'024,
                                                             .recurrent_bytes_layer = 2'097'152,
                                                             .conv_bytes_layer = 36'864,
                                                             .kernel_chunk_tokens = 128};

/// The geometry of `numbers`, which must be acceptable.
inline hybridmem::StateGeometry geometry_of(const hybridmem::GeometryNumbers& numbers) {
  const auto geometry = hybridmem::make_geometry(numbers);
  if (!geometry) throw std::runtime_error(describe(geometry.error()));
  return *geometry;
}

/// The layout of `numbers` under `options`, which must fit each other.
inline hybridmem::PageLayout layout_of(const hybridmem::GeometryNumbers& numbers,
                                       const hybridmem::LayoutOptions& options = {}) {
  const auto layout = hybridmem::solve_layout(geometry_of(numbers), options);
  if (!layout) throw std::runtime_error(describe(layout.error()));
  return *layout;
}

inline hybridmem::OrganizationLayout organization_of(
    hybridmem::OrganizationKind kind, const hybridmem::GeometryNumbers& numbers = falcon_numbers,
    const hybridmem::LayoutOptions& options = {}) {
  return hybridmem::organization_layout(layout_of(numbers, options), kind);
}

/// The paper's model in the four organizations: a fixture.
struct Falcon {
  hybridmem::OrganizationLayout coarse = organization_of(hybridmem::OrganizationKind::coarse_pages);
  hybridmem::OrganizationLayout paged =
      organization_of(hybridmem::OrganizationKind::paged_recurrent);
  hybridmem::OrganizationLayout slabs = organization_of(hybridmem::OrganizationKind::slab_packed);
  hybridmem::OrganizationLayout dual =
      organization_of(hybridmem::OrganizationKind::static_dual_pool);
};

/// Numbers and options that usually have a layout.
struct LayoutCase {
  hybridmem::GeometryNumbers numbers;
  hybridmem::LayoutOptions options;
};

inline std::ostream& operator<<(std::ostream& out, const LayoutCase& c) {
  const auto& n = c.numbers;
  const auto& o = c.options;
  return out << "layers " << n.attention_layers << "/" << n.recurrent_layers << ", kv "
             << n.kv_bytes_per_token_layer << ", recurrent " << n.recurrent_bytes_layer << ", conv "
             << n.conv_bytes_layer << ", chunk " << n.kernel_chunk_tokens << ", alignment "
             << n.attention_alignment_tokens << "; block " << o.block_tokens << ", page "
             << o.page_bytes << ", slots " << name_of(o.slots) << ", interval "
             << o.checkpoint_interval_tokens << ", dual interval " << o.dual_interval_tokens
             << ", key " << o.key_tokens << ", max block " << o.max_block_tokens << ", stack "
             << o.stack_layers << ", mix " << o.attention_blocks_per_checkpoint;
}

/// Any geometry: with and without attention, recurrent and convolution state; half of the recurrent
/// states are whole multiples of some block of attention, the others of nothing in particular.
inline rc::Gen<hybridmem::GeometryNumbers> any_numbers() {
  return rc::gen::exec([] {
    const auto below = [](std::uint64_t low, std::uint64_t high) {
      return *rc::gen::inRange<std::uint64_t>(low, high);
    };
    hybridmem::GeometryNumbers numbers;
    numbers.recurrent_layers = static_cast<std::uint32_t>(below(1, 13));
    if (below(0, 6) != 0) {
      numbers.attention_layers = static_cast<std::uint32_t>(below(1, 13));
      numbers.kv_bytes_per_token_layer = below(0, 4) == 0 ? below(1, 64) : 64 * below(1, 65);
      numbers.attention_alignment_tokens = *rc::gen::element<hybridmem::Tokens>(16, 16, 16, 64, 8);
    }
    numbers.kernel_chunk_tokens = *rc::gen::element<hybridmem::Tokens>(0, 1, 64, 128, 256, 100);
    const std::uint64_t kinds = below(0, 8);  // 0: no recurrent state, 1: no convolution
    if (kinds != 0)
      numbers.recurrent_bytes_layer =
          below(0, 2) == 0 && numbers.attention_layers != 0
              ? numbers.kv_bytes_per_token_layer * 16 * below(1, below(0, 2) == 0 ? 64 : 1'500)
              : below(1, 2'000'000);
    if (kinds != 1) numbers.conv_bytes_layer = below(1, below(0, 2) == 0 ? 2'000 : 60'000);
    return numbers;
  });
}

/// Any geometry with options that suit it.
inline rc::Gen<LayoutCase> any_layout_case() {
  return rc::gen::exec([] {
    using hybridmem::SlotRule;
    LayoutCase c{*any_numbers(), {}};
    hybridmem::LayoutOptions& options = c.options;
    options.key_tokens = *rc::gen::element<hybridmem::Tokens>(16, 32);
    options.slots = *rc::gen::element(SlotRule::automatic, SlotRule::power_of_two, SlotRule::exact);
    options.max_block_tokens = *rc::gen::element<hybridmem::Tokens>(512, 16, 100, 1'024);
    options.attention_blocks_per_checkpoint = *rc::gen::inRange<std::uint32_t>(0, 9);
    if (*rc::gen::inRange(0, 3) == 0) options.stack_layers = 1;
    const auto step = std::lcm(c.numbers.attention_alignment_tokens, options.key_tokens);
    if (c.numbers.attention_layers != 0 && *rc::gen::inRange(0, 3) == 0)
      options.block_tokens = step * *rc::gen::inRange<hybridmem::Tokens>(1, 40);
    if (*rc::gen::inRange(0, 4) == 0) {
      const std::uint64_t block =
          c.numbers.kv_bytes_per_token_layer * std::max(step, options.block_tokens);
      options.page_bytes =
          hybridmem::round_up(block, std::uint64_t{256}) +
          256 * *rc::gen::inRange<std::uint64_t>(c.numbers.conv_bytes_layer / 128 + 1, 2'000);
    }
    return c;
  });
}

/// The layout of a random case; discards the case if it has none.
inline hybridmem::PageLayout layout_or_discard(const LayoutCase& c) {
  const auto geometry = hybridmem::make_geometry(c.numbers);
  RC_ASSERT(geometry.has_value());
  const auto layout = hybridmem::solve_layout(*geometry, c.options);
  RC_PRE(layout.has_value());
  return *layout;
}

inline rc::Gen<hybridmem::OrganizationKind> any_organization() {
  using hybridmem::OrganizationKind;
  return rc::gen::element(OrganizationKind::coarse_pages, OrganizationKind::paged_recurrent,
                          OrganizationKind::slab_packed, OrganizationKind::static_dual_pool);
}

}  // namespace hybridmem_test
