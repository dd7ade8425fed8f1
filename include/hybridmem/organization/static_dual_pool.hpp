// StaticDualPool: two pools of native units with a fixed split (D0).
#pragma once

#include "hybridmem/organization/pooled_organization.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// Two pools fixed at start, attention in small blocks and recurrent checkpoints as whole
/// composites (paper, section 3.5, D0). No unit is larger than its object, and no pool lends to the
/// other: one can be full while the other has room. Convolution line = composite.
using StaticDualPool = PooledOrganization<OrganizationKind::static_dual_pool>;

static_assert(MemoryOrganization<StaticDualPool>);

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
