// Result: a value, or the error that prevented it. Trivially copyable when its parts are; never
// throws.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "hybridmem/core/contract.hpp"
#include "hybridmem/core/error.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// The value of an operation that has nothing to return but its success.
enum class Ok : unsigned char { ok };

/// Either a `T` or an `E`. `T` and `E` differ, and both have a default value: reading the side that
/// is not there is a contract violation whose fallback is that default value, never undefined
/// behaviour.
template <class T, class E = Error>
  requires(!std::same_as<T, E> && std::default_initializable<T> && std::default_initializable<E>)
class [[nodiscard]] Result {
 public:
  using value_type = T;
  using error_type = E;

  // Implicit on purpose: `return value;` and `return Error::no_step;` are the two ways to answer.
  constexpr Result(const T& value) noexcept(std::is_nothrow_copy_constructible_v<T>)
      : value_(value), has_value_(true) {}
  constexpr Result(T&& value) noexcept(std::is_nothrow_move_constructible_v<T>)
      : value_(std::move(value)), has_value_(true) {}
  constexpr Result(const E& error) noexcept(std::is_nothrow_copy_constructible_v<E>)
      : error_(error), has_value_(false) {}

  constexpr explicit operator bool() const noexcept { return has_value_; }
  constexpr bool has_value() const noexcept { return has_value_; }

  /// The value. Precondition: `has_value()`.
  constexpr const T& value() const& {
    HYBRIDMEM_CHECK(0, has_value_, "value() of a Result that holds an error");
    return value_;
  }

  constexpr T& value() & {
    HYBRIDMEM_CHECK(0, has_value_, "value() of a Result that holds an error");
    return value_;
  }

  constexpr T&& value() && {
    HYBRIDMEM_CHECK(0, has_value_, "value() of a Result that holds an error");
    return std::move(value_);
  }

  /// The error. Precondition: `!has_value()`.
  constexpr const E& error() const {
    HYBRIDMEM_CHECK(0, !has_value_, "error() of a Result that holds a value");
    return error_;
  }

  constexpr const T& operator*() const& { return value(); }
  constexpr T& operator*() & { return value(); }
  constexpr T&& operator*() && { return std::move(*this).value(); }
  constexpr const T* operator->() const { return &value(); }
  constexpr T* operator->() { return &value(); }

  /// The value, or `fallback` when there is none.
  constexpr T value_or(const T& fallback) const { return has_value_ ? value_ : fallback; }

 private:
  T value_{};
  E error_{};
  bool has_value_;
};

/// The outcome of an operation that returns nothing.
using Status = Result<Ok>;

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
