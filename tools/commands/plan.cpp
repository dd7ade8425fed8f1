#include "commands/plan.hpp"

#include <fmt/format.h>

#include "plan_report.hpp"
#include "table.hpp"

namespace hybridmem_tool {

namespace {

constexpr std::uint64_t most_objects = 1'000'000'000;  // of a mix, and sequences

hybridmem::StateMix read_mix(const std::string& text) {
  constexpr std::string_view expected =
      "A,R: attention blocks and checkpoints, whole numbers, not both zero";
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) refuse("--mix", text, expected);
  try {
    const hybridmem::StateMix mix{read_number("--mix", text.substr(0, comma), 0, most_objects, 0),
                                  read_number("--mix", text.substr(comma + 1), 0, most_objects, 0)};
    if (mix.attention_blocks != 0 || mix.checkpoints != 0) return mix;
  } catch (const UsageError&) {
    // Said below with the whole text.
  }
  refuse("--mix", text, expected);
}

}  // namespace

void PlanCommand::declare(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("plan", "Show what a budget holds in each organization");
  command->group("Commands");
  command->footer(
      "\nExample:\n"
      "  hybridmem plan --model falcon-h1-7b --budget b63 --mix 3,1\n"
      "  hybridmem plan --model falcon-h1-7b --budget 8GiB --sequences 64 --length 4096");
  const auto add = [&](const char* name, Text& text, const char* type, const char* help) {
    command->add_option(name, text, wrapped(help, help_columns))
        ->type_name(type)
        ->group("Budget and demand");
  };
  model_.declare(*command);
  add("-b,--budget", budget_, "BYTES",
      "State memory of one rank over all layers, such as 8GiB; or b63, b83, b108: the paper's "
      "budgets for each layer");
  add("--mix", mix_, "A,R", "Count how often A attention blocks and R checkpoints fit together");
  add("--sequences", sequences_, "N", "Say whether N sequences of --length tokens fit at once");
  add("--length", length_, "TOKENS", "Tokens of each sequence");
  add("--checkpoints", checkpoints_, "N",
      "Cached checkpoints of each sequence beside its running state (default 0)");
  add("--split", split_, "F",
      "Attention share of static_dual_pool, 0 to 1 (default: the paper's, or the best of nine)");
  layout_.declare(*command);
  command->add_flag("--json", json_, "Print JSON")->group("Output");
}

PlanRequest PlanCommand::request() const {
  PlanRequest request;
  request.budget = read_budget(budget_);
  if (split_) request.split_millionths = read_millionths("--split", *split_);
  if (mix_) request.mix = read_mix(*mix_);
  if (sequences_.has_value() != length_.has_value())
    throw UsageError(sequences_ ? "--sequences without --length: expected both, or neither"
                                : "--length without --sequences: expected both, or neither");
  if (checkpoints_ && !sequences_)
    throw UsageError("--checkpoints without --sequences: expected --sequences and --length too");
  if (sequences_)
    request.sequences =
        SequenceDemand{read_number("--sequences", sequences_, 1, most_objects, 0),
                       read_number("--length", length_, 1, std::uint64_t{1} << 30U, 0),
                       read_number("--checkpoints", checkpoints_, 0, 1'000'000, 0)};
  return request;
}

void PlanCommand::run(std::ostream& out) const {
  const ChosenModel model = model_.choose();
  const ChosenLayout chosen = layout_.choose(model.geometry);
  const PlanRequest asked = request();
  const CapacityPlan plan = make_plan(chosen.layout, asked, *budget_);
  const PlanContext context{model, chosen.layout, asked, plan, printable(*budget_)};
  if (json_)
    write(out, plan_json(context));
  else
    out << plan_text(context);
}

}  // namespace hybridmem_tool
