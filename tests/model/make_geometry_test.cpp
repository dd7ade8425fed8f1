// make_geometry: which element types an engine chooses, what is shared out among ranks, and every
// error with the field it names.
#include "hybridmem/model/make_geometry.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string_view>

#include "hybridmem/model/preset.hpp"

namespace {

using namespace hybridmem;

const ModelArchitecture& preset(std::string_view name) {
  const ModelPreset* found = find_preset(name);
  REQUIRE(found != nullptr);
  return found->architecture;
}

StateDataTypes types(std::string_view name, StateDtype choice) {
  return state_data_types(preset(name), choice);
}

/// The error of a geometry that must not exist.
InputError error_of(const ModelArchitecture& model, const GeometryOptions& options = {}) {
  const auto geometry = make_geometry(model, options);
  REQUIRE_FALSE(geometry.has_value());
  REQUIRE(geometry.error().field != nullptr);
  return geometry.error();
}

InputError error_of(const GeometryNumbers& numbers) {
  const auto geometry = make_geometry(numbers);
  REQUIRE_FALSE(geometry.has_value());
  REQUIRE(geometry.error().field != nullptr);
  return geometry.error();
}

void check_error(const InputError& error, Error code, std::string_view field) {
  CHECK(error.code == code);
  CHECK(std::string_view(error.field) == field);
}

constexpr GeometryNumbers falcon_numbers{.attention_layers = 44,
                                         .recurrent_layers = 44,
                                         .kv_bytes_per_token_layer = 1024,
                                         .recurrent_bytes_layer = 1'572'864,
                                         .conv_bytes_layer = 21'504,
                                         .kernel_chunk_tokens = 128};

TEST_CASE("vLLM keeps the state in the type of the model") {
  for (const char* name :
       {"falcon-h1-7b", "granite-4.0-h-tiny", "bamba-9b", "zamba2-7b", "jamba-1.5-mini",
        "plamo-2-1b", "qwen3-next-80b-a3b", "minimax-m1", "ring-mini-linear-2.0",
        "phi-4-mini-flash", "hymba-1.5b", "falcon-mamba-7b", "codestral-mamba-7b"}) {
    CAPTURE(name);
    CHECK(types(name, StateDtype::auto_vllm).recurrent == DataType::bf16);
    CHECK(types(name, StateDtype::auto_vllm).convolution == DataType::bf16);
    ModelArchitecture half = preset(name);
    half.model_dtype = DataType::fp16;
    CHECK(state_data_types(half, StateDtype::auto_vllm).recurrent == DataType::fp16);
    CHECK(state_data_types(half, StateDtype::auto_vllm).convolution == DataType::fp16);
  }
}

TEST_CASE("vLLM keeps the state of some families in another type than the model's") {
  for (const char* name : {"nemotron-nano-9b-v2", "qwen3.5-27b", "kimi-k3", "rwkv-7-1.5b"}) {
    CAPTURE(name);
    CHECK(types(name, StateDtype::auto_vllm).recurrent == DataType::fp32);
    CHECK(types(name, StateDtype::auto_vllm).convolution == DataType::bf16);
  }
  ModelArchitecture nemotron = preset("nemotron-nano-9b-v2");
  nemotron.mamba_ssm_cache_dtype = DataType::fp16;
  CHECK(state_data_types(nemotron, StateDtype::auto_vllm).recurrent == DataType::fp16);
  nemotron.has_mamba_ssm_cache_dtype = false;
  CHECK(state_data_types(nemotron, StateDtype::auto_vllm).recurrent == DataType::fp32);
  ModelArchitecture qwen = preset("qwen3.5-27b");
  qwen.mamba_ssm_dtype = DataType::fp16;
  CHECK(state_data_types(qwen, StateDtype::auto_vllm).recurrent == DataType::fp16);
  qwen.has_mamba_ssm_dtype = false;
  CHECK(state_data_types(qwen, StateDtype::auto_vllm).recurrent == DataType::bf16);
  // The field counts for no other family.
  ModelArchitecture falcon = preset("falcon-h1-7b");
  falcon.has_mamba_ssm_dtype = true;
  falcon.mamba_ssm_dtype = DataType::fp32;
  CHECK(state_data_types(falcon, StateDtype::auto_vllm).recurrent == DataType::bf16);
}

TEST_CASE("SGLang keeps the state in fp32 unless the configuration says otherwise") {
  for (const ModelPreset& known : model_presets()) {
    CAPTURE(known.architecture.name.view());
    const StateDataTypes chosen = state_data_types(known.architecture, StateDtype::auto_sglang);
    CHECK(chosen.recurrent == DataType::fp32);
    CHECK(chosen.convolution == DataType::bf16);
  }
  ModelArchitecture qwen = preset("qwen3.5-27b");
  qwen.mamba_ssm_dtype = DataType::bf16;
  qwen.model_dtype = DataType::fp16;
  CHECK(state_data_types(qwen, StateDtype::auto_sglang).recurrent == DataType::bf16);
  CHECK(state_data_types(qwen, StateDtype::auto_sglang).convolution == DataType::bf16);
}

TEST_CASE("one checkpoint doubles from vLLM to SGLang") {
  for (const char* name : {"falcon-h1-7b", "granite-4.0-h-micro", "qwen3-next-80b-a3b"}) {
    const auto vllm = make_geometry(preset(name));
    const auto sglang = make_geometry(preset(name), {.state_dtype = StateDtype::auto_sglang});
    CHECK(sglang->recurrent_bytes_layer() == 2 * vllm->recurrent_bytes_layer());
    CHECK(sglang->conv_bytes_layer() == vllm->conv_bytes_layer());
  }
}

TEST_CASE("an explicit state type leaves the convolution window alone") {
  ModelArchitecture model = preset("nemotron-nano-9b-v2");
  model.model_dtype = DataType::fp16;
  for (const auto& [choice, expected] : {std::pair{StateDtype::bf16, DataType::bf16},
                                         {StateDtype::fp16, DataType::fp16},
                                         {StateDtype::fp32, DataType::fp32}}) {
    CHECK(state_data_types(model, choice).recurrent == expected);
    CHECK(state_data_types(model, choice).convolution == DataType::fp16);
  }
}

TEST_CASE("the type of the KV is the model's unless it is given") {
  const ModelArchitecture& model = preset("falcon-h1-7b");
  CHECK(make_geometry(model)->kv_bytes_per_token_layer == 1024);
  GeometryOptions options;
  options.kv_dtype_is_model_dtype = false;
  options.kv_dtype = DataType::fp8;
  CHECK(make_geometry(model, options)->kv_bytes_per_token_layer == 512);
  CHECK(make_geometry(model, options)->kv_dtype == DataType::fp8);
  CHECK(make_geometry(preset("kimi-k3"), options)->kv_bytes_per_token_layer == 576);
}

TEST_CASE("latent attention is whole on every rank and aligned to 64 tokens") {
  for (const std::uint32_t ranks : {1U, 2U, 8U}) {
    const auto geometry = make_geometry(preset("kimi-k3"), {.tensor_parallel = ranks});
    CHECK(geometry->kv_bytes_per_token_layer == 1152);
    CHECK(geometry->attention_alignment_tokens == 64);
  }
  CHECK(make_geometry(preset("falcon-h1-7b"))->attention_alignment_tokens == 16);
}

TEST_CASE("token shift vectors are whole on every rank") {
  const auto geometry = make_geometry(preset("rwkv-7-1.5b"), {.tensor_parallel = 8});
  CHECK(geometry->tensor_count == 3);
  CHECK(geometry->conv_bytes_layer() == 8192);
  CHECK(geometry->recurrent_bytes_layer() == 65'536);
  CHECK(geometry->kv_bytes_per_token() == 0);
  CHECK(geometry->break_even_tokens() == 0.0);
}

TEST_CASE("a convolution of one tap keeps no window") {
  ModelArchitecture model = preset("falcon-h1-7b");
  model.conv_kernel = 1;
  CHECK(make_geometry(model)->tensor_count == 1);
  CHECK(make_geometry(model)->conv_bytes_layer() == 0);
}

TEST_CASE("ranks that do not divide the heads are refused") {
  const ModelArchitecture& falcon = preset("falcon-h1-7b");
  CHECK(make_geometry(falcon, {.tensor_parallel = 24}).has_value());
  check_error(error_of(falcon, {.tensor_parallel = 3}), Error::not_divisible, "tensor_parallel");
  check_error(error_of(falcon, {.tensor_parallel = 16}), Error::not_divisible, "tensor_parallel");
  check_error(error_of(preset("hymba-1.5b"), {.tensor_parallel = 2}), Error::not_divisible,
              "tensor_parallel");
  CHECK(make_geometry(preset("hymba-1.5b"), {.tensor_parallel = 5}).has_value());
  check_error(error_of(preset("qwen3.5-27b"), {.tensor_parallel = 32}), Error::not_divisible,
              "tensor_parallel");
  check_error(error_of(preset("kimi-linear-48b-a3b"), {.tensor_parallel = 3}), Error::not_divisible,
              "tensor_parallel");
  check_error(error_of(preset("lfm2-350m"), {.tensor_parallel = 3}), Error::not_divisible,
              "tensor_parallel");
  check_error(error_of(preset("falcon-mamba-7b"), {.tensor_parallel = 3}), Error::not_divisible,
              "tensor_parallel");
  check_error(error_of(preset("rwkv-7-2.9b"), {.tensor_parallel = 16}), Error::not_divisible,
              "tensor_parallel");
}

TEST_CASE("a number of ranks outside its range is refused") {
  check_error(error_of(preset("falcon-h1-7b"), {.tensor_parallel = 0}), Error::bad_argument,
              "tensor_parallel");
  check_error(error_of(preset("falcon-h1-7b"), {.tensor_parallel = 4097}), Error::bad_argument,
              "tensor_parallel");
}

TEST_CASE("a size that the mixer needs is named when it is zero") {
  struct Case {
    const char* preset;
    std::uint32_t ModelArchitecture::*extent;
    const char* field;
  };
  for (const Case& one : {Case{"falcon-h1-7b", &ModelArchitecture::heads, "recurrent heads"},
                          {"falcon-h1-7b", &ModelArchitecture::head_dim, "recurrent head size"},
                          {"falcon-h1-7b", &ModelArchitecture::state_dim, "state size"},
                          {"falcon-h1-7b", &ModelArchitecture::conv_kernel, "conv kernel"},
                          {"falcon-h1-7b", &ModelArchitecture::kv_heads, "key-value heads"},
                          {"falcon-h1-7b", &ModelArchitecture::kv_head_dim, "attention head size"},
                          {"jamba-1.5-mini", &ModelArchitecture::channels, "inner channels"},
                          {"jamba-1.5-mini", &ModelArchitecture::state_dim, "state size"},
                          {"jamba-1.5-mini", &ModelArchitecture::conv_kernel, "conv kernel"},
                          {"qwen3.5-9b", &ModelArchitecture::heads, "value heads"},
                          {"qwen3.5-9b", &ModelArchitecture::head_dim, "value head size"},
                          {"qwen3.5-9b", &ModelArchitecture::groups, "key heads"},
                          {"qwen3.5-9b", &ModelArchitecture::state_dim, "key head size"},
                          {"qwen3.5-9b", &ModelArchitecture::conv_kernel, "conv kernel"},
                          {"minimax-m1", &ModelArchitecture::heads, "recurrent heads"},
                          {"minimax-m1", &ModelArchitecture::head_dim, "recurrent head size"},
                          {"lfm2-350m", &ModelArchitecture::channels, "convolution channels"},
                          {"lfm2-350m", &ModelArchitecture::conv_kernel, "conv kernel minus one"},
                          {"rwkv-7-0.4b", &ModelArchitecture::heads, "recurrent heads"},
                          {"rwkv-7-0.4b", &ModelArchitecture::head_dim, "recurrent head size"},
                          {"rwkv-7-0.4b", &ModelArchitecture::channels, "hidden size"}}) {
    CAPTURE(one.preset);
    CAPTURE(one.field);
    ModelArchitecture model = preset(one.preset);
    model.*one.extent = 0;
    check_error(error_of(model), Error::missing, one.field);
    model.*one.extent = (1U << 26U) + 2;
    const InputError large = error_of(model);
    CHECK(large.code == Error::overflow);
    CHECK(large.value >= (1U << 26U));
  }
}

TEST_CASE("layers are counted and bounded") {
  ModelArchitecture model = preset("falcon-h1-7b");
  model.recurrent_layers = 0;
  check_error(error_of(model), Error::not_hybrid, "recurrent layers");
  model.recurrent_layers = 65'537;
  check_error(error_of(model), Error::overflow, "recurrent layers");
  model.recurrent_layers = 65'536;
  CHECK(make_geometry(model).has_value());
  model.attention_layers = 65'537;
  check_error(error_of(model), Error::overflow, "attention layers");
}

TEST_CASE("products beyond the range of extents or bytes are refused") {
  ModelArchitecture model = preset("falcon-h1-7b");
  model.heads = 1U << 26U;
  model.head_dim = 1U << 26U;
  check_error(error_of(model), Error::overflow, "convolution channels");
  ModelArchitecture lightning = preset("minimax-m1");
  lightning.heads = 1U << 26U;
  lightning.head_dim = 1U << 26U;
  check_error(error_of(lightning), Error::overflow, "state bytes over all layers");
  ModelArchitecture latent = preset("kimi-k3");
  latent.kv_latent_dim = (1U << 26U) + 1;
  check_error(error_of(latent), Error::overflow, "latent attention width");
}

TEST_CASE("an unknown mixer is refused") {
  ModelArchitecture model = preset("falcon-h1-7b");
  model.mixer = static_cast<Mixer>(99);
  check_error(error_of(model), Error::bad_argument, "mixer");
}

TEST_CASE("a geometry from numbers has one byte tensor for each kind of state") {
  const auto geometry = make_geometry(falcon_numbers);
  REQUIRE(geometry.has_value());
  CHECK(geometry->name.view() == "custom");
  CHECK(geometry->tensor_count == 2);
  CHECK(geometry->tensors[0].dtype == DataType::byte);
  const auto named = make_geometry(preset("falcon-h1-7b"));
  CHECK(geometry->recurrent_bytes_layer() == named->recurrent_bytes_layer());
  CHECK(geometry->conv_bytes_layer() == named->conv_bytes_layer());
  CHECK(geometry->checkpoint_bytes() == named->checkpoint_bytes());
  CHECK(geometry->kv_bytes_per_token() == named->kv_bytes_per_token());
  CHECK(geometry->break_even_tokens() == named->break_even_tokens());

  GeometryNumbers short_conv = falcon_numbers;
  short_conv.recurrent_bytes_layer = 0;
  CHECK(make_geometry(short_conv)->tensor_count == 1);
  CHECK(make_geometry(short_conv)->tensors[0].role == StateRole::convolution);
  GeometryNumbers recurrent_alone = falcon_numbers;
  recurrent_alone.attention_layers = 0;
  CHECK(make_geometry(recurrent_alone)->kv_bytes_per_token_layer == 0);
}

TEST_CASE("numbers that make no geometry are refused by name") {
  GeometryNumbers numbers = falcon_numbers;
  numbers.kv_bytes_per_token_layer = 0;
  check_error(error_of(numbers), Error::missing, "kv_bytes_per_token_layer");
  numbers = falcon_numbers;
  numbers.recurrent_layers = 0;
  check_error(error_of(numbers), Error::not_hybrid, "recurrent layers");
  numbers = falcon_numbers;
  numbers.recurrent_bytes_layer = 0;
  numbers.conv_bytes_layer = 0;
  check_error(error_of(numbers), Error::not_hybrid, "recurrent_bytes_layer");
  numbers = falcon_numbers;
  numbers.attention_alignment_tokens = 0;
  check_error(error_of(numbers), Error::bad_argument, "attention_alignment_tokens");
  for (const auto& [extent, field] :
       {std::pair{&GeometryNumbers::kv_bytes_per_token_layer, "kv_bytes_per_token_layer"},
        {&GeometryNumbers::recurrent_bytes_layer, "recurrent_bytes_layer"},
        {&GeometryNumbers::conv_bytes_layer, "conv_bytes_layer"}}) {
    numbers = falcon_numbers;
    numbers.*extent = std::uint64_t{1} << 32U;
    check_error(error_of(numbers), Error::overflow, field);
    numbers.*extent = std::numeric_limits<std::uint64_t>::max();
    check_error(error_of(numbers), Error::overflow, field);
  }
}

static_assert(make_geometry(find_preset("falcon-h1-7b")->architecture)->checkpoint_bytes_layer() ==
              1'594'368);

}  // namespace
