// audit: looks at all of an organization from outside and says what does not add up.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hybridmem/organization/memory_organization.hpp"
#include "hybridmem/organization/storage_cost.hpp"

namespace hybridmem_test {

/// The first finding, or nothing. Linear in the capacity. Checked: every unit is free or has
/// exactly one owner (P6); the counts are the sums over objects; a block and a checkpoint have all
/// their units, and no two share one (P1, P3); every line names a slot that knows its owner, and
/// slabs hold no slot that no checkpoint names; a slab is referenced as often as its slots are
/// (P2); the units in use are those of the closed form (paper, eqs. 1 to 4) with the slabs there
/// are.
template <class O>
std::string audit(const O& organization) {
  using hybridmem::BlockId;
  using hybridmem::CheckpointId;
  using hybridmem::ObjectId;
  using hybridmem::StateKind;
  const hybridmem::OrganizationLayout& layout = organization.layout();
  const auto text = [](const char* what, std::int64_t id) {
    return std::string(what) + " " + std::to_string(id);
  };
  std::string finding;
  const auto expect = [&](bool holds, const char* what, std::int64_t id) {
    if (!holds && finding.empty()) finding = text(what, id);
  };

  std::array<std::vector<std::string>, 2> owners;
  std::array<hybridmem::PoolCounts, 2> sums{};
  const auto own = [&](std::uint8_t pool, std::int32_t page, const std::string& owner) {
    if (page < 0 || static_cast<std::size_t>(page) >= owners[pool].size()) {
      expect(false, ("no such page, of " + owner).c_str(), page);
      return;
    }
    std::string& slot = owners[pool][static_cast<std::size_t>(page)];
    expect(slot.empty(), ("page of " + owner + " is also that of " + slot).c_str(), page);
    slot = owner;
  };
  for (std::uint8_t i = 0; i < layout.pools; ++i) {
    sums[i].units = organization.counts(i).units;
    owners[i].resize(sums[i].units);
    for (const std::int32_t page : organization.page_pool(i).free_list()) {
      own(i, page, "the free list");
      ++sums[i].free;
    }
  }

  hybridmem::StateSet set;
  std::map<std::int32_t, std::pair<std::uint32_t, std::uint32_t>> slabs;  // page: taken, referenced
  const auto add = [&](std::uint8_t pool, std::uint32_t references, std::size_t pages) {
    (references > 0 ? sums[pool].referenced : sums[pool].cached) +=
        static_cast<std::uint32_t>(pages);
  };
  const std::uint8_t attention = layout.pool_of(StateKind::attention);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(organization.block_capacity()); ++i) {
    const BlockId id{i};
    expect(!(organization.cached(id) && organization.references(id) > 0),
           "cached although referenced: block", i);
    if (!organization.cached(id) && organization.references(id) == 0) continue;
    ++set.attention_blocks;
    expect(organization.pages(id).size() == layout.units_per_block, "units of block", i);
    for (const std::int32_t page : organization.pages(id)) own(attention, page, text("block", i));
    add(attention, organization.references(id), organization.pages(id).size());
  }
  const std::uint8_t recurrent = layout.pool_of(StateKind::recurrent);
  const auto* slab_pool = organization.slab_pool();
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(organization.checkpoint_capacity()); ++i) {
    const CheckpointId id{i};
    expect(!(organization.cached(id) && organization.references(id) > 0),
           "cached although referenced: checkpoint", i);
    if (!organization.cached(id) && organization.references(id) == 0) continue;
    ++set.checkpoints;
    const auto pages = organization.pages(id);
    const auto lines = organization.lines(id);
    expect(pages.size() == layout.units_per_checkpoint(), "units of checkpoint", i);
    expect(lines.size() == layout.lines_per_checkpoint, "lines of checkpoint", i);
    for (const std::int32_t page : pages) own(recurrent, page, text("checkpoint", i));
    add(recurrent, organization.references(id), pages.size());
    if (layout.slots_per_checkpoint == 0) {
      expect(lines.empty() || lines.back() == pages.back(), "a line beside the pages of", i);
      continue;
    }
    std::set<std::int32_t> distinct(lines.begin(), lines.end());
    expect(distinct.size() == lines.size(), "one line twice in checkpoint", i);
    for (const std::int32_t line : lines) {
      expect(line >= 0, "an absent line in checkpoint", i);
      if (line < 0) return finding;
      expect(slab_pool->owner(hybridmem::LineId{line}) == i, "the slot of another: line", line);
      auto& [taken, referenced] = slabs[line / static_cast<std::int32_t>(layout.slots_per_slab)];
      ++taken;
      if (organization.references(id) > 0) ++referenced;
    }
  }
  if (slab_pool != nullptr) {
    const auto& pool = organization.page_pool(recurrent);
    std::map<std::pair<bool, std::uint32_t>, std::uint32_t> histogram;
    const auto first = static_cast<std::int32_t>(organization.block_capacity() +
                                                 organization.checkpoint_capacity());
    for (std::int32_t i = first; slab_pool->is_slab(ObjectId{i}); ++i) {
      const ObjectId slab{i};
      if (pool.absent(slab)) continue;
      ++set.slabs;
      const std::int32_t page = slab_pool->page_of(slab);
      own(recurrent, page, "a slab");
      add(recurrent, pool.references(slab), 1);
      const auto [taken, referenced] = slabs[page];
      expect(taken > 0, "an empty slab on page", page);
      expect(slab_pool->taken_in(slab) == taken, "taken slots of the slab on page", page);
      expect(pool.references(slab) == referenced, "references of the slab on page", page);
      ++histogram[{referenced > 0, taken}];
    }
    std::uint32_t taken_slots = 0;
    for (const auto& [page, counts] : slabs) taken_slots += counts.first;
    expect(slab_pool->slabs() == set.slabs && slabs.size() == set.slabs, "slabs",
           static_cast<std::int64_t>(set.slabs));
    expect(slab_pool->taken_slots() == taken_slots, "taken slots", taken_slots);
    for (std::uint32_t taken = 0; taken <= layout.slots_per_slab; ++taken) {
      expect(slab_pool->referenced_slabs(taken) == histogram[{true, taken}],
             "referenced slabs with taken slots", taken);
      expect(slab_pool->idle_slabs(taken) == histogram[{false, taken}],
             "idle slabs with taken slots", taken);
    }
  }
  for (std::uint8_t i = 0; i < layout.pools; ++i) {
    for (std::size_t page = 0; page < owners[i].size(); ++page)
      expect(!owners[i][page].empty(), "neither free nor owned: page",
             static_cast<std::int64_t>(page));
    expect(organization.counts(i) == sums[i], "counts are not the sums in pool", i);
  }
  const hybridmem::StorageCost cost = storage_cost(layout, set);
  const auto used = [&](std::uint8_t pool) {
    return organization.counts(pool).units - organization.counts(pool).free;
  };
  if (layout.pools == 2) {
    expect(used(0) == cost.attention_units, "attention units beside the closed form", used(0));
    expect(used(1) == cost.recurrent_units(), "recurrent units beside the closed form", used(1));
  } else {
    expect(used(0) == cost.units(), "units beside the closed form", used(0));
  }
  return finding;
}

}  // namespace hybridmem_test
