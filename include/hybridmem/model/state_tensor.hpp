// StateTensor: one tensor of a recurrent layer's state, and how tensor parallelism splits it.
#pragma once

#include <array>
#include <cstdint>

#include "hybridmem/core/arithmetic.hpp"
#include "hybridmem/core/fixed_string.hpp"
#include "hybridmem/core/result.hpp"
#include "hybridmem/model/data_type.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// Where a tensor of the state belongs physically.
enum class StateRole : std::uint8_t {
  recurrent,    ///< large: the member pages of a checkpoint
  convolution,  ///< small window of recent inputs: a slot, a page of its own, or behind the
                ///< recurrent state
};

/// One tensor of the state of one recurrent layer on one rank.
///
/// Along `split_axis` the extent is `divided + groups * group_extent`: `divided` elements are
/// shared out evenly among the ranks; the `groups` are shared out whole, and where there are fewer
/// groups than ranks each rank keeps one copy of its group (Mamba-2's B and C with `n_groups` below
/// the tensor-parallel size). A tensor with `split_axis` -1 is kept whole on every rank (RWKV's
/// token shift).
struct StateTensor {
  static constexpr std::size_t max_rank = 3;

  FixedString<16> name;
  StateRole role = StateRole::recurrent;
  DataType dtype = DataType::bf16;
  std::uint8_t rank = 0;
  std::int8_t split_axis = -1;
  std::array<std::uint32_t, max_rank> shape{};  ///< extents on one rank, outermost first
  std::uint32_t divided = 0;                    ///< elements along the split axis shared out evenly
  std::uint32_t groups = 0;                     ///< groups along the split axis
  std::uint32_t group_extent = 0;               ///< elements of one group along the split axis

  /// Bytes on one rank.
  constexpr Checked bytes() const noexcept {
    Checked total{bytes_of(dtype)};
    for (std::size_t axis = 0; axis < rank; ++axis) total = total * Checked{shape[axis]};
    return total;
  }
};

/// The shard of `tensor` that one of `ranks` equal ranks keeps. Errors: `not_divisible` when the
/// divided part or the groups cannot be shared out evenly.
constexpr Result<StateTensor, InputError> shard(const StateTensor& tensor, std::uint32_t ranks) {
  if (tensor.split_axis < 0 || ranks == 1) return tensor;
  if (tensor.divided % ranks != 0)
    return InputError{Error::not_divisible, "tensor_parallel", ranks,
                      "a divisor of the recurrent heads or channels"};
  if (tensor.groups != 0 && tensor.groups % ranks != 0 && ranks % tensor.groups != 0)
    return InputError{Error::not_divisible, "tensor_parallel", ranks,
                      "a divisor or a multiple of the state groups"};
  StateTensor part = tensor;
  part.divided = tensor.divided / ranks;
  part.groups = tensor.groups == 0 ? 0 : (tensor.groups >= ranks ? tensor.groups / ranks : 1);
  part.shape[static_cast<std::size_t>(tensor.split_axis)] =
      part.divided + part.groups * part.group_extent;
  return part;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
