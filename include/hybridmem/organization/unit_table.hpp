// UnitTable: the unit lists of equal objects, in one dense array, and the ids that are free.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "hybridmem/core/contract.hpp"
#include "hybridmem/core/ids.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// `capacity` objects of `stride` units each. Ids are handed out lowest first when fresh, then last
/// freed first. Constant time; nothing allocates after construction.
template <class Id>
class UnitTable {
 public:
  UnitTable(std::uint32_t capacity, std::uint32_t stride, std::pmr::memory_resource* memory)
      : stride_(stride),
        units_(std::size_t{capacity} * stride, -1, memory),
        free_(capacity, 0, memory) {
    reset();
  }

  void reset() {
    for (std::size_t i = 0; i < free_.size(); ++i)
      free_[i] = static_cast<std::int32_t>(free_.size() - 1 - i);
    free_count_ = free_.size();
  }

  std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(free_.size()); }
  std::uint32_t stride() const noexcept { return stride_; }
  std::uint32_t used() const noexcept {
    return static_cast<std::uint32_t>(free_.size() - free_count_);
  }

  /// A free id, absent when there is none.
  Id acquire() { return free_count_ == 0 ? Id::absent() : Id{free_[--free_count_]}; }
  /// Frees an id that `acquire` returned.
  void release(Id id) {
    HYBRIDMEM_CHECK(1, free_count_ < free_.size(), "an id is freed once");
    free_[free_count_++] = id.value();
  }

  std::span<std::int32_t> units(Id id) {
    HYBRIDMEM_CHECK(1, id.present() && id.index() < free_.size(), "the id is in range");
    return {units_.data() + id.index() * stride_, stride_};
  }
  std::span<const std::int32_t> units(Id id) const {
    HYBRIDMEM_CHECK(1, id.present() && id.index() < free_.size(), "the id is in range");
    return {units_.data() + id.index() * stride_, stride_};
  }

 private:
  std::uint32_t stride_;
  std::pmr::vector<std::int32_t> units_;
  std::pmr::vector<std::int32_t> free_;  ///< a stack
  std::size_t free_count_ = 0;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
