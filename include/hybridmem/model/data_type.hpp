// DataType: the element types of state and KV, and which of them an engine uses when it is not
// told.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "hybridmem/core/result.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// The element type of a tensor.
enum class DataType : std::uint8_t { byte, fp8, bf16, fp16, fp32 };

/// Bytes of one element.
constexpr std::uint64_t bytes_of(DataType type) noexcept {
  switch (type) {
    case DataType::byte:
    case DataType::fp8:
      return 1;
    case DataType::bf16:
    case DataType::fp16:
      return 2;
    case DataType::fp32:
      return 4;
  }
  return 0;
}

constexpr const char* name_of(DataType type) noexcept {
  switch (type) {
    case DataType::byte:
      return "byte";
    case DataType::fp8:
      return "fp8";
    case DataType::bf16:
      return "bf16";
    case DataType::fp16:
      return "fp16";
    case DataType::fp32:
      return "fp32";
  }
  return "unknown";
}

/// Reads an element type: the names above and the spellings that configuration files and engines
/// use
/// (`bfloat16`, `torch.bfloat16`, `float16`, `half`, `float32`, `float`, `fp8_e4m3`,
/// `float8_e5m2`...). Errors: `unknown_name`.
constexpr Result<DataType> parse_data_type(std::string_view text) {
  constexpr std::string_view torch = "torch.";
  if (text.starts_with(torch)) text.remove_prefix(torch.size());
  if (text == "bf16" || text == "bfloat16") return DataType::bf16;
  if (text == "fp16" || text == "float16" || text == "half") return DataType::fp16;
  if (text == "fp32" || text == "float32" || text == "float") return DataType::fp32;
  if (text == "fp8" || text == "fp8_e4m3" || text == "fp8_e5m2" || text == "float8_e4m3fn" ||
      text == "float8_e5m2")
    return DataType::fp8;
  return Error::unknown_name;
}

/// How the element type of the recurrent state is chosen. Engines disagree on the default for the
/// same model, and the choice can double every byte, so it is always an input.
enum class StateDtype : std::uint8_t {
  auto_vllm,    ///< as vLLM chooses with `mamba_cache_dtype` and `mamba_ssm_cache_dtype` at `auto`
  auto_sglang,  ///< as SGLang chooses without environment overrides
  bf16,
  fp16,
  fp32,
};

constexpr const char* name_of(StateDtype choice) noexcept {
  switch (choice) {
    case StateDtype::auto_vllm:
      return "auto-vllm";
    case StateDtype::auto_sglang:
      return "auto-sglang";
    case StateDtype::bf16:
      return "bf16";
    case StateDtype::fp16:
      return "fp16";
    case StateDtype::fp32:
      return "fp32";
  }
  return "unknown";
}

/// Reads a choice by its name above. Errors: `unknown_name`.
constexpr Result<StateDtype> parse_state_dtype(std::string_view text) {
  constexpr std::array choices{StateDtype::auto_vllm, StateDtype::auto_sglang, StateDtype::bf16,
                               StateDtype::fp16, StateDtype::fp32};
  for (const StateDtype choice : choices)
    if (text == name_of(choice)) return choice;
  return Error::unknown_name;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
