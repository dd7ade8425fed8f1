#include "commands/models.hpp"

#include <fmt/format.h>

#include "hybridmem/model/preset.hpp"
#include "model_input.hpp"
#include "report_json.hpp"
#include "table.hpp"

namespace hybridmem_tool {

namespace {

using hybridmem::ModelArchitecture;
using hybridmem::ModelPreset;
using hybridmem::StateGeometry;

StateGeometry geometry_of(const ModelPreset& preset, hybridmem::StateDtype choice) {
  hybridmem::GeometryOptions options;
  options.state_dtype = choice;
  const auto geometry = make_geometry(preset.architecture, options);
  if (!geometry)
    throw UsageError(
        fmt::format("{}: {}", preset.architecture.name.view(), describe_option(geometry.error())));
  return *geometry;
}

Json report(const ModelPreset& preset, const StateGeometry& geometry) {
  const ModelArchitecture& model = preset.architecture;
  return {{"model", model.name.view()},
          {"family", name_of(model.family)},
          {"provenance", name_of(preset.provenance)},
          {"hidden_layers", model.hidden_layers},
          {"attention_layers", model.attention_layers},
          {"recurrent_layers", model.recurrent_layers},
          {"sliding_window_layers", model.sliding_window_layers},
          {"kernel_chunk_tokens", model.kernel_chunk_tokens},
          {"kv_dtype", name_of(geometry.kv_dtype)},
          {"kv_bytes_per_token", geometry.kv_bytes_per_token()},
          {"checkpoint_bytes", geometry.checkpoint_bytes()},
          {"break_even_tokens",
           model.attention_layers > 0 ? number(geometry.break_even_tokens()) : Json()}};
}

}  // namespace

void ModelsCommand::declare(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("models", "List the models known by name");
  command->group("Commands");
  command->footer(
      "\nExample:\n"
      "  hybridmem models --state-dtype fp32");
  command
      ->add_option("--state-dtype", state_dtype_,
                   wrapped("Type of the recurrent state: auto-vllm (default), auto-sglang, bf16, "
                           "fp16, fp32",
                           help_columns))
      ->type_name("TYPE");
  command->add_flag("--json", json_, "Print JSON");
}

void ModelsCommand::run(std::ostream& out) const {
  const hybridmem::StateDtype choice = read_state_dtype(state_dtype_);
  if (json_) {
    Json all = {{"state_dtype", name_of(choice)}, {"models", Json::array()}};
    for (const ModelPreset& preset : hybridmem::model_presets())
      all["models"].push_back(report(preset, geometry_of(preset, choice)));
    write(out, all);
    return;
  }
  using enum Table::Align;
  Table table({{"model"},
               {"family"},
               {"attention", right},
               {"recurrent", right},
               {"KV a token", right},
               {"checkpoint", right},
               {"break-even", right},
               {"numbers from"}});
  for (const ModelPreset& preset : hybridmem::model_presets()) {
    const StateGeometry geometry = geometry_of(preset, choice);
    const bool attention = geometry.attention_layers > 0;
    const auto tokens = static_cast<std::uint64_t>(geometry.break_even_tokens() + 0.5);
    table.add({std::string(preset.architecture.name.view()), name_of(preset.architecture.family),
               grouped(geometry.attention_layers), grouped(geometry.recurrent_layers),
               attention ? bytes_text(geometry.kv_bytes_per_token()) : "-",
               bytes_text(geometry.checkpoint_bytes()), attention ? counted(tokens, "token") : "-",
               name_of(preset.provenance)});
  }
  out << table.text() << '\n'
      << fmt::format(
             "{} models. attention, recurrent: layers with that state. KV and checkpoint: over "
             "all\n"
             "layers of one rank, state type {}. break-even: tokens whose KV weighs as much as a\n"
             "checkpoint. \"recalled\" numbers are unverified: compare with the model's "
             "config.json.\n",
             table.rows(), name_of(choice));
}

}  // namespace hybridmem_tool
