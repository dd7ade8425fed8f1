// CompareRun: what `hybridmem compare` computes, from what was asked to rows in order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "capacity_plan.hpp"
#include "engine_input.hpp"
#include "simulator/comparison.hpp"
#include "workload_input.hpp"

namespace hybridmem_tool {

/// The step cost of each organization.
using CostOf = std::function<hybridmem_simulator::StepSeconds(hybridmem::OrganizationKind)>;

struct CompareRequest {
  hybridmem::PageLayout layout;
  hybridmem::Budget budget;
  std::string budget_text;  ///< as typed, printable
  ChosenEngine engine;
  CostOf cost;
  unsigned threads = 1;
};

/// One organization, or one split of StaticDualPool.
struct CompareRow {
  hybridmem_simulator::Contender contender;
  std::uint64_t budget_bytes = 0;  ///< in the scope of the budget
  std::uint64_t unit_bytes = 0;    ///< of all its units, in the same scope
  std::optional<hybridmem::PoolSplit> split;
  bool half = false;  ///< StaticDualPool at 0.5, beside the best split found
  hybridmem_simulator::RunResult run;
  hybridmem_simulator::RunSummary summary;  ///< of the requests that are ranked
  std::uint64_t bound_tokens = 0;           ///< the most that reuse can save, at its block grid
  /// Time that the requests take when all are there at once, over the time in which they arrive.
  std::optional<double> load;
};

/// One of the nine splits that were tried.
struct SplitTrial {
  hybridmem::PoolSplit split;
  hybridmem_simulator::RunSummary summary;
};

struct CompareResult {
  hybridmem_simulator::Workload workload;  ///< as it was run
  double rate_scale = 1.0;
  std::vector<CompareRow> rows;  ///< in the order of the organizations asked for
  std::size_t best = 0;
  std::size_t ranked_requests = 0;  ///< that every row which serves anything can serve
  std::size_t load_requests = 0;    ///< by which loads were estimated; 0: by the runs themselves
  SplitSource split_source = SplitSource::given;
  std::vector<SplitTrial> splits;
  std::size_t split_requests = 0;  ///< on which they were tried
  bool interrupted = false;
};

/// Runs every organization asked for, finds StaticDualPool's split and the rate where they are to
/// be found, and ranks. Throws UsageError where no row can serve any request.
CompareResult compare(const CompareRequest& request, const ChosenWorkload& chosen,
                      const hybridmem_simulator::Progress& progress);

/// The units that an organization has under the budget, the engine's own taken off.
CompareRow make_row(const CompareRequest& request, hybridmem::OrganizationKind kind,
                    const hybridmem::PoolSplit& split);

}  // namespace hybridmem_tool
