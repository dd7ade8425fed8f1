// StrongId: an index that cannot be mistaken for another kind of index. Explicit in, explicit out.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

#include "hybridmem/core/config.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// An index into one kind of table, told apart by `Tag`. The value is a bare int32 because that is
/// what a device table holds: zero is a real place and any negative value means absent. A
/// default-constructed id is absent. All operations are constant time.
template <class Tag>
class StrongId {
 public:
  using value_type = std::int32_t;

  constexpr StrongId() noexcept = default;
  HYBRIDMEM_HOST_DEVICE constexpr explicit StrongId(value_type value) noexcept : value_(value) {}

  /// The id that stands for absence; as a value, -1.
  HYBRIDMEM_HOST_DEVICE static constexpr StrongId absent() noexcept { return StrongId{-1}; }

  HYBRIDMEM_HOST_DEVICE constexpr value_type value() const noexcept { return value_; }
  HYBRIDMEM_HOST_DEVICE constexpr bool present() const noexcept { return value_ >= 0; }

  /// The value as an array index. Precondition: `present()`.
  HYBRIDMEM_HOST_DEVICE constexpr std::size_t index() const noexcept {
    return static_cast<std::size_t>(value_);
  }

  friend constexpr bool operator==(StrongId, StrongId) noexcept = default;
  friend constexpr auto operator<=>(StrongId, StrongId) noexcept = default;

 private:
  value_type value_ = -1;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE

template <class Tag>
struct std::hash<hybridmem::StrongId<Tag>> {
  std::size_t operator()(hybridmem::StrongId<Tag> id) const noexcept {
    return std::hash<std::int32_t>{}(id.value());
  }
};
