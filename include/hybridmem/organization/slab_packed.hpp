// SlabPacked: one pool of small pages, recurrent state in members, convolution in shared slabs
// (S2).
#pragma once

#include "hybridmem/organization/pooled_organization.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// One shared pool of pages as large as an attention block; convolution states take slots of slabs,
/// pages that several checkpoints share (paper, section 3.4, S2). Convolution line = slots_per_slab
/// * page + slot. Reassigning a slab invalidates every cached checkpoint with a slot on it. The
/// usual choice.
using SlabPacked = PooledOrganization<OrganizationKind::slab_packed>;

static_assert(MemoryOrganization<SlabPacked>);

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
