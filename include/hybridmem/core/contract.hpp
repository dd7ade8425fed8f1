// Contracts: what a caller must guarantee, how a breach is reported, and who decides what happens
// then.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "hybridmem/core/config.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// A breach of contract: a mistake in the calling program, never something that request content or
/// timing can cause (that is a `Result`). The pointers refer to string literals.
struct ContractViolation {
  const char* condition;  ///< the source text of the condition that was false
  const char* message;    ///< what the caller had promised
  const char* file;
  unsigned line;
  int level;  ///< the check level at which the condition is evaluated
};

/// Receives every breach. It may abort, throw out of a program built with exceptions, or return.
/// When it returns, the function that found the breach goes on: with its fallback where its
/// documentation names one, and otherwise as if the condition had held, which is undefined
/// behaviour.
using ContractHandler = void (*)(const ContractViolation&);

/// The handler in force until another is set: prints one line to standard error and aborts.
inline void abort_on_violation(const ContractViolation& violation) {
  std::fprintf(stderr, "hybridmem: contract violated at %s:%u: %s (%s)\n", violation.file,
               violation.line, violation.message, violation.condition);
  std::abort();
}

namespace detail {

inline std::atomic<ContractHandler> contract_handler{&abort_on_violation};

inline void report_violation(const char* condition, const char* message, const char* file,
                             unsigned line, int level) {
  contract_handler.load(std::memory_order_acquire)(
      ContractViolation{condition, message, file, line, level});
}

}  // namespace detail

/// Replaces the handler of the whole program; a null pointer restores the default. Returns the one
/// that was in force. Safe to call from any thread.
inline ContractHandler set_contract_handler(ContractHandler handler) noexcept {
  return detail::contract_handler.exchange(handler != nullptr ? handler : &abort_on_violation,
                                           std::memory_order_acq_rel);
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE

/// Evaluates `condition` where the check level is at least `level_needed`, and reports a breach.
/// Below that level the condition is compiled but not evaluated. Device code evaluates nothing.
// NOLINTBEGIN(cppcoreguidelines-macro-usage): the text of the condition and its place.
#if defined(__CUDA_ARCH__)
#define HYBRIDMEM_CHECK(level_needed, condition, message) static_cast<void>(0)
#else
#define HYBRIDMEM_CHECK(level_needed, condition, message)                              \
  do {                                                                                 \
    if constexpr (HYBRIDMEM_CHECK_LEVEL >= (level_needed)) {                           \
      if (!(condition)) [[unlikely]]                                                   \
        ::hybridmem::detail::report_violation(#condition, message, __FILE__, __LINE__, \
                                              level_needed);                           \
    }                                                                                  \
  } while (false)
#endif
// NOLINTEND(cppcoreguidelines-macro-usage)
