// What the preprocessor decides for every header: the check level, its namespace, host and device.
#pragma once

#include "hybridmem/core/version.hpp"

// NOLINTBEGIN(cppcoreguidelines-macro-usage): these must be visible to `#if` and to nvcc.

/// How much the library verifies of what its caller promised. 0: nothing but what costs a branch. 1
/// (default): constant-time preconditions. 2: also checks that cost as much as the units touched.
/// 3: also a full audit after every mutation. All translation units of one program must agree:
/// behaviour carries the level in its namespace (`check0` to `check3`), so that a mixture fails to
/// link instead of misbehaving.
#ifndef HYBRIDMEM_CHECK_LEVEL
#define HYBRIDMEM_CHECK_LEVEL 1
#endif

#if HYBRIDMEM_CHECK_LEVEL == 0
#define HYBRIDMEM_CHECK_NAMESPACE check0
#elif HYBRIDMEM_CHECK_LEVEL == 1
#define HYBRIDMEM_CHECK_NAMESPACE check1
#elif HYBRIDMEM_CHECK_LEVEL == 2
#define HYBRIDMEM_CHECK_NAMESPACE check2
#elif HYBRIDMEM_CHECK_LEVEL == 3
#define HYBRIDMEM_CHECK_NAMESPACE check3
#else
#error "HYBRIDMEM_CHECK_LEVEL must be 0, 1, 2 or 3"
#endif

/// Marks a function that compiles for the host and for a CUDA device.
#if defined(__CUDACC__)
#define HYBRIDMEM_HOST_DEVICE __host__ __device__
#else
#define HYBRIDMEM_HOST_DEVICE
#endif

// NOLINTEND(cppcoreguidelines-macro-usage)

// The two namespaces of the library, spelled out where they are opened:
//   namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE { plain data, exchanged between modules
//   } namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {
//     classes with behaviour that depends on the check level }
