// PrefixIndex: from a key to the objects of one kind that were published under it, oldest first.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <utility>
#include <vector>

#include "hybridmem/core/contract.hpp"
#include "hybridmem/prefix/index_finding.hpp"
#include "hybridmem/prefix/key.hpp"
#include "hybridmem/prefix/slot_table.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

namespace detail {

/// Defined by tests only: reaches into an index to corrupt it.
struct PrefixIndexAccess;

/// What the index knows of one object. Keys are kept in 32-bit halves so that nothing is lost to
/// padding.
struct IndexEntry {
  using Words = std::array<std::uint32_t, 4>;

  static constexpr std::int32_t end = -1;
  static constexpr std::int32_t unpublished = -2;

  Words key{};
  Words parent{};
  Epoch epoch = 0;
  std::int32_t newer = end;          // the next object of the same key
  std::int32_t older = unpublished;  // the one before; of the oldest object, the newest

  static constexpr Words split(const Key& key) noexcept {
    return {static_cast<std::uint32_t>(key.low), static_cast<std::uint32_t>(key.low >> 32U),
            static_cast<std::uint32_t>(key.high), static_cast<std::uint32_t>(key.high >> 32U)};
  }
  static constexpr Key joined(const Words& words) noexcept {
    return Key{.high = std::uint64_t{words[3]} << 32U | words[2],
               .low = std::uint64_t{words[1]} << 32U | words[0]};
  }
};
static_assert(sizeof(IndexEntry) == 44);

}  // namespace detail

inline namespace HYBRIDMEM_CHECK_NAMESPACE {

/// Which objects can be found under which key. There is one index for each kind of object, its
/// objects are numbered 0 to capacity - 1, and each is published at most once at a time: capacity
/// objects are all that can be published, so that publishing cannot fail. A key may name several
/// objects; they stand in the order in which they were published, and the loss of one exposes the
/// next. With an object stand its parent key and epoch: a lookup with another parent or epoch
/// passes it over, without being kept from the ones behind it.
///
/// All memory (`metadata_bytes`: 44 bytes an object and 6 to 12 of table, as the power of two
/// falls) comes from the resource at construction. Operations take constant time on average, for
/// keys that a keyed hash made; exceptions to that are stated. Nothing but the sequence of calls
/// enters: no clock, address or random seed. Const members may overlap one another, never a
/// mutator.
///
/// `Id` is a `StrongId`. An id that is absent, beyond the capacity or in the wrong state is a
/// breach of contract; if the handler returns, the call changes nothing and answers "none".
template <class Id>
  requires std::constructible_from<Id, std::int32_t> && requires(Id id) {
    { id.value() } -> std::same_as<std::int32_t>;
  }
class PrefixIndex {
 public:
  using id_type = Id;

  /// The bytes that an index takes from its resource.
  static constexpr std::size_t metadata_bytes(std::size_t capacity) noexcept {
    return capacity * sizeof(Entry) + SlotTable::slots_for(capacity) * sizeof(std::uint32_t);
  }

  /// An empty index for objects 0 to `capacity` - 1; the only calls that allocate are here.
  /// Precondition: `capacity` fits an int32 (otherwise it is 0). Errors: what `memory` throws.
  explicit PrefixIndex(std::size_t capacity,
                       std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : entries_(accepted(capacity), Entry{}, memory), table_(entries_.size(), memory) {
    HYBRIDMEM_CHECK(1, capacity <= SlotTable::max_capacity, "objects are numbered by int32");
  }

  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;
  ~PrefixIndex() = default;

  std::size_t capacity() const noexcept { return entries_.size(); }

  /// The number of published objects.
  std::size_t size() const noexcept { return size_; }

  /// Whether the object is published. Any id may be asked; an absent one is not.
  bool published(Id id) const noexcept {
    return in_range(id) && entry(id.value()).older != Entry::unpublished;
  }

  /// Makes an object discoverable, behind the published ones of the same key, whatever their
  /// parents and epochs. Precondition: `id` is in range and not published.
  void publish(Id id, const Key& key, const Key& parent, Epoch epoch) {
    const bool fits = in_range(id) && !published(id);
    HYBRIDMEM_CHECK(1, fits, "an object below the capacity that is not published");
    if (!fits) return;
    const std::int32_t number = id.value();
    Entry& fresh = entry(number);
    fresh = Entry{Entry::split(key), Entry::split(parent), epoch, Entry::end, number};
    const std::uint64_t hash = detail::mix(key);
    const std::int32_t oldest = table_.find_or_insert(hash, number, has_key(fresh.key), hashes());
    if (oldest != SlotTable::none) {
      fresh.older = std::exchange(entry(oldest).older, number);
      entry(fresh.older).newer = number;
    }
    ++size_;
    verify();
  }

  /// Removes an object; those behind it move up. Precondition: `id` is published.
  void forget(Id id) {
    if (!expect_published(id)) return;
    const std::int32_t number = id.value();
    const Entry gone = entry(number);
    const std::uint64_t hash = detail::mix(Entry::joined(gone.key));
    const bool was_oldest = is_oldest(gone);
    if (was_oldest && gone.newer == Entry::end) {
      table_.erase(hash, number, hashes());
    } else if (was_oldest) {
      table_.replace(hash, number, gone.newer);
      entry(gone.newer).older = gone.older;
    } else {
      entry(gone.older).newer = gone.newer;
      const bool was_newest = gone.newer == Entry::end;
      entry(was_newest ? oldest_of(hash, gone.key) : gone.newer).older = gone.older;
    }
    entry(number).older = Entry::unpublished;
    --size_;
    verify();
  }

  /// Removes all objects. Linear in the capacity.
  void clear() {
    std::fill(entries_.begin(), entries_.end(), Entry{});
    table_.clear();
    size_ = 0;
    verify();
  }

  /// The oldest object of this key, parent and epoch that `accept(id)` allows, absent if there is
  /// none. Asks `accept` about no other object; it must not change the index. Constant on average,
  /// and linear in the objects of the key that are passed over.
  template <class Accept>
  Id find(const Key& key, const Key& parent, Epoch epoch, Accept&& accept) const {
    const auto key_words = Entry::split(key);
    const auto parent_words = Entry::split(parent);
    for (std::int32_t at = oldest_of(detail::mix(key), key_words); at >= 0; at = entry(at).newer) {
      const Entry& candidate = entry(at);
      if (candidate.epoch == epoch && candidate.parent == parent_words && accept(Id{at}))
        return Id{at};
    }
    return Id::absent();
  }
  Id find(const Key& key, const Key& parent, Epoch epoch) const {
    return find(key, parent, epoch, [](Id) { return true; });
  }

  /// Calls `visit(id)` for the objects of a key, oldest first, whatever their parents and epochs.
  /// `visit` must not change the index. Linear in these objects.
  template <class Visit>
  void for_each_with_key(const Key& key, Visit&& visit) const {
    for (std::int32_t at = oldest_of(detail::mix(key), Entry::split(key)); at >= 0;
         at = entry(at).newer)
      visit(Id{at});
  }

  /// What an object was published with. Precondition: `id` is published (otherwise zero).
  Key key_of(Id id) const { return expect_published(id) ? joined(entry(id.value()).key) : Key{}; }
  Key parent_of(Id id) const {
    return expect_published(id) ? joined(entry(id.value()).parent) : Key{};
  }
  Epoch epoch_of(Id id) const { return expect_published(id) ? entry(id.value()).epoch : Epoch{0}; }

  /// The next younger object of the same key, absent after the newest. Precondition: `id` is
  /// published.
  Id next_same_key(Id id) const {
    return expect_published(id) ? Id{entry(id.value()).newer} : Id::absent();
  }

  /// The longest way from a key's home to its slot, in slots; a statistic. Linear in the capacity.
  std::size_t longest_probe() const {
    std::size_t longest = 0;
    for (std::size_t slot = 0; slot < table_.slots(); ++slot) {
      const std::int32_t number = table_.at(slot);
      if (number >= 0) longest = std::max(longest, table_.displacement(hash_of(number), slot));
    }
    return longest;
  }

  /// Checks everything that the index knows against itself, calls `visit(finding)` for each
  /// contradiction and returns their number, 0 for a sound index. Linear in the capacity on
  /// average; never allocates, and ends whatever the state.
  template <class Visit>
  std::size_t audit(Visit&& visit) const {
    std::size_t findings = 0;
    const auto report = [&](IndexFault fault, std::int32_t number, std::int64_t slot) {
      ++findings;
      visit(IndexFinding{fault, number, slot});
    };
    std::size_t taken = 0;
    std::size_t listed = 0;
    for (std::size_t slot = 0; slot < table_.slots(); ++slot) {
      if (table_.at(slot) == SlotTable::none) continue;
      ++taken;
      audit_slot(slot, listed, report);
    }
    if (taken == table_.slots()) {  // no probe would end
      report(IndexFault::count, -1, -1);
      return findings;
    }
    std::size_t published_objects = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].older == Entry::unpublished) continue;
      ++published_objects;
      audit_object(static_cast<std::int32_t>(i), report);
    }
    if (published_objects != size_ || listed != size_) report(IndexFault::count, -1, -1);
    return findings;
  }
  std::size_t audit() const {
    return audit([](const IndexFinding&) {});
  }

 private:
  using Entry = detail::IndexEntry;
  friend struct detail::PrefixIndexAccess;

  static constexpr Key joined(const Entry::Words& words) noexcept { return Entry::joined(words); }
  static constexpr std::size_t accepted(std::size_t capacity) noexcept {
    return capacity <= SlotTable::max_capacity ? capacity : 0;
  }

  Entry& entry(std::int32_t number) { return entries_[static_cast<std::size_t>(number)]; }
  const Entry& entry(std::int32_t number) const {
    return entries_[static_cast<std::size_t>(number)];
  }
  bool number_in_range(std::int32_t number) const noexcept {
    return number >= 0 && static_cast<std::size_t>(number) < entries_.size();
  }
  bool in_range(Id id) const noexcept { return number_in_range(id.value()); }

  bool expect_published(Id id) const {
    const bool found = published(id);
    HYBRIDMEM_CHECK(1, found, "a published object");
    return found;
  }

  std::uint64_t hash_of(std::int32_t number) const {
    return detail::mix(joined(entry(number).key));
  }

  // What the table asks for.
  auto has_key(const Entry::Words& key) const {
    return [this, &key](std::int32_t number) { return entry(number).key == key; };
  }
  auto hashes() const {
    return [this](std::int32_t number) { return hash_of(number); };
  }

  std::int32_t oldest_of(std::uint64_t hash, const Entry::Words& key) const {
    return table_.find(hash, has_key(key));
  }

  // Only the newest object has nobody behind it, and only the oldest is linked to the newest so.
  bool is_oldest(const Entry& object) const { return entry(object.older).newer == Entry::end; }

  void verify() const { HYBRIDMEM_CHECK(3, audit() == 0, "the index agrees with itself"); }

  // Robin Hood order: an entry is at its home, or right behind one that is at most one slot nearer.
  bool in_order(std::size_t slot) const {
    const std::size_t displacement = table_.displacement(hash_of(table_.at(slot)), slot);
    if (displacement == 0) return true;
    const std::size_t before = slot == 0 ? table_.slots() - 1 : slot - 1;
    const std::int32_t neighbour = table_.at(before);
    return number_in_range(neighbour) &&
           table_.displacement(hash_of(neighbour), before) + 1 >= displacement;
  }

  template <class Report>
  void audit_slot(std::size_t slot, std::size_t& listed, const Report& report) const {
    const std::int32_t number = table_.at(slot);
    const auto place = static_cast<std::int64_t>(slot);
    if (!number_in_range(number)) return report(IndexFault::slot_number, number, place);
    const Entry& oldest = entry(number);
    if (oldest.older == Entry::unpublished) return report(IndexFault::slot_object, number, place);
    if (!number_in_range(oldest.older)) return;  // audit_object reports it
    if (!is_oldest(oldest)) return report(IndexFault::slot_newer, number, place);
    if (!in_order(slot)) report(IndexFault::slot_place, number, place);
    std::int32_t newest = number;
    std::size_t members = 1;
    while (number_in_range(entry(newest).newer) && members < entries_.size()) {
      newest = entry(newest).newer;
      ++members;
    }
    if (newest != oldest.older) report(IndexFault::broken_link, number, place);
    listed += members;
  }

  template <class Report>
  void audit_object(std::int32_t number, const Report& report) const {
    const Entry& object = entry(number);
    const auto is_published = [this](std::int32_t at) {
      return number_in_range(at) && entry(at).older != Entry::unpublished;
    };
    if (!is_published(object.older)) return report(IndexFault::broken_link, number, -1);
    if (is_oldest(object)) {
      const auto is_key = [&](std::int32_t at) {
        return number_in_range(at) && entry(at).key == object.key;
      };
      if (table_.find(hash_of(number), is_key) != number)
        report(IndexFault::hidden_object, number, -1);
    } else if (entry(object.older).newer != number) {
      report(IndexFault::broken_link, number, -1);
    } else if (entry(object.older).key != object.key) {
      report(IndexFault::mixed_keys, number, -1);
    }
    if (object.newer == Entry::end) return;
    if (!is_published(object.newer) || entry(object.newer).older != number)
      report(IndexFault::broken_link, number, -1);
  }

  std::pmr::vector<Entry> entries_;
  SlotTable table_;
  std::size_t size_ = 0;
};

}  // namespace HYBRIDMEM_CHECK_NAMESPACE
}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
