#include "simulator/model_size.hpp"

#include <array>

#include "hybridmem/model/preset.hpp"

namespace hybridmem_simulator {

namespace {

using hybridmem::Mixer;
using hybridmem::ModelArchitecture;
using enum SizeSource;

struct Row {
  std::string_view preset;
  double total;   // in billions
  double active;  // in billions; 0: all
  SizeSource source = name;
};

// Names are rounded: Falcon-H1-7B has 7.6 billion parameters.
constexpr std::array table{
    Row{"falcon-h1-tiny-90m", 0.09, 0},
    Row{"falcon-h1-0.5b", 0.5, 0},
    Row{"falcon-h1-1.5b", 1.5, 0},
    Row{"falcon-h1-1.5b-deep", 1.5, 0},
    Row{"falcon-h1-3b", 3, 0},
    Row{"falcon-h1-7b", 7, 0},
    Row{"falcon-h1-34b", 34, 0},
    Row{"granite-4.0-h-350m", 0.35, 0},
    Row{"granite-4.0-h-1b", 1, 0},
    Row{"granite-4.0-h-micro", 3, 0, published},
    Row{"granite-4.0-h-tiny", 7, 1, published},
    Row{"granite-4.0-h-small", 32, 9, published},
    Row{"nemotron-h-4b", 4, 0},
    Row{"nemotron-h-8b", 8, 0},
    Row{"nemotron-h-47b", 47, 0},
    Row{"nemotron-h-56b", 56, 0},
    Row{"nemotron-nano-9b-v2", 9, 0},
    Row{"nemotron-nano-12b-v2", 12, 0},
    Row{"nemotron-3-nano-30b-a3b", 30, 3},
    Row{"nemotron-3-super-120b-a12b", 120, 12},
    Row{"jamba-1.5-1.7-mini", 52, 12, published},
    Row{"jamba-1.5-1.7-large", 398, 94, published},
    Row{"jamba-reasoning-3b", 3, 0},
    Row{"bamba-9b", 9, 0},
    Row{"zamba2-1.2b", 1.2, 0},
    Row{"zamba2-2.7b", 2.7, 0},
    Row{"zamba2-7b", 7, 0},
    Row{"qwen3-next-80b-a3b", 80, 3},
    Row{"qwen3.5-0.8b", 0.8, 0},
    Row{"qwen3.5-2b", 2, 0},
    Row{"qwen3.5-4b", 4, 0},
    Row{"qwen3.5-9b", 9, 0},
    Row{"qwen3.5-27b", 27, 0},
    Row{"qwen3.5-35b-a3b", 35, 3},
    Row{"qwen3.5-122b-a10b", 122, 10},
    Row{"qwen3.5-397b-a17b", 397, 17},
    Row{"kimi-linear-48b-a3b", 48, 3},
    Row{"minimax-text-01-m1", 456, 45.9, published},
    Row{"ring-mini-linear-2.0", 16, 1.4, published},
    Row{"ring-flash-linear-2.0", 104, 6.1, published},
    Row{"ring-ling-2.5-1t", 1000, 63, published},
    Row{"lfm2-350m", 0.35, 0},
    Row{"lfm2-700m", 0.7, 0},
    Row{"lfm2-1.2b", 1.2, 0},
    Row{"lfm2-2.6b", 2.6, 0},
    Row{"lfm2-8b-a1b", 8, 1},
    Row{"plamo-2-1b", 1, 0},
    Row{"plamo-2-8b", 8, 0},
    Row{"phi-4-mini-flash", 3.8, 0, published},
    Row{"hymba-1.5b", 1.5, 0},
    Row{"falcon-mamba-7b", 7, 0},
    Row{"codestral-mamba-7b", 7, 0},
    Row{"rwkv-7-0.4b", 0.4, 0},
    Row{"rwkv-7-1.5b", 1.5, 0},
    Row{"rwkv-7-2.9b", 2.9, 0},
    Row{"rwkv-7-7.2b", 7.2, 0},
};

double hidden_size(const ModelArchitecture& model) {
  const double width = static_cast<double>(model.heads) * model.head_dim;
  switch (model.mixer) {
    case Mixer::rwkv7:
    case Mixer::short_conv:
      return model.channels;
    case Mixer::mamba1:
      return model.channels / 2.0;
    case Mixer::mamba2:  // Falcon-H1 runs attention beside a narrower mixer
      return model.family == hybridmem::ModelFamily::falcon_h1 ? width : width / 2.0;
    case Mixer::lightning:
      return width;
    case Mixer::gated_delta:
    case Mixer::kimi_delta:
      return width / 2.0;
  }
  return 0.0;
}

}  // namespace

std::optional<ModelSize> find_model_size(std::string_view name) {
  const hybridmem::ModelPreset* const preset = hybridmem::find_preset(name);
  if (preset == nullptr) return std::nullopt;
  for (const Row& row : table)
    if (row.preset == std::string_view(preset->architecture.name))
      return ModelSize{row.total * 1e9, (row.active > 0 ? row.active : row.total) * 1e9,
                       row.source};
  return std::nullopt;
}

ModelSize estimate_model_size(const ModelArchitecture& model) {
  constexpr double embeddings = 2.0 * 128'000.0;
  const double hidden = hidden_size(model);
  const double parameters = hidden * (12.0 * hidden * model.hidden_layers + embeddings);
  return {parameters, parameters, estimated};
}

ModelSize model_size(const ModelArchitecture& model) {
  const std::optional<ModelSize> known = find_model_size(std::string_view(model.name));
  return known ? *known : estimate_model_size(model);
}

}  // namespace hybridmem_simulator
