// CoarsePages: one pool of coarse pages, each as large as a whole composite (S0).
#pragma once

#include "hybridmem/organization/pooled_organization.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// One shared pool whose page holds a recurrent checkpoint with its convolution state behind it
/// (paper, section 3.2, S0). An attention block takes a whole page too, most of it unused where the
/// composite is larger than the block. Convolution line = page. Choose it when state and block
/// weigh the same.
using CoarsePages = PooledOrganization<OrganizationKind::coarse_pages>;

static_assert(MemoryOrganization<CoarsePages>);

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
