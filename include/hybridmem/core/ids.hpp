// The ids and counts that every floor shares.
#pragma once

#include <cstdint>

#include "hybridmem/core/strong_id.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// A number of tokens, hence also a position in a sequence.
using Tokens = std::uint32_t;

/// A physical page: the same index in every layer tensor of a stack.
using PageId = StrongId<struct PageIdTag>;

/// A convolution line: `slots_per_slab * page + slot` (paper, appendix A.3).
using LineId = StrongId<struct LineIdTag>;

/// An allocated object of a pool's user: an attention block, a recurrent checkpoint or a slab.
using ObjectId = StrongId<struct ObjectIdTag>;

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
