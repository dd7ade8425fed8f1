// SlabPool: convolution slots in shared slabs, each slab one page of a PagePool.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "hybridmem/core/arithmetic.hpp"
#include "hybridmem/pool/page_pool.hpp"
#include "hybridmem/pool/slab_options.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

inline namespace HYBRIDMEM_CHECK_NAMESPACE {

/// Slots of equal size in slabs of one page. The line of a slot is `slots_per_slab * page + slot`
/// (paper, appendix A.3). A slab is referenced while any of its slots is, idle while none is but
/// some are taken, and gives its page back when the last taken slot is freed (rule P3). The object
/// of slab i in the page pool is `first_object + i`; its references are its referenced slots.
///
/// The page pool is passed to each call that may change it and must be the same throughout. Nothing
/// allocates after construction. Costs: one slot touched, a logarithm in the slabs, and a word for
/// each 64 slots of the slab.
class SlabPool {
 public:
  SlabPool(const SlabPoolOptions& options, std::uint32_t pages, std::pmr::memory_resource* memory)
      : options_(options),
        words_per_slab_(divide_up(options.slots_per_slab, 64U)),
        slabs_(options.max_slabs, Slab{}, memory),
        free_slabs_(options.max_slabs, 0, memory),
        slab_of_page_(pages, -1, memory),
        taken_(std::size_t{options.max_slabs} * words_per_slab_, 0, memory),
        owners_(std::size_t{options.max_slabs} * options.slots_per_slab, -1, memory),
        roomy_{IndexHeap(by_room() ? options.max_slabs : 0, memory),
               IndexHeap(by_room() ? options.max_slabs : 0, memory)},
        fifo_links_(by_room() ? 0 : owners_.size(), ListLink{}, memory),
        histogram_{std::pmr::vector<std::uint32_t>(options.slots_per_slab + 1, 0, memory),
                   std::pmr::vector<std::uint32_t>(options.slots_per_slab + 1, 0, memory)} {
    HYBRIDMEM_CHECK(1, options.slots_per_slab > 0, "a slab has at least one slot");
    reset();
  }

  /// Frees every slot without touching the page pool, which its owner resets. Linear in the
  /// capacity.
  void reset() {
    for (std::size_t i = 0; i < free_slabs_.size(); ++i)
      free_slabs_[i] = static_cast<std::int32_t>(free_slabs_.size() - 1 - i);
    free_slab_count_ = options_.max_slabs;
    std::fill(slabs_.begin(), slabs_.end(), Slab{});
    std::fill(slab_of_page_.begin(), slab_of_page_.end(), -1);
    std::fill(taken_.begin(), taken_.end(), std::uint64_t{0});
    std::fill(owners_.begin(), owners_.end(), -1);
    for (IndexHeap& side : roomy_)
      while (!side.empty()) side.remove(side.top());
    while (!fifo_.empty()) fifo_.pop_front(fifo_links_);
    for (auto& counts : histogram_) std::fill(counts.begin(), counts.end(), 0U);
    referenced_room_ = 0;
    referenced_cached_ = 0;
    taken_slots_ = 0;
  }

  std::uint32_t slots_per_slab() const noexcept { return options_.slots_per_slab; }
  std::uint32_t slabs() const noexcept { return options_.max_slabs - free_slab_count_; }
  std::uint32_t taken_slots() const noexcept { return taken_slots_; }
  SlotPlacement placement() const noexcept { return options_.placement; }
  SlabOrder order() const noexcept { return options_.order; }

  bool is_slab(ObjectId object) const noexcept {
    return object.index() >= options_.first_object &&
           object.index() - options_.first_object < options_.max_slabs;
  }

  /// Referenced and idle slabs with exactly `taken` slots taken.
  std::uint32_t referenced_slabs(std::uint32_t taken) const {
    return histogram_[referenced][taken];
  }
  std::uint32_t idle_slabs(std::uint32_t taken) const { return histogram_[idle][taken]; }

  /// The owner that `take` was given for `line`, -1 when the slot is free or the page no slab.
  std::int32_t owner(LineId line) const noexcept {
    const std::int32_t slab = slab_of_page_[line.index() / options_.slots_per_slab];
    return slab < 0 ? -1 : owners_[cell(slab, slot_of(line))];
  }

  /// What referencing the `adopted` lines (of unreferenced slots) and then taking `slots` more
  /// costs at most in available pages; it costs less only where an eviction on the way frees a slot
  /// of a referenced slab. With `emptied`, what it costs at least. Quadratic in the adopted lines,
  /// linear in the slots of a slab; no side effect.
  SlotDemand demand(const PagePool& pool, std::span<const std::int32_t> adopted,
                    std::uint32_t slots, SlabUse use) const {
    SlotDemand demand;
    std::uint32_t room = referenced_room_;
    for (std::size_t i = 0; i < adopted.size(); ++i) {
      if (!first_of_idle_slab(pool, adopted, i)) continue;
      ++demand.activated;
      room += use == SlabUse::emptied ? options_.slots_per_slab : room_of(slab_of(adopted[i]));
    }
    // Adopted slots will not be emptied, whether their slabs were idle or not.
    if (use == SlabUse::emptied)
      room += referenced_cached_ - static_cast<std::uint32_t>(adopted.size());
    std::uint32_t missing = slots > room ? slots - room : 0;
    if (use != SlabUse::as_placed) {
      demand.pages = divide_up(missing, options_.slots_per_slab);
      return demand;
    }
    if (by_room()) {
      for (std::uint32_t taken = options_.slots_per_slab; missing > 0 && taken-- > 1;) {
        std::uint32_t count = histogram_[idle][taken];
        for (std::size_t i = 0; count > 0 && i < adopted.size(); ++i)
          if (first_of_idle_slab(pool, adopted, i) && at(slab_of(adopted[i])).taken == taken)
            --count;
        const std::uint32_t each = options_.slots_per_slab - taken;
        const std::uint32_t used = std::min(count, divide_up(missing, each));
        demand.pages += used;
        missing -= std::min(missing, used * each);
      }
      demand.pages += divide_up(missing, options_.slots_per_slab);
      return demand;
    }
    std::uint32_t found = 0;
    for (LineId at = fifo_.front(); at.present() && found < slots;
         at = fifo_.next(fifo_links_, at)) {
      ++found;
      const auto slab = static_cast<std::int32_t>(at.index() / options_.slots_per_slab);
      if (pool.cached(object(slab)) && !counted_before(adopted, at, slab)) ++demand.pages;
    }
    demand.pages += divide_up(slots - found, options_.slots_per_slab);
    return demand;
  }

  /// Takes a slot for `owner` and references its slab. A slot of a referenced slab that an eviction
  /// frees goes before the page that it frees. Absent, and nothing changed, when no slab has room
  /// and the pool cannot give a page. `evict` as for `PagePool::take`.
  template <class Evict>
  LineId take(PagePool& pool, std::int32_t owner, SlabUse use, Evict&& evict) {
    Place place = choose(pool, use);
    if (place.slab < 0 && pool.free_pages() == 0) {
      const ObjectId victim = pool.next_victim();
      if (!victim.present() || (free_slab_count_ == 0 && !is_slab(victim))) return LineId::absent();
      evict(victim);
      place = choose(pool, SlabUse::compact);
    }
    std::int32_t slab = place.slab;
    if (slab < 0) {
      if (free_slab_count_ == 0) return LineId::absent();
      slab = free_slabs_[--free_slab_count_];
      std::int32_t page = -1;
      if (!pool.take(object(slab), {&page, 1}, evict)) {
        free_slabs_[free_slab_count_++] = slab;
        return LineId::absent();
      }
      open(slab, page, pool.next_stamp());
    } else {
      leave(pool, slab, pool.cached(object(slab)) ? idle : referenced);
      pool.reference(object(slab));
    }
    const std::uint32_t slot = occupy(slab, place.slot, owner);
    enter(pool, slab, referenced);
    return LineId{static_cast<std::int32_t>(
        static_cast<std::uint32_t>(at(slab).page) * options_.slots_per_slab + slot)};
  }

  /// References the slab of a taken slot that is not referenced.
  void reference(PagePool& pool, LineId line) {
    const std::int32_t slab = slab_of(line.value());
    leave(pool, slab, pool.cached(object(slab)) ? idle : referenced);
    pool.reference(object(slab));
    enter(pool, slab, referenced);
  }

  /// Drops the reference of a taken slot; with the last one the slab becomes idle and enters the
  /// reclaim order where `SlabOrder` says.
  void release(PagePool& pool, LineId line) {
    const std::int32_t slab = slab_of(line.value());
    leave(pool, slab, referenced);
    const bool fixed = options_.order == SlabOrder::creation;
    const Released outcome = pool.release(object(slab), true, fixed ? at(slab).stamp : 0);
    enter(pool, slab, outcome == Released::still_referenced ? referenced : idle);
  }

  /// Frees a taken slot that is not referenced; an emptied slab gives its page back at once.
  void free(PagePool& pool, LineId line) {
    const std::int32_t slab = slab_of(line.value());
    const std::size_t where = cell(slab, slot_of(line));
    HYBRIDMEM_CHECK(1, owners_[where] >= 0, "only a taken slot can be freed");
    const int side = pool.cached(object(slab)) ? idle : referenced;
    leave(pool, slab, side);
    owners_[where] = -1;
    word(slab, slot_of(line)) &= ~bit(slot_of(line));
    --at(slab).taken;
    --taken_slots_;
    if (!by_room()) fifo_.push_back(fifo_links_, fifo_id(slab, slot_of(line)));
    if (at(slab).taken > 0)
      enter(pool, slab, side);
    else
      close(pool, slab);
  }

  /// The owner of the first taken slot of a slab, -1 when none is taken.
  std::int32_t first_owner(ObjectId slab_object) const {
    const auto slab = static_cast<std::int32_t>(slab_object.index() - options_.first_object);
    for (std::uint32_t first = 0; first < options_.slots_per_slab; first += 64) {
      const std::uint64_t bits =
          taken_[static_cast<std::size_t>(slab) * words_per_slab_ + first / 64];
      if (bits != 0)
        return owners_[cell(slab, first + static_cast<std::uint32_t>(std::countr_zero(bits)))];
    }
    return -1;
  }

  /// The page of a slab object; -1 when the slab is not in use.
  std::int32_t page_of(ObjectId slab_object) const {
    return slabs_[slab_object.index() - options_.first_object].page;
  }
  std::uint32_t taken_in(ObjectId slab_object) const {
    return slabs_[slab_object.index() - options_.first_object].taken;
  }

 private:
  static constexpr int referenced = 0;
  static constexpr int idle = 1;

  struct Slab {
    std::int32_t page = -1;
    std::uint32_t taken = 0;
    std::uint64_t stamp = 0;  ///< of its creation
  };

  bool by_room() const noexcept { return options_.placement == SlotPlacement::fullest; }
  Slab& at(std::int32_t slab) { return slabs_[static_cast<std::size_t>(slab)]; }
  const Slab& at(std::int32_t slab) const { return slabs_[static_cast<std::size_t>(slab)]; }
  ObjectId object(std::int32_t slab) const noexcept {
    return ObjectId{slab + static_cast<std::int32_t>(options_.first_object)};
  }
  std::uint32_t room_of(std::int32_t slab) const {
    return options_.slots_per_slab - at(slab).taken;
  }
  std::uint32_t slot_of(LineId line) const noexcept {
    return static_cast<std::uint32_t>(line.index() % options_.slots_per_slab);
  }
  std::int32_t slab_of(std::int32_t line) const {
    const std::int32_t slab =
        slab_of_page_[static_cast<std::size_t>(line) / options_.slots_per_slab];
    HYBRIDMEM_CHECK(1, slab >= 0, "the line lies on a slab");
    return slab;
  }
  std::size_t cell(std::int32_t slab, std::uint32_t slot) const noexcept {
    return static_cast<std::size_t>(slab) * options_.slots_per_slab + slot;
  }
  LineId fifo_id(std::int32_t slab, std::uint32_t slot) const noexcept {
    return LineId{static_cast<std::int32_t>(cell(slab, slot))};
  }
  static constexpr std::uint64_t bit(std::uint32_t slot) noexcept {
    return std::uint64_t{1} << (slot % 64);
  }
  std::uint64_t& word(std::int32_t slab, std::uint32_t slot) {
    return taken_[static_cast<std::size_t>(slab) * words_per_slab_ + slot / 64];
  }

  /// Whether adopted line i is the first of its slab among them and the slab is idle.
  bool first_of_idle_slab(const PagePool& pool, std::span<const std::int32_t> adopted,
                          std::size_t i) const {
    const std::int32_t slab = slab_of(adopted[i]);
    for (std::size_t j = 0; j < i; ++j)
      if (slab_of(adopted[j]) == slab) return false;
    return pool.cached(object(slab));
  }

  /// Whether `slab` is activated by an adopted line or by a free slot before `end` in fifo order.
  bool counted_before(std::span<const std::int32_t> adopted, LineId end, std::int32_t slab) const {
    for (const std::int32_t line : adopted)
      if (slab_of(line) == slab) return true;
    for (LineId at = fifo_.front(); at != end; at = fifo_.next(fifo_links_, at))
      if (static_cast<std::int32_t>(at.index() / options_.slots_per_slab) == slab) return true;
    return false;
  }

  /// Where a slot may lie: the slab, -1 for a new page, and the slot where the placement decides
  /// it.
  struct Place {
    std::int32_t slab = -1;
    std::int32_t slot = -1;
  };

  /// Constant time, but for `compact` under `fifo`, which is linear in the free slots of idle
  /// slabs.
  Place choose(const PagePool& pool, SlabUse use) const {
    if (by_room()) {
      if (!roomy_[referenced].empty()) return {static_cast<std::int32_t>(roomy_[referenced].top())};
      if (use == SlabUse::as_placed && !roomy_[idle].empty())
        return {static_cast<std::int32_t>(roomy_[idle].top())};
      return {};
    }
    for (LineId at = fifo_.front(); at.present(); at = fifo_.next(fifo_links_, at)) {
      const auto slab = static_cast<std::int32_t>(at.index() / options_.slots_per_slab);
      if (use == SlabUse::as_placed || !pool.cached(object(slab)))
        return {slab, static_cast<std::int32_t>(at.index() % options_.slots_per_slab)};
    }
    return {};
  }

  void open(std::int32_t slab, std::int32_t page, std::uint64_t stamp) {
    at(slab) = Slab{page, 0, stamp};
    slab_of_page_[static_cast<std::size_t>(page)] = slab;
    if (by_room()) return;
    for (std::uint32_t slot = 0; slot < options_.slots_per_slab; ++slot)
      fifo_.push_back(fifo_links_, fifo_id(slab, slot));
  }

  void close(PagePool& pool, std::int32_t slab) {
    const std::int32_t page = at(slab).page;
    if (!by_room())
      for (std::uint32_t slot = 0; slot < options_.slots_per_slab; ++slot)
        fifo_.remove(fifo_links_, fifo_id(slab, slot));
    at(slab) = Slab{};
    slab_of_page_[static_cast<std::size_t>(page)] = -1;
    free_slabs_[free_slab_count_++] = slab;
    pool.give_back(object(slab), {&page, 1});
  }

  /// Takes the slot asked for, or the lowest free one (the first of a new slab's).
  std::uint32_t occupy(std::int32_t slab, std::int32_t asked, std::int32_t owner) {
    std::uint32_t slot = asked < 0 ? 0 : static_cast<std::uint32_t>(asked);
    if (asked < 0) {
      while (word(slab, slot) == ~std::uint64_t{0}) slot += 64;
      slot += static_cast<std::uint32_t>(std::countr_one(word(slab, slot)));
    }
    if (!by_room()) fifo_.remove(fifo_links_, fifo_id(slab, slot));
    word(slab, slot) |= bit(slot);
    owners_[cell(slab, slot)] = owner;
    ++at(slab).taken;
    ++taken_slots_;
    return slot;
  }

  /// Takes a slab with taken slots out of its side's counts and order, and puts it in.
  void leave(const PagePool& pool, std::int32_t slab, int side) {
    --histogram_[static_cast<std::size_t>(side)][at(slab).taken];
    if (side == referenced) {
      referenced_room_ -= room_of(slab);
      referenced_cached_ -= at(slab).taken - pool.references(object(slab));
    }
    if (by_room() && room_of(slab) > 0)
      roomy_[static_cast<std::size_t>(side)].remove(static_cast<std::size_t>(slab));
  }
  void enter(const PagePool& pool, std::int32_t slab, int side) {
    ++histogram_[static_cast<std::size_t>(side)][at(slab).taken];
    if (side == referenced) {
      referenced_room_ += room_of(slab);
      referenced_cached_ += at(slab).taken - pool.references(object(slab));
    }
    if (by_room() && room_of(slab) > 0)
      roomy_[static_cast<std::size_t>(side)].put(
          static_cast<std::size_t>(slab),
          (std::uint64_t{room_of(slab)} << 32U) | static_cast<std::uint32_t>(at(slab).page));
  }

  SlabPoolOptions options_;
  std::uint32_t words_per_slab_;
  std::pmr::vector<Slab> slabs_;
  std::pmr::vector<std::int32_t> free_slabs_;  ///< a stack of unused slab indices
  std::pmr::vector<std::int32_t> slab_of_page_;
  std::pmr::vector<std::uint64_t> taken_;  ///< a bit for each slot
  std::pmr::vector<std::int32_t> owners_;
  std::array<IndexHeap, 2> roomy_;  ///< slabs with room, least room first, then lowest page
  std::pmr::vector<ListLink> fifo_links_;
  IndexList<LineId> fifo_;  ///< free slots in the order in which they became free
  std::array<std::pmr::vector<std::uint32_t>, 2> histogram_;
  std::uint32_t free_slab_count_ = 0;
  std::uint32_t referenced_room_ = 0;    ///< free slots of referenced slabs
  std::uint32_t referenced_cached_ = 0;  ///< taken but unreferenced slots of referenced slabs
  std::uint32_t taken_slots_ = 0;
};

}  // namespace HYBRIDMEM_CHECK_NAMESPACE
}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
