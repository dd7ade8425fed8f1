# shellcheck shell=bash
# Shared by scripts/run and scripts/test; sourced, with the repository root as working directory.

say() { printf '\n== %s\n' "$*"; }

# Uses ccache and a CUDA toolkit in its usual place, where there are any.
prepare_environment() {
  if [ -z "${CMAKE_CXX_COMPILER_LAUNCHER:-}" ] && command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
  if ! command -v nvcc >/dev/null && [ -x /usr/local/cuda/bin/nvcc ]; then
    export PATH="$PATH:/usr/local/cuda/bin"
  fi
  CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
  CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$(nproc)}
  export CMAKE_BUILD_PARALLEL_LEVEL CTEST_PARALLEL_LEVEL
}
