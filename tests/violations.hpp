// violation_of: what the library complained about while a function ran.
#pragma once

#include <optional>

#include "hybridmem/core/contract.hpp"

namespace hybridmem_test {

/// While it lives, a contract violation throws the `ContractViolation` instead of aborting.
class ThrowOnViolation {
 public:
  ThrowOnViolation() : previous_(hybridmem::set_contract_handler(&raise)) {}
  ~ThrowOnViolation() { hybridmem::set_contract_handler(previous_); }
  ThrowOnViolation(const ThrowOnViolation&) = delete;
  ThrowOnViolation& operator=(const ThrowOnViolation&) = delete;

 private:
  [[noreturn]] static void raise(const hybridmem::ContractViolation& violation) { throw violation; }

  hybridmem::ContractHandler previous_;
};

/// Runs `body` and returns the first violation it caused, if any.
template <class Body>
std::optional<hybridmem::ContractViolation> violation_of(Body&& body) {
  const ThrowOnViolation guard;
  try {
    body();
  } catch (const hybridmem::ContractViolation& violation) {
    return violation;
  }
  return std::nullopt;
}

}  // namespace hybridmem_test
