// SlotTable: open addressing from the hash of a key to the number of an entry that its user keeps.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <utility>
#include <vector>

#include "hybridmem/core/config.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// A table of entry numbers (0 to capacity - 1), sized once: a power of two of slots, of which at
/// most two thirds are taken. Linear probing in Robin Hood order: entries stand in the order of
/// their homes, a removal moves the ones behind back, and no slot is ever a tombstone, so that
/// probes depend on what the table holds and not on what it held.
///
/// A slot is four bytes. The low bits that the capacity needs are the number; the rest is a tag of
/// hash bits, of which the highest (six where there is room: up to 2^26 entries) are the low bits
/// of the home. They tell how far from its home an entry is as long as none is farther than they
/// can count, and the others make it unlikely that probing reads the wrong entry. Once an entry was
/// farther (hashes that are not spread), hashes are asked for instead: slower, never wrong.
///
/// The keys, their hashes and their equality are the user's: callables. Operations cost a probe,
/// constant on average for hashes that are spread. Never allocates after construction.
class SlotTable {
 public:
  static constexpr std::int32_t none = -1;

  /// The greatest capacity: entry numbers are int32.
  static constexpr std::size_t max_capacity = std::numeric_limits<std::int32_t>::max();

  /// Slots for so many entries: the least power of two above 3/2 of them.
  static constexpr std::size_t slots_for(std::size_t capacity) noexcept {
    return std::bit_ceil(capacity + capacity / 2 + 1);
  }

  /// Precondition: `capacity <= max_capacity`. Allocates once; linear.
  SlotTable(std::size_t capacity, std::pmr::memory_resource* memory)
      : slots_(slots_for(capacity), empty_slot, memory),
        number_bits_(static_cast<unsigned>(std::bit_width(capacity))),
        slot_bits_(static_cast<unsigned>(std::bit_width(slots_.size() - 1))),
        home_bits_(std::min({6U, 32U - number_bits_, slot_bits_})) {}

  SlotTable(const SlotTable&) = delete;
  SlotTable& operator=(const SlotTable&) = delete;

  /// The entry with this hash for which `is_key(number)` holds, or `none`.
  template <class IsKey>
  std::int32_t find(std::uint64_t hash, const IsKey& is_key) const {
    return probe(hash, is_key).number;
  }

  /// The entry with this hash for which `is_key(number)` holds; if there is none, adds `number` and
  /// returns `none`. `hash_of(number)` gives the hash of any entry. Precondition: `number` is not
  /// there.
  template <class IsKey, class HashOf>
  std::int32_t find_or_insert(std::uint64_t hash, std::int32_t number, const IsKey& is_key,
                              const HashOf& hash_of) {
    const Probe end = probe(hash, is_key);
    if (end.number != none) return end.number;
    // Where probing ends without knowing the order, this entry may belong farther ahead.
    std::size_t at = end.at;
    if (far_) at = place_for(hash, hash_of);
    std::uint32_t carried = packed(hash, number);
    bool too_far = displacement(hash, at) > farthest_counted();
    for (; slots_[at] != empty_slot; at = after(at)) {
      too_far |= counted_displacement(at) == farthest_counted();
      std::swap(slots_[at], carried);
    }
    slots_[at] = carried;
    far_ = far_ || too_far;
    return none;
  }

  /// Puts one entry in the place of another with the same hash. Precondition: `number` is there.
  void replace(std::uint64_t hash, std::int32_t number, std::int32_t by) {
    slots_[place_of(hash, number)] = packed(hash, by);
  }

  /// Removes an entry; `hash_of` as above. Precondition: it is there.
  template <class HashOf>
  void erase(std::uint64_t hash, std::int32_t number, const HashOf& hash_of) {
    std::size_t hole = place_of(hash, number);
    for (std::size_t at = after(hole);
         slots_[at] != empty_slot && displacement_at(at, hash_of) != 0; at = after(at)) {
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = empty_slot;
  }

  /// Removes all entries. Linear in the slots.
  void clear() {
    std::fill(slots_.begin(), slots_.end(), empty_slot);
    far_ = false;
  }

  // For audits and statistics.

  std::size_t slots() const noexcept { return slots_.size(); }

  /// The entry in a slot, or `none`. Constant time.
  std::int32_t at(std::size_t slot) const {
    return slots_[slot] == empty_slot ? none : number_in(slots_[slot]);
  }

  /// How many slots after its home an entry of this hash lies in `slot`. Constant time.
  std::size_t displacement(std::uint64_t hash, std::size_t slot) const {
    return (slot - home(hash)) & last_slot();
  }

 private:
  // All ones: its number would be above every capacity of as many bits.
  static constexpr std::uint32_t empty_slot = 0xffffffffU;

  std::uint32_t number_mask() const noexcept {
    return static_cast<std::uint32_t>((std::uint64_t{1} << number_bits_) - 1);
  }
  std::int32_t number_in(std::uint32_t slot) const noexcept {
    return static_cast<std::int32_t>(slot & number_mask());
  }
  // The lowest bits of the home and the ones that follow them in the hash, as many as there is room
  // for above the number.
  std::uint32_t tag_of(std::uint64_t hash) const noexcept {
    const unsigned others = 32U - number_bits_ - home_bits_;
    return static_cast<std::uint32_t>(hash >> (64U - slot_bits_ - others)) << number_bits_;
  }
  std::uint32_t packed(std::uint64_t hash, std::int32_t number) const noexcept {
    return tag_of(hash) | static_cast<std::uint32_t>(number);
  }

  std::size_t last_slot() const noexcept { return slots_.size() - 1; }
  std::size_t after(std::size_t at) const noexcept { return (at + 1) & last_slot(); }
  // The highest bits of the hash. Shifted in two steps: a single slot drops all 64.
  std::size_t home(std::uint64_t hash) const noexcept {
    return static_cast<std::size_t>(hash >> 32U >> (32U - slot_bits_));
  }

  std::size_t farthest_counted() const noexcept { return (std::size_t{1} << home_bits_) - 1; }
  // What the tag in a slot says of the way from its home. Precondition: not `far_`.
  std::size_t counted_displacement(std::size_t at) const {
    const auto home_low = static_cast<std::size_t>(std::uint64_t{slots_[at]} >> (32U - home_bits_));
    return (at - home_low) & farthest_counted();
  }
  template <class HashOf>
  std::size_t displacement_at(std::size_t at, const HashOf& hash_of) const {
    if (!far_) [[likely]]
      return counted_displacement(at);
    return displacement(hash_of(number_in(slots_[at])), at);
  }

  struct Probe {
    std::int32_t number;  // the entry that was found, or none
    std::size_t at;       // where the probe ended: unless `far_`, where an entry would be put
  };

  template <class IsKey>
  Probe probe(std::uint64_t hash, const IsKey& is_key) const {
    const std::uint32_t tag = tag_of(hash);
    std::size_t at = home(hash);
    for (std::size_t distance = 0;; ++distance, at = after(at)) {
      const std::uint32_t slot = slots_[at];
      if (slot == empty_slot) return {none, at};
      if ((slot & ~number_mask()) == tag && is_key(number_in(slot))) return {number_in(slot), at};
      // From here on there are only entries of later homes.
      if (!far_ && counted_displacement(at) < distance) return {none, at};
    }
  }

  // Where an entry of this hash belongs: behind the ones of its home and of earlier ones.
  template <class HashOf>
  std::size_t place_for(std::uint64_t hash, const HashOf& hash_of) const {
    std::size_t at = home(hash);
    for (std::size_t distance = 0;
         slots_[at] != empty_slot && displacement_at(at, hash_of) >= distance; ++distance)
      at = after(at);
    return at;
  }

  std::size_t place_of(std::uint64_t hash, std::int32_t number) const {
    const std::uint32_t slot = packed(hash, number);
    std::size_t at = home(hash);
    while (slots_[at] != slot) at = after(at);
    return at;
  }

  std::pmr::vector<std::uint32_t> slots_;
  unsigned number_bits_;
  unsigned slot_bits_;
  unsigned home_bits_;
  bool far_ = false;  // an entry was farther from its home than its tag can tell
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
