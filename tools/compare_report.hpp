// What `hybridmem compare` says, for programs and for people.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "compare_run.hpp"
#include "report_json.hpp"

namespace hybridmem_tool {

/// Everything a report is made from.
struct CompareContext {
  const ChosenModel& model;
  const hybridmem::PageLayout& layout;
  const CompareRequest& request;
  const ChosenWorkload& chosen;
  const CompareResult& result;
  Json cost_model;
  std::string cost_text;
};

/// One counter by which the best row differs from the one it is compared with.
struct Reason {
  std::string counter;  ///< as in the JSON rows
  double best = 0.0;
  double other = 0.0;
  bool favours_best = false;
  std::string text;  ///< `saved 1,200 prompt tokens, against 800`
};

/// Why the best row is the best, from the counters.
struct Verdict {
  std::size_t other = 0;  ///< the row it is compared with: the next best; itself where it is alone
  std::vector<Reason> reasons;  ///< those that differ by 2% or more, in a fixed order
  std::string sentence;
};

/// The verdict over the rows that served anything.
Verdict verdict_of(const CompareResult& result);

/// What a reader must know: overload, requests that do not fit, a trace without prefixes, a stop.
std::vector<std::string> warnings_of(const CompareContext& context);

/// `static_dual_pool`, or `static_dual_pool at 0.5` for the row beside the best split.
std::string row_name(const CompareRow& row);

Json compare_row_json(const CompareRow& row);
Json compare_json(const CompareContext& context);
std::string compare_text(const CompareContext& context);

/// The columns of the CSV, and one row's cells, in the same order.
std::string compare_csv_header();
std::string compare_csv_row(const CompareRow& row);

/// How the engine and its caches were set, with the orders of a study.
Json engine_json(const ChosenEngine& engine);

}  // namespace hybridmem_tool
