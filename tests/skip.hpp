// skip_test: lets a test say that this machine cannot run it. ctest then reports it as skipped.
#pragma once

namespace hybridmem_test {

inline constexpr int skip_return_code = 77;

/// Prints `skipped: reason`; the process ends with `skip_return_code` unless another test fails.
/// The test case returns right after the call.
void skip_test(const char* reason);

}  // namespace hybridmem_test
