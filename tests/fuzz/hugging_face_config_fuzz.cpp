// Any text either describes an architecture or is refused with a ConfigError of one line; and an
// architecture either has a geometry or a typed error. Seeds: tests/data/configs.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hybridmem/model/hugging_face_config.hpp"
#include "hybridmem/model/make_geometry.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const hybridmem::ModelArchitecture model = hybridmem::parse_hugging_face_config(text);
    if (model.recurrent_layers == 0 || model.recurrent_layers > model.hidden_layers ||
        model.attention_layers > model.hidden_layers ||
        model.sliding_window_layers > model.attention_layers)
      std::abort();
    for (const std::uint32_t ranks : {1U, 2U, 3U, 8U}) {
      const auto geometry = hybridmem::make_geometry(model, {.tensor_parallel = ranks});
      if (!geometry && geometry.error().code == hybridmem::Error::none) std::abort();
    }
  } catch (const hybridmem::ConfigError& error) {
    const std::string_view message = error.what();
    if (error.code() == hybridmem::Error::none || error.field().empty() ||
        message.find('\n') != std::string_view::npos || message.size() > 1000)
      std::abort();
  }
  return 0;
}
