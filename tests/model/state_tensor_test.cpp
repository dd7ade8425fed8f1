// StateTensor: bytes, and how tensor parallelism shares out channels and groups.
#include "hybridmem/model/state_tensor.hpp"

#include <doctest/doctest.h>

#include <string_view>

namespace {

using namespace hybridmem;

/// Mamba-2's window: three columns over x, and B and C of each group.
StateTensor window(std::uint32_t divided, std::uint32_t groups, std::uint32_t group_extent) {
  StateTensor tensor;
  tensor.name = "conv";
  tensor.role = StateRole::convolution;
  tensor.rank = 2;
  tensor.split_axis = 1;
  tensor.shape = {3, divided + groups * group_extent, 0};
  tensor.divided = divided;
  tensor.groups = groups;
  tensor.group_extent = group_extent;
  return tensor;
}

TEST_CASE("bytes are the product of the extents within the rank") {
  StateTensor tensor;
  tensor.rank = 3;
  tensor.shape = {24, 128, 256};
  tensor.dtype = DataType::bf16;
  CHECK(tensor.bytes().value() == 1'572'864);
  tensor.dtype = DataType::fp32;
  CHECK(tensor.bytes().value() == 3'145'728);
  tensor.rank = 2;
  CHECK(tensor.bytes().value() == 24 * 128 * 4);
  tensor.rank = 0;
  CHECK(tensor.bytes().value() == 4);
}

TEST_CASE("bytes beyond 64 bits are marked as overflowed") {
  StateTensor tensor;
  tensor.rank = 3;
  tensor.shape = {0xFFFF'FFFFU, 0xFFFF'FFFFU, 0xFFFF'FFFFU};
  CHECK(tensor.bytes().overflowed());
  tensor.shape = {0, 0xFFFF'FFFFU, 0xFFFF'FFFFU};
  CHECK(tensor.bytes().value() == 0);
}

TEST_CASE("one group is kept once on every rank and the rest is shared out") {
  const StateTensor whole = window(3072, 1, 512);
  for (const auto& [ranks, channels] :
       {std::pair{1U, 3584U}, {2U, 2048U}, {4U, 1280U}, {8U, 896U}}) {
    CAPTURE(ranks);
    const auto part = shard(whole, ranks);
    REQUIRE(part.has_value());
    CHECK(part->shape[0] == 3);
    CHECK(part->shape[1] == channels);
    CHECK(part->groups == 1);
  }
}

TEST_CASE("several groups are shared out and then kept once") {
  const StateTensor whole = window(4096, 2, 512);
  CHECK(shard(whole, 2)->shape[1] == 2048 + 512);
  CHECK(shard(whole, 4)->shape[1] == 1024 + 512);
  const StateTensor eight = window(8192, 8, 256);
  CHECK(shard(eight, 4)->shape[1] == 2048 + 2 * 256);
  CHECK(shard(eight, 16)->shape[1] == 512 + 256);
}

TEST_CASE("a tensor without a split axis is whole on every rank") {
  StateTensor tensor = window(2048, 0, 0);
  tensor.split_axis = -1;
  CHECK(shard(tensor, 8)->shape[1] == 2048);
  CHECK(shard(tensor, 7).has_value());
}

TEST_CASE("what cannot be shared out evenly is an error") {
  const auto channels = shard(window(3072, 1, 512), 5);
  REQUIRE_FALSE(channels.has_value());
  CHECK(channels.error().code == Error::not_divisible);
  CHECK(std::string_view(channels.error().field) == "tensor_parallel");
  CHECK(channels.error().value == 5);

  const auto groups = shard(window(3072, 2, 512), 3);
  REQUIRE_FALSE(groups.has_value());
  CHECK(groups.error().code == Error::not_divisible);
  CHECK(shard(window(3072, 3, 512), 2).error().code == Error::not_divisible);
  CHECK(shard(window(3072, 3, 512), 6).has_value());
}

}  // namespace
