#include "command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "commands/compare.hpp"
#include "commands/layout.hpp"
#include "commands/models.hpp"
#include "commands/plan.hpp"
#include "hybridmem/core/version.hpp"

namespace hybridmem_tool {

namespace {

constexpr int success = 0;
constexpr int failure = 1;
constexpr int bad_input = 2;

constexpr std::array<std::string_view, 4> command_names{"models", "layout", "plan", "compare"};

constexpr const char* description =
    "Plans the memory of hybrid language models: attention KV, recurrent state and\n"
    "convolution windows in one budget.\n";

constexpr const char* footer =
    "\nExamples:\n"
    "  hybridmem models\n"
    "  hybridmem layout --model falcon-h1-7b\n"
    "  hybridmem plan --model falcon-h1-7b --budget 8GiB --sequences 64 --length 4096\n"
    "  hybridmem compare --model falcon-h1-7b --budget b83 --workload paper\n"
    "\n`hybridmem COMMAND --help` lists the options of a command.\n"
    "Exit status: 0; 1 if the output cannot be written; 2 for bad input.";

/// The line for an error that CLI11 found.
std::string describe_parse_error(const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find(':'));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    if (text.ends_with("missing")) return option + ": expected a value";
    if (text.find("received") != std::string::npos) return option + ": expected once";
  }
  constexpr std::string_view conversion = "Could not convert: ";  // only flags convert
  if (text.starts_with(conversion)) return text.substr(conversion.size()) + ": expected no value";
  return text;
}

/// CLI11 leaves two blank lines between groups of options.
std::string tidy(std::string help) {
  for (std::size_t at = help.find("\n\n\n"); at != std::string::npos; at = help.find("\n\n\n"))
    help.erase(at, 1);
  while (help.ends_with("\n\n")) help.pop_back();
  return help;
}

/// Anything that no option took.
void refuse_rest(const std::vector<std::string>& rest, const CLI::App& command) {
  if (rest.empty()) return;
  const std::string& first = rest.front();
  if (first.starts_with('-')) {
    const std::string option = first.substr(0, first.find('='));
    throw UsageError(fmt::format("unknown option {}: expected one of those in hybridmem{} --help",
                                 printable(option),
                                 command.get_parent() == nullptr ? "" : " " + command.get_name()));
  }
  throw UsageError(fmt::format("unexpected argument {}: expected options only", printable(first)));
}

int run_checked(std::span<const std::string_view> arguments, std::ostream& out, std::ostream& err) {
  CLI::App app(description, "hybridmem");
  app.set_version_flag("--version", std::string("hybridmem ") + hybridmem::library_version_text,
                       "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.footer(footer);
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(34);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  // What nobody takes is reported by refuse_rest, in the words of this command.
  app.allow_extras();
  ModelsCommand models;
  LayoutCommand layout;
  PlanCommand plan;
  CompareCommand compare;
  models.declare(app);
  layout.declare(app);
  plan.declare(app);
  compare.declare(app);

  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    out << tidy(app.help());
    return success;
  } catch (const CLI::CallForVersion& version) {
    out << version.what() << '\n';
    return success;
  } catch (const CLI::ParseError& error) {
    throw UsageError(printable(describe_parse_error(error)));
  }
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (chosen.empty()) {
    const std::vector<std::string> rest = app.remaining();
    if (rest.empty())
      throw UsageError("no command: expected models, layout, plan or compare (hybridmem --help)");
    if (!rest.front().starts_with('-'))
      throw UsageError(fmt::format("unknown command {}: expected models, layout, plan or compare",
                                   printable(rest.front())));
    refuse_rest(rest, app);
  }
  refuse_rest(chosen.front()->remaining(), *chosen.front());
  refuse_rest(app.remaining(), *chosen.front());
  if (app.got_subcommand("models")) models.run(out);
  if (app.got_subcommand("layout")) layout.run(out);
  if (app.got_subcommand("plan")) plan.run(out);
  if (app.got_subcommand("compare")) compare.run(out, err);
  return success;
}

/// `hybridmem layout` where the first argument is a command.
std::string prefix(std::span<const std::string_view> arguments) {
  const bool named =
      !arguments.empty() && std::ranges::find(command_names, arguments[0]) != command_names.end();
  return named ? "hybridmem " + std::string(arguments[0]) : "hybridmem";
}

}  // namespace

int run(std::span<const std::string_view> arguments, std::ostream& out, std::ostream& err) {
  try {
    const int status = run_checked(arguments, out, err);
    out.flush();
    if (out) return status;
    err << "hybridmem: the output cannot be written\n";
  } catch (const UsageError& error) {
    err << prefix(arguments) << ": " << error.what() << '\n';
    return bad_input;
  } catch (const std::exception& error) {
    err << prefix(arguments) << ": " << printable(error.what()) << '\n';
  }
  return failure;
}

}  // namespace hybridmem_tool
