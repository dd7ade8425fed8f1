// Capacity: how many repetitions of a mix of states a budget of units can hold (paper, eqs. A8 and
// D2).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "hybridmem/core/result.hpp"
#include "hybridmem/organization/storage_cost.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// Units of each pool, indexed by `OrganizationLayout::pool_of`.
using PoolUnits = std::array<std::uint64_t, 2>;

/// One repetition of a mix: the paper's a = (aA, aR), in blocks of the organization at hand.
struct StateMix {
  std::uint64_t attention_blocks = 0;
  std::uint64_t checkpoints = 0;
};

/// Which demand stops the next repetition.
enum class Limit : std::uint8_t {
  attention,    ///< the attention pool of StaticDualPool is full first
  recurrent,    ///< the recurrent pool of StaticDualPool is full first
  shared_pool,  ///< the one pool is full
};

constexpr const char* name_of(Limit limit) noexcept {
  switch (limit) {
    case Limit::attention:
      return "attention";
    case Limit::recurrent:
      return "recurrent";
    case Limit::shared_pool:
      return "shared_pool";
  }
  return "unknown";
}

/// How often a mix fits, and what stops it.
struct MixCapacity {
  std::uint64_t repetitions = 0;
  Limit limited_by = Limit::shared_pool;
};

/// The mix that holds `mix` (in blocks of `page_block_tokens`) in `layout`'s own blocks.
constexpr StateMix native_mix(const OrganizationLayout& layout, const StateMix& mix,
                              Tokens page_block_tokens) noexcept {
  if (layout.block_tokens == 0 || mix.attention_blocks == 0) return {0, mix.checkpoints};
  return {divide_up(mix.attention_blocks * page_block_tokens, std::uint64_t{layout.block_tokens}),
          mix.checkpoints};
}

/// Whether `repetitions` of `mix`, slabs packed ideally, fit in `units`.
constexpr bool fits(const OrganizationLayout& layout, const StateMix& mix,
                    std::uint64_t repetitions, const PoolUnits& units) noexcept {
  const Checked blocks =
      Checked{mix.attention_blocks} * Checked{repetitions} * Checked{layout.units_per_block};
  const Checked checkpoints = Checked{mix.checkpoints} * Checked{repetitions};
  const Checked slots = checkpoints * Checked{layout.slots_per_checkpoint};
  const Checked slabs{
      layout.has_slabs() ? divide_up(slots.value(), std::uint64_t{layout.slots_per_slab}) : 0};
  const Checked members = checkpoints * Checked{layout.units_per_checkpoint()};
  if (blocks.overflowed() || members.overflowed() || slots.overflowed()) return false;
  if (layout.pools == 2) return blocks.value() <= units[0] && members.value() <= units[1];
  const Checked all = blocks + members + slabs;
  return !all.overflowed() && all.value() <= units[0];
}

/// The largest whole number of repetitions of `mix` that fits (paper, eq. A8 for a shared pool with
/// ideal packing, eq. D2 for two pools; a kind without demand sets no limit). Not a number of
/// concurrent requests: lifetimes and packing histories come on top. Errors: `bad_argument` for a
/// mix of nothing, or one that this geometry stores in no unit. Logarithmic in the units.
constexpr Result<MixCapacity, InputError> mix_capacity(const OrganizationLayout& layout,
                                                       const StateMix& mix,
                                                       const PoolUnits& units) {
  const std::uint64_t block_units = mix.attention_blocks == 0 ? 0 : layout.units_per_block;
  const bool takes_recurrent =
      mix.checkpoints > 0 && (layout.units_per_checkpoint() > 0 || layout.has_slabs());
  if (block_units == 0 && !takes_recurrent)
    return InputError{Error::bad_argument, "mix", 0,
                      "at least one attention block or checkpoint that takes storage"};
  MixCapacity capacity;
  if (layout.pools == 2) {
    constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t by_attention =
        block_units == 0 ? unlimited : units[0] / layout.units_per_block / mix.attention_blocks;
    const std::uint64_t by_recurrent =
        takes_recurrent ? units[1] / layout.units_per_checkpoint() / mix.checkpoints : unlimited;
    capacity.repetitions = std::min(by_attention, by_recurrent);
    capacity.limited_by = by_attention < by_recurrent ? Limit::attention : Limit::recurrent;
    return capacity;
  }
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  if (fits(layout, mix, most, units)) return MixCapacity{most, Limit::shared_pool};
  // Now `low` fits and `high` does not.
  std::uint64_t low = 0;
  std::uint64_t high = 1;
  while (fits(layout, mix, high, units)) {
    low = high;
    high = high > most / 2 ? most : high * 2;
  }
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (fits(layout, mix, middle, units) ? low : high) = middle;
  }
  capacity.repetitions = low;
  return capacity;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
