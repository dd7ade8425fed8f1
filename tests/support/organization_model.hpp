// OrganizationModel: an organization as the rules P1 to P10 state it, in maps and scans, to compare
// the real ones with. It knows nothing of how they are made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "hybridmem/organization/memory_organization.hpp"

namespace hybridmem_test {

/// Slow on purpose. Ids and pages are bare ints, -1 for absent. The evictions of the last
/// allocation are in `evictions`.
class OrganizationModel {
 public:
  struct State {
    std::vector<std::int32_t> pages;
    std::vector<std::int32_t> lines;
    std::uint32_t references = 0;
    std::uint64_t place = 0;  ///< in the reclaim order; 0: in none
  };

  struct Slab {
    std::map<std::int32_t, std::int32_t> owners;  ///< of the taken slots
    std::uint64_t created = 0;
    std::uint64_t place = 0;
  };

  OrganizationModel(const hybridmem::OrganizationLayout& layout, const hybridmem::PoolUnits& units,
                    const hybridmem::OrganizationOptions& options)
      : layout_(layout), options_(options), pools_(layout.pools) {
    for (std::size_t i = 0; i < pools_.size(); ++i) {
      pools_[i].units = static_cast<std::uint32_t>(units[i]);
      for (std::uint32_t page = 0; page < pools_[i].units; ++page)
        pools_[i].free.push_back(static_cast<std::int32_t>(page));
    }
  }

  const std::map<std::int32_t, State>& blocks() const { return blocks_; }
  const std::map<std::int32_t, State>& checkpoints() const { return checkpoints_; }
  /// Slabs by page.
  const std::map<std::int32_t, Slab>& slabs() const { return slabs_; }
  const std::deque<std::int32_t>& free(std::uint8_t pool) const { return pools_[pool].free; }

  std::vector<hybridmem::Eviction> evictions;

  hybridmem::PoolCounts counts(std::uint8_t index) const {
    if (index >= pools_.size()) return {};
    hybridmem::PoolCounts counts{.units = pools_[index].units,
                                 .free = static_cast<std::uint32_t>(pools_[index].free.size())};
    const auto add = [&](const State& state) {
      (state.references > 0 ? counts.referenced : counts.cached) +=
          static_cast<std::uint32_t>(state.pages.size());
    };
    if (index == attention())
      for (const auto& [id, block] : blocks_) add(block);
    if (index == recurrent()) {
      for (const auto& [id, checkpoint] : checkpoints_) add(checkpoint);
      for (const auto& [page, slab] : slabs_) ++(in_use(slab) ? counts.referenced : counts.cached);
    }
    return counts;
  }

  std::uint32_t available(std::uint8_t index) const {
    const hybridmem::PoolCounts c = counts(index);
    return c.free + c.cached;
  }

  std::int32_t allocate_block() {
    evictions.clear();
    if (layout_.units_per_block == 0 || layout_.units_per_block > available(attention())) return -1;
    Pool& pool = pools_[attention()];
    while (pool.free.size() < layout_.units_per_block) evict_oldest(pool);
    const std::int32_t id = new_id(blocks_, free_blocks_);
    blocks_[id].references = 1;
    blocks_[id].pages = take_pages(pool, layout_.units_per_block);
    return id;
  }

  /// Slots before members; where the placement's slabs cost too many pages, whole new slabs; where
  /// these do too, what is cached makes way on slabs in use. `later` checkpoints and blocks follow.
  std::int32_t allocate_checkpoint(std::uint32_t later = 0, std::uint32_t later_blocks = 0) {
    evictions.clear();
    Pool& pool = pools_[recurrent()];
    const std::uint32_t room = available(recurrent());
    const std::uint32_t members = layout_.units_per_checkpoint();
    const std::uint32_t slots = layout_.slots_per_checkpoint;
    const auto all = [&] { return (later + 1) * members + later_blocks * layout_.units_per_block; };
    if (slots == 0 || all() + least_slab_pages((later + 1) * slots) > room)
      later = later_blocks = 0;
    const std::uint32_t all_members = all();
    const std::uint32_t all_slots = (later + 1) * slots;
    bool as_placed = all_members + slab_pages(all_slots, true) <= room;
    if (!as_placed && all_members + least_slab_pages(all_slots) > room) return -1;
    while (!as_placed && all_members + slab_pages(all_slots, false) > room) evict_oldest(pool);
    while (checkpoint_ids_left() == 0 && !pool.order.empty()) evict_oldest(pool);
    if (checkpoint_ids_left() == 0) return -1;
    // Without slabs the members are free before the id is chosen.
    const bool slabs = layout_.kind == hybridmem::OrganizationKind::slab_packed;
    while (!slabs && pool.free.size() < members) evict_oldest(pool);
    const std::int32_t id = new_id(checkpoints_, free_checkpoints_);
    checkpoints_[id].references = 1;
    for (std::uint32_t i = 0; i < slots; ++i) as_placed = take_slot(pool, id, as_placed);
    while (pool.free.size() < members) evict_oldest(pool);
    checkpoints_[id].pages = take_pages(pool, members);
    if (slots == 0) {
      const auto& pages = checkpoints_[id].pages;
      checkpoints_[id].lines.assign(pages.end() - layout_.lines_per_checkpoint, pages.end());
    }
    return id;
  }

  void reference_block(std::int32_t id) {
    leave_order(pools_[attention()], blocks_.at(id).place);
    ++blocks_.at(id).references;
  }

  void reference_checkpoint(std::int32_t id) {
    State& checkpoint = checkpoints_.at(id);
    leave_order(pools_[recurrent()], checkpoint.place);
    ++checkpoint.references;
    for (const std::int32_t page : slab_pages_of(checkpoint))
      leave_order(pools_[recurrent()], slabs_.at(page).place);
  }

  hybridmem::Released release_block(std::int32_t id, bool discoverable) {
    State& block = blocks_.at(id);
    if (--block.references > 0) return hybridmem::Released::still_referenced;
    enter_order(pools_[attention()], block.place, {Kind::block, id});
    if (discoverable || one_queue()) return hybridmem::Released::cached;
    invalidate_block(id);
    return hybridmem::Released::dropped;
  }

  hybridmem::Released release_checkpoint(std::int32_t id, bool discoverable) {
    Pool& pool = pools_[recurrent()];
    State& checkpoint = checkpoints_.at(id);
    if (--checkpoint.references > 0) return hybridmem::Released::still_referenced;
    if (!checkpoint.pages.empty()) enter_order(pool, checkpoint.place, {Kind::checkpoint, id});
    for (const std::int32_t page : slab_pages_of(checkpoint)) {
      Slab& slab = slabs_.at(page);
      if (in_use(slab)) continue;
      if (options_.slab_order == hybridmem::SlabOrder::creation)
        pool.order[slab.place = slab.created] = {Kind::slab, page};
      else
        enter_order(pool, slab.place, {Kind::slab, page});
    }
    if (discoverable || (one_queue() && !checkpoint.pages.empty()))
      return hybridmem::Released::cached;
    invalidate_checkpoint(id);
    return hybridmem::Released::dropped;
  }

  void invalidate_block(std::int32_t id) {
    Pool& pool = pools_[attention()];
    leave_order(pool, blocks_.at(id).place);
    give_back(pool, blocks_.at(id).pages);
    blocks_.erase(id);
    free_blocks_.push_back(id);
  }

  void invalidate_checkpoint(std::int32_t id) {
    Pool& pool = pools_[recurrent()];
    State checkpoint = checkpoints_.at(id);
    leave_order(pool, checkpoint.place);
    give_back(pool, checkpoint.pages);
    checkpoints_.erase(id);
    free_checkpoints_.push_back(id);
    if (layout_.slots_per_checkpoint == 0) return;
    for (const std::int32_t line : checkpoint.lines) {
      const std::int32_t page = line / slots_per_slab();
      Slab& slab = slabs_.at(page);
      slab.owners.erase(line % slots_per_slab());
      free_slots_.push_back(line);
      if (!slab.owners.empty()) continue;
      leave_order(pool, slab.place);
      slabs_.erase(page);
      free_slots_.remove_if([&](std::int32_t free) { return free / slots_per_slab() == page; });
      pool.free.push_front(page);
    }
  }

  hybridmem::PoolUnits needed(const hybridmem::StateDemand& demand,
                              std::span<const std::int32_t> adopted, std::int32_t state) const {
    OrganizationModel after = *this;
    for (const std::int32_t id : adopted) after.reference_block(id);
    if (state >= 0) after.reference_checkpoint(state);
    hybridmem::PoolUnits units{};
    for (std::uint8_t i = 0; i < pools_.size(); ++i) units[i] = available(i) - after.available(i);
    units[attention()] += demand.blocks * layout_.units_per_block;
    units[recurrent()] += demand.checkpoints * layout_.units_per_checkpoint();
    const std::uint32_t slots = demand.checkpoints * layout_.slots_per_checkpoint;
    const std::uint32_t room = available(recurrent());
    std::uint32_t slabs = after.slab_pages(slots, true);
    if (units[recurrent()] + slabs > room) slabs = after.slab_pages(slots, false);
    if (units[recurrent()] + slabs > room) slabs = after.least_slab_pages(slots);
    units[recurrent()] += slabs;
    return units;
  }

  /// What the next eviction in a pool takes: kind and id, or a slab and its page.
  enum class Kind : std::uint8_t { none, block, checkpoint, slab };
  std::pair<Kind, std::int32_t> next_victim(std::uint8_t pool) const {
    return pools_[pool].order.empty() ? std::pair{Kind::none, -1}
                                      : pools_[pool].order.begin()->second;
  }

 private:
  struct Pool {
    std::uint32_t units = 0;
    std::deque<std::int32_t> free;  ///< the next to be handed out first
    std::map<std::uint64_t, std::pair<Kind, std::int32_t>> order;  ///< oldest first
  };

  std::uint8_t attention() const { return 0; }
  std::uint8_t recurrent() const { return layout_.pools == 2 ? 1 : 0; }
  bool one_queue() const { return options_.free_order == hybridmem::FreeOrder::release_order; }
  std::int32_t slots_per_slab() const { return static_cast<std::int32_t>(layout_.slots_per_slab); }

  bool in_use(const Slab& slab) const {
    return std::any_of(slab.owners.begin(), slab.owners.end(), [&](const auto& slot) {
      return checkpoints_.at(slot.second).references > 0;
    });
  }
  std::uint32_t room(const Slab& slab) const {
    return layout_.slots_per_slab - static_cast<std::uint32_t>(slab.owners.size());
  }

  /// The slabs of a checkpoint, each once, in the order of its last line on each.
  std::vector<std::int32_t> slab_pages_of(const State& checkpoint) const {
    std::vector<std::int32_t> pages;
    if (layout_.slots_per_checkpoint == 0) return pages;
    for (const std::int32_t line : checkpoint.lines) {
      std::erase(pages, line / slots_per_slab());
      pages.push_back(line / slots_per_slab());
    }
    return pages;
  }

  /// The slab with room to use next, -1 for a new page; and the slot if its order decides.
  std::pair<std::int32_t, std::int32_t> choose(bool idle_too) const {
    if (options_.slot_placement == hybridmem::SlotPlacement::fifo) {
      for (const std::int32_t line : free_slots_)
        if (idle_too || in_use(slabs_.at(line / slots_per_slab())))
          return {line / slots_per_slab(), line % slots_per_slab()};
      return {-1, -1};
    }
    for (const bool referenced : {true, false}) {
      if (!referenced && !idle_too) break;
      std::int32_t best = -1;
      for (const auto& [page, slab] : slabs_)  // by page: ties fall to the lowest
        if (in_use(slab) == referenced && room(slab) > 0 &&
            (best < 0 || room(slab) < room(slabs_.at(best))))
          best = page;
      if (best < 0) continue;
      std::int32_t slot = 0;
      while (slabs_.at(best).owners.contains(slot)) ++slot;
      return {best, slot};
    }
    return {-1, -1};
  }

  /// Pages that leave the available ones when so many slots are taken and nothing is evicted: idle
  /// slabs that come into use, and new slabs.
  std::uint32_t slab_pages(std::uint32_t slots, bool idle_too) const {
    if (slots == 0) return 0;
    std::uint32_t free = 0;  // slots to be had without a new slab
    std::uint32_t pages = 0;
    if (options_.slot_placement == hybridmem::SlotPlacement::fifo) {
      std::set<std::int32_t> activated;
      for (const std::int32_t line : free_slots_) {
        const std::int32_t page = line / slots_per_slab();
        const bool used = in_use(slabs_.at(page));
        if (free == slots || (!used && !idle_too)) continue;
        ++free;
        if (!used) activated.insert(page);
      }
      pages = static_cast<std::uint32_t>(activated.size());
    } else {
      std::multiset<std::uint32_t> idle;
      for (const auto& [page, slab] : slabs_) {
        if (in_use(slab))
          free += room(slab);
        else if (idle_too && room(slab) > 0)
          idle.insert(room(slab));
      }
      for (auto one = idle.begin(); one != idle.end() && free < slots; ++one, ++pages) free += *one;
    }
    while (free < slots) {
      free += layout_.slots_per_slab;
      ++pages;
    }
    return pages;
  }

  /// The same if everything that stands in the reclaim order were gone: no allocation can do with
  /// fewer. A state without members stands in no order, only its slab does.
  std::uint32_t least_slab_pages(std::uint32_t slots) const {
    std::uint32_t free = 0;
    for (const auto& [page, slab] : slabs_) {
      if (!in_use(slab)) continue;
      free += room(slab);
      if (layout_.units_per_checkpoint() == 0) continue;
      for (const auto& [slot, owner] : slab.owners)
        if (checkpoints_.at(owner).references == 0) ++free;
    }
    std::uint32_t pages = 0;
    for (; free < slots; ++pages) free += layout_.slots_per_slab;
    return pages;
  }

  /// A slot that an eviction frees on a slab in use is taken before a new slab is begun; those that
  /// it frees on idle slabs are left alone from then on. Whether idle slabs may still be used.
  bool take_slot(Pool& pool, std::int32_t owner, bool idle_too) {
    auto [page, slot] = choose(idle_too);
    if (page < 0 && pool.free.empty()) {
      evict_oldest(pool);
      idle_too = false;
      std::tie(page, slot) = choose(false);
    }
    if (page < 0) {
      page = take_pages(pool, 1).front();
      slot = 0;
      slabs_[page].created = ++clock_;
      for (std::int32_t i = 0; i < slots_per_slab(); ++i)
        free_slots_.push_back(page * slots_per_slab() + i);
    }
    Slab& slab = slabs_.at(page);
    leave_order(pool, slab.place);
    slab.owners[slot] = owner;
    free_slots_.remove(page * slots_per_slab() + slot);
    checkpoints_.at(owner).lines.push_back(page * slots_per_slab() + slot);
    return idle_too;
  }

  void evict_oldest(Pool& pool) {
    const auto [kind, id] = pool.order.begin()->second;
    if (kind == Kind::block) {
      evictions.push_back({hybridmem::StateKind::attention, id, false});
      invalidate_block(id);
    } else if (kind == Kind::checkpoint) {
      evictions.push_back({hybridmem::StateKind::recurrent, id, false});
      invalidate_checkpoint(id);
    } else {
      while (slabs_.contains(id)) {
        const std::int32_t owner = slabs_.at(id).owners.begin()->second;
        evictions.push_back({hybridmem::StateKind::recurrent, owner, true});
        invalidate_checkpoint(owner);
      }
    }
  }

  std::vector<std::int32_t> take_pages(Pool& pool, std::uint32_t count) {
    std::vector<std::int32_t> pages;
    for (std::uint32_t i = 0; i < count; ++i) {
      pages.push_back(pool.free.at(0));  // throws when the count was wrong
      pool.free.pop_front();
    }
    return pages;
  }
  void give_back(Pool& pool, const std::vector<std::int32_t>& pages) {
    pool.free.insert(pool.free.begin(), pages.begin(), pages.end());
  }

  void enter_order(Pool& pool, std::uint64_t& place, std::pair<Kind, std::int32_t> entry) {
    place = ++clock_;
    pool.order[place] = entry;
  }
  void leave_order(Pool& pool, std::uint64_t& place) {
    if (place != 0) pool.order.erase(place);
    place = 0;
  }

  /// The id freed last, or the lowest that never was used.
  std::int32_t new_id(const std::map<std::int32_t, State>& used, std::vector<std::int32_t>& freed) {
    if (freed.empty()) return static_cast<std::int32_t>(used.size());
    const std::int32_t id = freed.back();
    freed.pop_back();
    return id;
  }
  std::uint64_t checkpoint_ids_left() const {
    const std::uint64_t units = pools_[recurrent()].units;
    const std::uint64_t own = layout_.units_per_checkpoint();
    const std::uint64_t ids =
        own > 0 ? units / own : units * layout_.slots_per_slab / layout_.slots_per_checkpoint;
    return ids - checkpoints_.size();
  }

  hybridmem::OrganizationLayout layout_;
  hybridmem::OrganizationOptions options_;
  std::vector<Pool> pools_;
  std::map<std::int32_t, State> blocks_;
  std::map<std::int32_t, State> checkpoints_;
  std::map<std::int32_t, Slab> slabs_;
  std::list<std::int32_t> free_slots_;  ///< lines, in the order in which they became free
  std::vector<std::int32_t> free_blocks_;
  std::vector<std::int32_t> free_checkpoints_;
  std::uint64_t clock_ = 0;
};

}  // namespace hybridmem_test
