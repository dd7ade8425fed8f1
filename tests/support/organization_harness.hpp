// Harness: an organization over a model, with its pools sized in blocks and checkpoints, that
// records what is evicted.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "hybridmem/model/preset.hpp"
#include "hybridmem/organization/pooled_organization.hpp"
#include "support/geometries.hpp"

namespace hybridmem_test {

/// An `Eviction` that can be compared.
struct Evicted {
  hybridmem::StateKind kind = hybridmem::StateKind::attention;
  std::int32_t index = -1;
  bool cross_invalidated = false;

  friend bool operator==(const Evicted&, const Evicted&) = default;
};

/// The layout of a known model under the solver's own choices.
inline hybridmem::OrganizationLayout preset_organization(hybridmem::OrganizationKind kind,
                                                         std::string_view model) {
  const hybridmem::ModelPreset* preset = hybridmem::find_preset(model);
  if (preset == nullptr) throw std::runtime_error("no such preset");
  const auto geometry = hybridmem::make_geometry(preset->architecture);
  if (!geometry) throw std::runtime_error(describe(geometry.error()));
  const auto layout = hybridmem::solve_layout(*geometry);
  if (!layout) throw std::runtime_error(describe(layout.error()));
  return hybridmem::organization_layout(*layout, kind);
}

/// Units that hold so many blocks and checkpoints, slabs packed ideally, and not one more.
inline hybridmem::PoolUnits units_for(const hybridmem::OrganizationLayout& layout,
                                      std::uint64_t blocks, std::uint64_t checkpoints) {
  const hybridmem::StorageCost cost = storage_cost(layout, ideal_set(layout, blocks, checkpoints));
  if (layout.pools == 2) return {cost.attention_units, cost.recurrent_units()};
  return {cost.units(), 0};
}

template <class O>
struct Harness {
  Harness(const hybridmem::OrganizationLayout& of, const hybridmem::PoolUnits& sizes,
          const hybridmem::OrganizationOptions& options = {},
          std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : layout(of), units(sizes), o(of, sizes, options, memory) {}

  /// The paper's model, with room for so many blocks and checkpoints.
  explicit Harness(std::uint64_t blocks, std::uint64_t checkpoints,
                   const hybridmem::OrganizationOptions& options = {})
      : Harness(organization_of(O::kind), units_for(organization_of(O::kind), blocks, checkpoints),
                options) {}

  auto record() {
    return [this](const hybridmem::Eviction& eviction) {
      evicted.push_back({eviction.kind, eviction.index, eviction.cross_invalidated});
    };
  }
  hybridmem::BlockId block() { return o.allocate_block(record()); }
  hybridmem::CheckpointId checkpoint() { return o.allocate_checkpoint(record()); }
  template <class Id>
  Id cached(Id id) {
    o.release(id, true);
    return id;
  }
  hybridmem::PoolCounts counts(hybridmem::StateKind kind) const {
    return o.counts(layout.pool_of(kind));
  }
  std::uint64_t available(hybridmem::StateKind kind) const {
    return counts(kind).free + counts(kind).cached;
  }
  /// Whether `needed` says that all of it can be had.
  bool predicts(const hybridmem::StateDemand& demand,
                std::span<const hybridmem::BlockId> adopted = {},
                hybridmem::CheckpointId state = {}) const {
    const hybridmem::PoolUnits need = o.needed(demand, adopted, state);
    for (std::uint8_t i = 0; i < layout.pools; ++i)
      if (need[i] > o.counts(i).free + o.counts(i).cached) return false;
    return true;
  }

  hybridmem::OrganizationLayout layout;
  hybridmem::PoolUnits units;
  O o;
  std::vector<Evicted> evicted;
};

inline Evicted evicted_block(hybridmem::BlockId id) {
  return {hybridmem::StateKind::attention, id.value(), false};
}
inline Evicted evicted_checkpoint(hybridmem::CheckpointId id, bool cross = false) {
  return {hybridmem::StateKind::recurrent, id.value(), cross};
}

}  // namespace hybridmem_test
