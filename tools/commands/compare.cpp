#include "commands/compare.hpp"

#include <algorithm>
#include <fstream>
#include <thread>

#include "compare_plot.hpp"
#include "compare_report.hpp"
#include "progress.hpp"
#include "table.hpp"

namespace hybridmem_tool {

unsigned available_threads() {
  return std::max(1U, std::thread::hardware_concurrency());
}

void CompareCommand::declare(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("compare", "Simulate a stream of requests on each organization");
  command->group("Commands");
  command->footer(
      "\nExamples:\n"
      "  hybridmem compare --model falcon-h1-7b --budget b83 --workload paper\n"
      "  hybridmem compare --model falcon-h1-7b --budget 8GiB --trace trace.jsonl "
      "--rate-scale auto");
  model_.declare(*command);
  command
      ->add_option("-b,--budget", budget_,
                   wrapped("State memory of one rank over all layers, such as 8GiB; or b63, b83, "
                           "b108: the paper's budgets for each layer",
                           help_columns))
      ->type_name("BYTES")
      ->group("Budget");
  workload_.declare(*command);
  engine_.declare(*command);
  cost_.declare(*command);
  layout_.declare(*command);
  command->add_flag("--json", json_, "Print JSON")->group("Output");
  command->add_flag("--csv", csv_, "Print CSV, one line a row")->group("Output");
  command->add_option("--plot", plot_, wrapped("Also draw the rows as SVG", help_columns))
      ->type_name("FILE")
      ->group("Output");
}

void CompareCommand::run(std::ostream& out, std::ostream& err) const {
  if (json_ && csv_) throw UsageError("--json and --csv: expected one of them, not both");
  const ChosenModel model = model_.choose();
  const ChosenLayout chosen = layout_.choose(model.geometry);
  CompareRequest request;
  request.layout = chosen.layout;
  request.budget = read_budget(budget_);
  request.budget_text = printable(*budget_);
  request.engine = engine_.choose();
  const ChosenCost cost = cost_.choose(model);
  request.cost = cost.of;
  request.threads = available_threads();
  const ChosenWorkload workload = workload_.choose();

  const InterruptScope interrupts;
  CompareResult result;
  {
    ProgressLine line(err, "hybridmem compare");
    result = compare(request, workload, [&line](double done) { return line(done); });
  }
  const CompareContext context{model,  chosen.layout, request,  workload,
                               result, cost.json,     cost.text};
  if (plot_) {
    std::ofstream file(*plot_);
    file << compare_plot(context);
    if (!file.flush()) refuse("--plot", *plot_, "a file that can be written");
  }
  if (json_) {
    write(out, compare_json(context));
  } else if (csv_) {
    out << compare_csv_header() << '\n';
    for (const CompareRow& row : result.rows) out << compare_csv_row(row) << '\n';
    for (const std::string& warning : warnings_of(context))
      err << "hybridmem compare: warning: " << warning << '\n';
  } else {
    out << compare_text(context);
  }
}

}  // namespace hybridmem_tool
