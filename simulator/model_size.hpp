// ModelSize: how many parameters a model has, for the roofline alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "hybridmem/model/model_architecture.hpp"

namespace hybridmem_simulator {

/// Where a parameter count comes from.
enum class SizeSource : std::uint8_t {
  name,       ///< the model's name says it: 7B, 30B-A3B
  published,  ///< its publisher's figure; the name does not say it
  estimated,  ///< from the shape of its state, right to a factor of about four
  given,      ///< the caller says it
};

constexpr const char* name_of(SizeSource source) noexcept {
  switch (source) {
    case SizeSource::name:
      return "by its name";
    case SizeSource::published:
      return "published";
    case SizeSource::estimated:
      return "estimated";
    case SizeSource::given:
      return "given";
  }
  return "unknown";
}

struct ModelSize {
  double total_parameters = 0.0;
  double active_parameters = 0.0;  ///< per token; all of them without experts
  SizeSource source = SizeSource::given;
};

/// The size of the preset called `name`, by any name that `hybridmem::find_preset` takes; nothing
/// where it is not known.
std::optional<ModelSize> find_model_size(std::string_view name);

/// A dense estimate: 12 h^2 parameters a layer and an embedding of 128,000 words at both ends, with
/// h the hidden size. A `ModelArchitecture` does not hold h, so it is taken as the inner width of
/// the recurrent layers by the usual ratio of the mixer. Experts cannot be seen: for a mixture the
/// result is about its active parameters.
ModelSize estimate_model_size(const hybridmem::ModelArchitecture& model);

/// `find_model_size` of the model's name, else the estimate.
ModelSize model_size(const hybridmem::ModelArchitecture& model);

}  // namespace hybridmem_simulator
