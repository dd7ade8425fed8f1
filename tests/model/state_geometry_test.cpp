// Sums over a geometry's tensors, and geometries made from numbers.
#include "hybridmem/model/state_geometry.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "support/geometries.hpp"

using namespace hybridmem;
using namespace hybridmem_test;

namespace {

InputError error_of(const GeometryNumbers& numbers) {
  const auto geometry = make_geometry(numbers);
  REQUIRE_FALSE(geometry);
  return geometry.error();
}

StateTensor tensor(StateRole role, DataType dtype, std::uint8_t rank, std::uint32_t a,
                   std::uint32_t b = 0, std::uint32_t c = 0) {
  StateTensor out;
  out.role = role;
  out.dtype = dtype;
  out.rank = rank;
  out.shape = {a, b, c};
  return out;
}

}  // namespace

static_assert(std::is_trivially_copyable_v<StateGeometry>);

TEST_CASE("the paper's geometry: bytes of a layer and of all layers") {
  const StateGeometry geometry = geometry_of(falcon_numbers);
  CHECK(geometry.recurrent_bytes_layer() == 1'572'864);
  CHECK(geometry.conv_bytes_layer() == 21'504);
  CHECK(geometry.checkpoint_bytes_layer() == 1'594'368);
  CHECK(geometry.checkpoint_bytes() == 70'152'192);
  CHECK(geometry.kv_bytes_per_token() == 45'056);
  CHECK(geometry.break_even_tokens() == 1'557.0);
}

TEST_CASE("break-even tokens weigh all layers: few attention layers make it long") {
  CHECK(geometry_of(granite_numbers).break_even_tokens() == doctest::Approx(4722.75));
  CHECK(geometry_of(nemotron_numbers).break_even_tokens() == doctest::Approx(7988.6667));
}

TEST_CASE("tensors add up by their role, in any order and number") {
  StateGeometry geometry;
  geometry.recurrent_layers = 3;
  geometry.tensors = {tensor(StateRole::convolution, DataType::bf16, 2, 3, 10),
                      tensor(StateRole::recurrent, DataType::fp32, 3, 2, 4, 8),
                      tensor(StateRole::recurrent, DataType::byte, 1, 7),
                      tensor(StateRole::convolution, DataType::fp8, 1, 5),
                      tensor(StateRole::recurrent, DataType::fp16, 2, 2, 2),
                      tensor(StateRole::recurrent, DataType::bf16, 1, 1'000'000)};
  geometry.tensor_count = 5;  // the sixth is not part of it
  CHECK(geometry.state_tensors().size() == 5);
  CHECK(geometry.recurrent_bytes_layer() == 256 + 7 + 8);
  CHECK(geometry.conv_bytes_layer() == 60 + 5);
  CHECK(geometry.checkpoint_bytes_layer() == 336);
  CHECK(geometry.checkpoint_bytes() == 1'008);
  geometry.tensor_count = 6;
  CHECK(geometry.recurrent_bytes_layer() == 271 + 2'000'000);
  geometry.tensor_count = 0;
  CHECK(geometry.checkpoint_bytes_layer() == 0);
  CHECK(geometry.state_tensors().empty());
}

TEST_CASE("without attention layers no token weighs anything") {
  GeometryNumbers numbers = falcon_numbers;
  numbers.attention_layers = 0;
  const StateGeometry geometry = geometry_of(numbers);
  CHECK(geometry.kv_bytes_per_token_layer == 0);
  CHECK(geometry.kv_bytes_per_token() == 0);
  CHECK(geometry.break_even_tokens() == 0.0);
}

TEST_CASE("numbers become one byte tensor for each kind of state that is there") {
  GeometryNumbers numbers = falcon_numbers;
  StateGeometry geometry = geometry_of(numbers);
  REQUIRE(geometry.state_tensors().size() == 2);
  CHECK(geometry.state_tensors()[0].role == StateRole::recurrent);
  CHECK(geometry.state_tensors()[1].role == StateRole::convolution);
  CHECK(geometry.kernel_chunk_tokens == 128);
  CHECK(geometry.attention_alignment_tokens == 16);
  numbers.conv_bytes_layer = 0;
  geometry = geometry_of(numbers);
  REQUIRE(geometry.state_tensors().size() == 1);
  CHECK(geometry.state_tensors()[0].role == StateRole::recurrent);
  CHECK(geometry.conv_bytes_layer() == 0);
  numbers.conv_bytes_layer = 21'504;
  numbers.recurrent_bytes_layer = 0;
  numbers.attention_alignment_tokens = 64;
  geometry = geometry_of(numbers);
  REQUIRE(geometry.state_tensors().size() == 1);
  CHECK(geometry.recurrent_bytes_layer() == 0);
  CHECK(geometry.checkpoint_bytes_layer() == 21'504);
  CHECK(geometry.attention_alignment_tokens == 64);
}

TEST_CASE("numbers that describe no hybrid model are refused") {
  GeometryNumbers numbers = falcon_numbers;
  numbers.recurrent_layers = 0;
  CHECK(error_of(numbers).code == Error::not_hybrid);
  CHECK(std::string(error_of(numbers).field) == "recurrent layers");
  numbers = falcon_numbers;
  numbers.recurrent_bytes_layer = 0;
  numbers.conv_bytes_layer = 0;
  CHECK(error_of(numbers).code == Error::not_hybrid);
  CHECK(std::string(error_of(numbers).field) == "recurrent_bytes_layer");
  numbers = falcon_numbers;
  numbers.kv_bytes_per_token_layer = 0;
  CHECK(error_of(numbers).code == Error::missing);
  CHECK(std::string(error_of(numbers).field) == "kv_bytes_per_token_layer");
  numbers = falcon_numbers;
  numbers.attention_alignment_tokens = 0;
  CHECK(error_of(numbers).code == Error::bad_argument);
  CHECK(std::string(error_of(numbers).field) == "attention_alignment_tokens");
}

TEST_CASE("numbers beyond their range are refused, those at its end are not") {
  constexpr std::uint64_t four_gib = std::uint64_t{1} << 32U;
  for (std::uint64_t GeometryNumbers::*field :
       {&GeometryNumbers::kv_bytes_per_token_layer, &GeometryNumbers::recurrent_bytes_layer,
        &GeometryNumbers::conv_bytes_layer}) {
    GeometryNumbers numbers{1, 1, 1, 1, 1, 0, 16};
    numbers.*field = four_gib - 1;
    CHECK(make_geometry(numbers).has_value());
    numbers.*field = four_gib;
    CHECK(error_of(numbers).code == Error::overflow);
  }
  GeometryNumbers numbers{65'536, 65'536, 1, 1, 0, 0, 16};
  CHECK(make_geometry(numbers).has_value());
  numbers.attention_layers = 65'537;
  CHECK(error_of(numbers).code == Error::overflow);
  CHECK(std::string(error_of(numbers).field) == "attention layers");
  numbers.attention_layers = 1;
  numbers.recurrent_layers = 65'537;
  CHECK(error_of(numbers).code == Error::overflow);
  CHECK(std::string(error_of(numbers).field) == "recurrent layers");
  // 2^32 - 1 bytes a token, 65536 layers and a million tokens leave 63 bits.
  numbers = {65'536, 1, four_gib - 1, 1, 0, 0, 16};
  CHECK(error_of(numbers).code == Error::overflow);
  CHECK(std::string(error_of(numbers).field) == "state bytes over all layers");
}

TEST_CASE("any geometry: what goes in comes out") {
  CHECK(rc::check("bytes", [] {
    const GeometryNumbers numbers = *any_numbers();
    const auto geometry = make_geometry(numbers);
    RC_ASSERT(geometry.has_value());
    RC_ASSERT(geometry->recurrent_bytes_layer() == numbers.recurrent_bytes_layer);
    RC_ASSERT(geometry->conv_bytes_layer() == numbers.conv_bytes_layer);
    RC_ASSERT(geometry->checkpoint_bytes() ==
              (numbers.recurrent_bytes_layer + numbers.conv_bytes_layer) *
                  numbers.recurrent_layers);
    RC_ASSERT(geometry->kv_bytes_per_token() ==
              numbers.kv_bytes_per_token_layer * numbers.attention_layers);
  }));
}
