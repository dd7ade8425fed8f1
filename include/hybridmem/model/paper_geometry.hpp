// The geometries the paper measured, and the settings it used for them.
#pragma once

#include <cstdint>

#include "hybridmem/model/state_geometry.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// What the paper fixed for a geometry it measured; zeros where it fixed nothing.
struct PaperSettings {
  bool power_of_two_slots = false;
  Tokens dual_interval_tokens = 0;              ///< StaticDualPool's checkpoint interval
  std::uint32_t dual_attention_millionths = 0;  ///< StaticDualPool's split (table B-3)
};

/// The paper's settings for `geometry`: Falcon-H1-7B and Granite-4.0-H-Micro in bf16 on one rank
/// (tables 1 and B-3). A geometry is recognised by its bytes, not its name: Falcon-H1-1.5B, whose
/// layers have the same, gets the same settings. Any other geometry has none.
constexpr PaperSettings paper_settings(const StateGeometry& geometry) noexcept {
  const auto is = [&geometry](std::uint64_t kv, std::uint64_t recurrent, std::uint64_t conv) {
    return geometry.kv_bytes_per_token_layer == kv &&
           geometry.recurrent_bytes_layer() == recurrent && geometry.conv_bytes_layer() == conv;
  };
  if (is(1'024, 1'572'864, 21'504) && geometry.attention_layers == geometry.recurrent_layers)
    return {true, 1'792, 527'383};
  if (is(2'048, 1'048'576, 26'112) && geometry.attention_layers == 4 &&
      geometry.recurrent_layers == 36)
    return {false, 0, 199'699};
  return {};
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
