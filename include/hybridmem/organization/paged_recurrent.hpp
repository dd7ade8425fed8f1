// PagedRecurrent: one pool of small pages, recurrent state in members, convolution in a page of its
// own (S1).
#pragma once

#include "hybridmem/organization/pooled_organization.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// One shared pool of pages as large as an attention block (paper, section 3.3, S1). A checkpoint
/// takes its member pages and, in each stack, one page more for convolution state alone.
/// Convolution line = that page. Choose it over SlabPacked only where checkpoints must not share a
/// page.
using PagedRecurrent = PooledOrganization<OrganizationKind::paged_recurrent>;

static_assert(MemoryOrganization<PagedRecurrent>);

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
