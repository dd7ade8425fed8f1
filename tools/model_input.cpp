#include "model_input.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "hybridmem/model/hugging_face_config.hpp"
#include "hybridmem/model/preset.hpp"

#include "table.hpp"

namespace hybridmem_tool {

namespace {

namespace fs = std::filesystem;
using hybridmem::ModelArchitecture;

struct Found {
  ModelArchitecture architecture;
  std::string name;
  std::string provenance;
};

Found from_preset(const hybridmem::ModelPreset& preset) {
  return {preset.architecture, std::string(preset.architecture.name.view()),
          name_of(preset.provenance)};
}

/// A file called `config.json` says nothing: its directory does.
std::string name_of_file(const fs::path& path) {
  const fs::path directory = path.parent_path().filename();
  const bool named_config =
      path.stem() == "config" && !directory.empty() && directory != "." && directory != "..";
  return printable((named_config ? directory : path.stem()).string());
}

Found from_file(const std::string& text) {
  const fs::path path(text);
  std::error_code problem;
  const fs::file_status status = fs::status(path, problem);
  if (fs::is_directory(status)) refuse("--model", text, "a file, not a directory: its config.json");
  if (!fs::is_regular_file(status) && !fs::is_fifo(status))
    refuse("--model", text, "a preset or a readable config.json");
  try {
    Found found{hybridmem::read_hugging_face_config(path), name_of_file(path), "file"};
    found.architecture.name = std::string_view(found.name);
    return found;
  } catch (const hybridmem::ConfigError& error) {
    // A file that cannot be opened is its own field, and the path is in the line already.
    if (error.field() == path.string())
      refuse("--model", text, "a preset or a readable config.json");
    std::string_view what = error.what();
    constexpr std::string_view whole = "(document): ";
    if (what.starts_with(whole)) what.remove_prefix(whole.size());
    throw UsageError(fmt::format("--model = {}: {}", printable(text), printable(what)));
  }
}

bool looks_like_a_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.find('\\') != std::string_view::npos ||
         text.ends_with(".json");
}

/// A preset, unless the text looks like a path and something lies there.
Found find_model(const std::string& text) {
  std::error_code problem;
  const bool exists = !text.empty() && fs::exists(fs::path(text), problem);
  if (looks_like_a_path(text) && exists) return from_file(text);
  if (const auto* preset = hybridmem::find_preset(text)) return from_preset(*preset);
  if (exists) return from_file(text);
  if (text.empty()) refuse("--model", text, "a preset or a config.json");
  if (text.ends_with(".json")) refuse("--model", text, "a file that exists, or a preset");
  throw UsageError(
      fmt::format("--model = {}: expected a preset or a config.json; did you mean {}? "
                  "(hybridmem models lists all)",
                  printable(text), hybridmem::nearest_preset(text)));
}

}  // namespace

void ModelInput::declare(CLI::App& command) {
  const auto adder = [&command](const char* group) {
    return [&command, group](const char* name, Text& text, const char* type, const char* help) {
      command.add_option(name, text, wrapped(help, help_columns))->type_name(type)->group(group);
    };
  };
  const auto option = adder("Model");
  option("-m,--model", model_, "NAME|FILE",
         "A preset (hybridmem models lists them) or the path of a Hugging Face config.json");
  option("--state-dtype", state_dtype_, "TYPE",
         "Type of the recurrent state: auto-vllm (default) and auto-sglang choose as that engine "
         "does; bf16, fp16, fp32");
  option("--kv-dtype", kv_dtype_, "TYPE",
         "Type of keys and values: auto (the model's, default), bf16, fp16, fp32, fp8");
  option("--tensor-parallel", tensor_parallel_, "N",
         "Ranks that share the model; all output is of one rank (default 1)");
  const auto number = adder("Model in numbers, of one rank (instead of --model)");
  number("--attention-layers", attention_layers_, "N", "Layers that keep keys and values");
  number("--recurrent-layers", recurrent_layers_, "N", "Layers that keep state of fixed size");
  number("--kv-bytes", kv_bytes_, "BYTES", "Keys and values of one token in one layer");
  number("--recurrent-bytes", recurrent_bytes_, "BYTES", "Recurrent state of one layer");
  number("--conv-bytes", conv_bytes_, "BYTES", "Convolution window of one layer (default 0)");
  number("--kernel-chunk", kernel_chunk_, "TOKENS",
         "Quantum of the prefill kernel (default: none)");
}

ChosenModel ModelInput::choose() const {
  const std::array<std::pair<const char*, const Text*>, 6> numbers{{
      {"--attention-layers", &attention_layers_},
      {"--recurrent-layers", &recurrent_layers_},
      {"--kv-bytes", &kv_bytes_},
      {"--recurrent-bytes", &recurrent_bytes_},
      {"--conv-bytes", &conv_bytes_},
      {"--kernel-chunk", &kernel_chunk_},
  }};
  for (const auto& [option, text] : numbers) {
    if (!*text) continue;
    if (model_)
      throw UsageError(
          fmt::format("{}: expected either --model or a model in numbers, not both", option));
    return from_numbers();
  }
  if (!model_)
    throw UsageError(
        "--model is missing: expected a preset, a config.json, or a model in numbers "
        "(--attention-layers, --recurrent-layers, ...)");

  const Found found = find_model(*model_);
  hybridmem::GeometryOptions options;
  options.state_dtype = read_state_dtype(state_dtype_);
  if (kv_dtype_ && *kv_dtype_ != "auto") {
    const auto type = hybridmem::parse_data_type(*kv_dtype_);
    if (!type) refuse("--kv-dtype", *kv_dtype_, "auto, bf16, fp16, fp32 or fp8");
    options.kv_dtype_is_model_dtype = false;
    options.kv_dtype = *type;
  }
  options.tensor_parallel =
      static_cast<std::uint32_t>(read_number("--tensor-parallel", tensor_parallel_, 1, 4096, 1));

  const auto geometry = make_geometry(found.architecture, options);
  if (!geometry) {
    const std::string text = describe_option(geometry.error());
    // What the user did not type is a fault of the model.
    throw UsageError(text.starts_with("--") ? text
                                            : fmt::format("--model = {}: {}", found.name, text));
  }
  ChosenModel chosen;
  chosen.geometry = *geometry;
  chosen.name = found.name;
  chosen.family = name_of(found.architecture.family);
  chosen.provenance = found.provenance;
  chosen.state_dtype = options.state_dtype;
  chosen.architecture = found.architecture;
  return chosen;
}

ChosenModel ModelInput::from_numbers() const {
  const std::array<std::pair<const char*, const Text*>, 3> of_a_model{{
      {"--state-dtype", &state_dtype_},
      {"--kv-dtype", &kv_dtype_},
      {"--tensor-parallel", &tensor_parallel_},
  }};
  for (const auto& [option, text] : of_a_model)
    if (*text)
      throw UsageError(
          fmt::format("{}: expected only with --model; numbers are the bytes of one rank", option));
  constexpr std::uint64_t most_layers = 65'536;
  constexpr std::uint64_t most_bytes = std::numeric_limits<std::uint32_t>::max();
  constexpr std::uint64_t most_chunk = 1U << 20U;
  if (!recurrent_layers_)
    throw UsageError("--recurrent-layers is missing: expected a number of layers");
  hybridmem::GeometryNumbers numbers;
  numbers.attention_layers = static_cast<std::uint32_t>(
      read_number("--attention-layers", attention_layers_, 0, most_layers, 0));
  numbers.recurrent_layers = static_cast<std::uint32_t>(
      read_number("--recurrent-layers", recurrent_layers_, 1, most_layers, 0));
  numbers.kv_bytes_per_token_layer = read_bytes("--kv-bytes", kv_bytes_, 0, most_bytes, 0);
  numbers.recurrent_bytes_layer =
      read_bytes("--recurrent-bytes", recurrent_bytes_, 0, most_bytes, 0);
  numbers.conv_bytes_layer = read_bytes("--conv-bytes", conv_bytes_, 0, most_bytes, 0);
  numbers.kernel_chunk_tokens = static_cast<hybridmem::Tokens>(
      read_number("--kernel-chunk", kernel_chunk_, 1, most_chunk, 0));
  const auto geometry = make_geometry(numbers);
  if (!geometry) throw UsageError(describe_option(geometry.error()));
  ChosenModel chosen;
  chosen.geometry = *geometry;
  chosen.name = "custom";
  chosen.family = "custom";
  chosen.provenance = "numbers";
  chosen.has_dtypes = false;
  return chosen;
}

hybridmem::StateDtype read_state_dtype(const Text& text) {
  if (!text) return hybridmem::StateDtype::auto_vllm;
  const auto choice = hybridmem::parse_state_dtype(*text);
  if (!choice) refuse("--state-dtype", *text, "auto-vllm, auto-sglang, bf16, fp16 or fp32");
  return *choice;
}

}  // namespace hybridmem_tool
