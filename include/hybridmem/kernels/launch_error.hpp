// LaunchError: why a kernel was not launched, or what the CUDA runtime said when it was.
#pragma once

#include "hybridmem/core/error.hpp"
#include "hybridmem/core/result.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::kernels {

/// Exactly one side is set. An argument that was refused before the launch is described by `input`,
/// and nothing was enqueued. A launch that the runtime refused has `input.code == Error::none` and
/// a `cuda_error` other than 0.
struct LaunchError {
  InputError input;
  int cuda_error = 0;  ///< a `cudaError_t`: `cudaGetErrorString` puts it into words

  friend constexpr bool operator==(const LaunchError& a, const LaunchError& b) noexcept {
    return a.input == b.input && a.cuda_error == b.cuda_error;
  }
};

/// The outcome of a launcher. A value means enqueued, not finished.
using LaunchStatus = Result<Ok, LaunchError>;

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::kernels
