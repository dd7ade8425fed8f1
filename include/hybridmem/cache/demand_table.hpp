// DemandTable: how many distinct requesters have asked for a key, up to a limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "hybridmem/prefix/key.hpp"
#include "hybridmem/prefix/slot_table.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// Distinct requesters per key, at most `limit` remembered for each. Holds `capacity` keys; a new
/// key beyond that takes the place of the one first noted longest ago. Constant time on average and
/// linear in the limit; nothing allocates after construction.
class DemandTable {
 public:
  DemandTable(std::uint32_t capacity, std::uint32_t limit, std::pmr::memory_resource* memory)
      : limit_(limit),
        keys_(capacity, Key{}, memory),
        counts_(capacity, 0, memory),
        requesters_(std::size_t{capacity} * limit, 0, memory),
        table_(capacity, memory) {}

  /// Requesters noted for `key`, at most the limit.
  std::uint32_t count(const Key& key) const {
    const std::int32_t entry = find(key);
    return entry < 0 ? 0 : counts_[static_cast<std::size_t>(entry)];
  }

  /// Notes that `requester` asked for `key`.
  void note(const Key& key, std::uint64_t requester) {
    if (keys_.empty() || limit_ == 0) return;
    std::int32_t entry = find(key);
    if (entry < 0) {
      entry = static_cast<std::int32_t>(next_);
      if (counts_[next_] > 0)
        table_.erase(detail::mix(keys_[next_]), entry,
                     [this](std::int32_t other) { return hash_of(other); });
      keys_[next_] = key;
      counts_[next_] = 0;
      table_.find_or_insert(
          detail::mix(key), entry, [](std::int32_t) { return false; },
          [this](std::int32_t other) { return hash_of(other); });
      next_ = (next_ + 1) % keys_.size();
    }
    const auto place = static_cast<std::size_t>(entry);
    const auto first = requesters_.begin() + static_cast<std::ptrdiff_t>(place * limit_);
    const auto last = first + counts_[place];
    if (counts_[place] == limit_ || std::find(first, last, requester) != last) return;
    *last = requester;
    ++counts_[place];
  }

  void clear() {
    table_.clear();
    std::fill(counts_.begin(), counts_.end(), 0U);
    next_ = 0;
  }

 private:
  std::uint64_t hash_of(std::int32_t entry) const {
    return detail::mix(keys_[static_cast<std::size_t>(entry)]);
  }

  std::int32_t find(const Key& key) const {
    return table_.find(detail::mix(key), [&](std::int32_t entry) {
      return keys_[static_cast<std::size_t>(entry)] == key;
    });
  }

  std::uint32_t limit_;
  std::pmr::vector<Key> keys_;
  std::pmr::vector<std::uint32_t> counts_;
  std::pmr::vector<std::uint64_t> requesters_;
  SlotTable table_;
  std::size_t next_ = 0;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
