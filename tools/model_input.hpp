// ModelInput: the options that say which model is meant and how an engine keeps its state.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "arguments.hpp"
#include "hybridmem/model/make_geometry.hpp"

namespace hybridmem_tool {

/// What the options came to.
struct ChosenModel {
  hybridmem::StateGeometry geometry;
  std::string name;
  std::string family;      ///< `model_type`, or `custom`
  std::string provenance;  ///< of a preset's numbers; `file` or `numbers` otherwise
  bool has_dtypes = true;  ///< false where the model is given by numbers alone
  hybridmem::StateDtype state_dtype = hybridmem::StateDtype::auto_vllm;
  std::optional<hybridmem::ModelArchitecture> architecture;  ///< none for a model in numbers
};

/// `--model` with `--state-dtype`, `--kv-dtype` and `--tensor-parallel`, or the model in numbers.
class ModelInput {
 public:
  void declare(CLI::App& command);

  /// The geometry asked for. Throws UsageError.
  ChosenModel choose() const;

 private:
  ChosenModel from_numbers() const;

  Text model_;
  Text state_dtype_;
  Text kv_dtype_;
  Text tensor_parallel_;
  Text attention_layers_;
  Text recurrent_layers_;
  Text kv_bytes_;
  Text recurrent_bytes_;
  Text conv_bytes_;
  Text kernel_chunk_;
};

/// The choice of `--state-dtype`. Throws UsageError.
hybridmem::StateDtype read_state_dtype(const Text& text);

}  // namespace hybridmem_tool
