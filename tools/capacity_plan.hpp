// CapacityPlan: a budget in units of every organization, and what they hold of a mix or of
// sequences.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "arguments.hpp"
#include "hybridmem/organization/budget.hpp"
#include "hybridmem/organization/organization_layout.hpp"

namespace hybridmem_tool {

/// What `--budget` says. Throws UsageError.
hybridmem::Budget read_budget(const Text& text);

/// So many sequences of one length, each with one running state and some cached checkpoints.
struct SequenceDemand {
  std::uint64_t count = 0;
  std::uint64_t length_tokens = 0;
  std::uint64_t cached_checkpoints = 0;  ///< of each sequence, beside its running state
};

/// What the user asked for.
struct PlanRequest {
  hybridmem::Budget budget;
  std::optional<std::uint32_t> split_millionths;  ///< StaticDualPool's attention share
  std::optional<hybridmem::StateMix> mix;         ///< in blocks of the layout
  std::optional<SequenceDemand> sequences;
};

/// Where StaticDualPool's split comes from. A model without attention needs no attention pool.
enum class SplitSource : std::uint8_t { paper, given, searched, no_attention };

/// What a searched split was judged by.
enum class SplitJudge : std::uint8_t { mix, sequences, interval };

const char* name_of(SplitSource source) noexcept;
const char* name_of(SplitJudge judge) noexcept;

/// What an organization holds of the sequences.
struct SequenceCapacity {
  std::uint64_t blocks_each = 0;  ///< attention blocks of a sequence, in the organization's own
  std::uint64_t servable = 0;     ///< sequences at once
  hybridmem::Limit limited_by = hybridmem::Limit::shared_pool;
  bool fits = false;           ///< whether `servable` reaches the count asked for
  double attention_share = 0;  ///< of the units that a sequence takes in a shared pool
};

/// One set of pools: an organization under the budget.
struct PoolsPlan {
  hybridmem::UnitBudget units;
  std::optional<hybridmem::MixCapacity> mix;
  std::optional<SequenceCapacity> sequences;
};

struct OrganizationPlan : PoolsPlan {
  hybridmem::OrganizationLayout layout;
};

struct CapacityPlan {
  std::array<OrganizationPlan, 4> organizations;  ///< in the order of `organization_kinds`
  hybridmem::PoolSplit split;
  SplitSource split_source = SplitSource::given;
  SplitJudge judge = SplitJudge::interval;  ///< where the split was searched
  hybridmem::StateMix judged_mix;           ///< in blocks of StaticDualPool
  std::optional<hybridmem::SplitSearch> search;
  std::optional<PoolsPlan> half;  ///< StaticDualPool split in halves, where the split was searched
};

/// The plan of `request` over `layout`. Throws UsageError for a mix that takes no storage and for a
/// budget without one unit in any organization.
CapacityPlan make_plan(const hybridmem::PageLayout& layout, const PlanRequest& request,
                       std::string_view budget_text);

}  // namespace hybridmem_tool
