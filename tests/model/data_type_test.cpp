// DataType and StateDtype: sizes, names and the spellings that configuration files use.
#include "hybridmem/model/data_type.hpp"

#include <doctest/doctest.h>

#include <string_view>

namespace {

using namespace hybridmem;

TEST_CASE("bytes and names of element types") {
  CHECK(bytes_of(DataType::byte) == 1);
  CHECK(bytes_of(DataType::fp8) == 1);
  CHECK(bytes_of(DataType::bf16) == 2);
  CHECK(bytes_of(DataType::fp16) == 2);
  CHECK(bytes_of(DataType::fp32) == 4);
  CHECK(bytes_of(static_cast<DataType>(99)) == 0);
  for (const DataType type : {DataType::fp8, DataType::bf16, DataType::fp16, DataType::fp32})
    CHECK(*parse_data_type(name_of(type)) == type);
  CHECK(std::string_view(name_of(DataType::byte)) == "byte");
  CHECK(std::string_view(name_of(static_cast<DataType>(99))) == "unknown");
}

TEST_CASE("element types are read in every spelling of configuration files") {
  for (const char* text : {"bf16", "bfloat16", "torch.bfloat16"})
    CHECK(*parse_data_type(text) == DataType::bf16);
  for (const char* text : {"fp16", "float16", "half", "torch.float16", "torch.half"})
    CHECK(*parse_data_type(text) == DataType::fp16);
  for (const char* text : {"fp32", "float32", "float", "torch.float32"})
    CHECK(*parse_data_type(text) == DataType::fp32);
  for (const char* text :
       {"fp8", "fp8_e4m3", "fp8_e5m2", "float8_e4m3fn", "float8_e5m2", "torch.float8_e4m3fn"})
    CHECK(*parse_data_type(text) == DataType::fp8);
}

TEST_CASE("an unknown element type is an error") {
  for (const char* text :
       {"", "torch.", "auto", "float64", "BFLOAT16", "torch.torch.half", "byte"}) {
    CAPTURE(text);
    const auto type = parse_data_type(text);
    REQUIRE_FALSE(type.has_value());
    CHECK(type.error() == Error::unknown_name);
  }
}

TEST_CASE("choices of the state type are read by their names") {
  for (const StateDtype choice : {StateDtype::auto_vllm, StateDtype::auto_sglang, StateDtype::bf16,
                                  StateDtype::fp16, StateDtype::fp32})
    CHECK(*parse_state_dtype(name_of(choice)) == choice);
  CHECK(parse_state_dtype("auto").error() == Error::unknown_name);
  CHECK(parse_state_dtype("").error() == Error::unknown_name);
  CHECK(std::string_view(name_of(static_cast<StateDtype>(99))) == "unknown");
}

static_assert(bytes_of(DataType::fp32) == 4);
static_assert(*parse_data_type("torch.bfloat16") == DataType::bf16);
static_assert(*parse_state_dtype("auto-sglang") == StateDtype::auto_sglang);

}  // namespace
