// StepCost: how long a step of the engine takes: the paper's fit, or a roofline of a model on a
// device.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hybridmem/core/ids.hpp"
#include "hybridmem/model/state_geometry.hpp"
#include "hybridmem/organization/organization_layout.hpp"
#include "simulator/model_size.hpp"

namespace hybridmem_simulator {

using hybridmem::OrganizationKind;
using hybridmem::Tokens;

/// The time of a step with p prefill tokens and d decoding requests, n = p + d:
///
///     fixed + max(compute_token * n, weights * touched(n) + prefill_token * p + decode_request *
///     d)
///
/// where `touched(n)` is the share of the weights that n tokens use: 1 for a dense model, and
/// 1 - (1 - active)^n where each token uses an `active_share` of them, as if drawn anew each time.
/// The paper's cost is the case without compute and weights: a + b p + c d.
struct StepCost {
  double fixed_s = 0.0;
  double prefill_token_s = 0.0;
  double decode_request_s = 0.0;
  double compute_token_s = 0.0;
  double weights_s = 0.0;  ///< reading all weights once
  double active_share = 1.0;
  std::string source = "given";  ///< where the numbers come from, for output

  double seconds(Tokens prefill_tokens, std::uint32_t decode_requests) const noexcept;
  /// One line: the source and the numbers.
  std::string describe() const;
};

/// The fixed time of CoarsePages (S0), for which the paper has no event data: a choice.
enum class CoarseFixed : std::uint8_t {
  chosen_15_0_ms,  ///< between D0's and that of S1 and S2
  tuned_15_2_ms,   ///< the value with which all the paper's tables agree best
};

/// The paper's step cost of an organization, Falcon-H1-7B on an A100 of 40 GB: `fit_step_cost` of
/// tables E-6 and E-9, rounded to four digits.
StepCost paper_cost(OrganizationKind organization,
                    CoarseFixed coarse = CoarseFixed::chosen_15_0_ms);

/// What one traced run adds up to: steps, their time, and what they worked on.
struct EventSums {
  OrganizationKind organization = OrganizationKind::coarse_pages;
  double forwards = 0.0;
  double event_s = 0.0;
  double prefill_tokens = 0.0;
  double decode_inputs = 0.0;
};

/// Least squares over event sums: a fixed time for each organization, and one time per prefill
/// token and per decoding request for all.
struct StepCostFit {
  std::array<double, hybridmem::organization_kinds.size()> fixed_s{};  ///< 0: no rows
  double prefill_token_s = 0.0;
  double decode_request_s = 0.0;
  double worst_error = 0.0;  ///< the largest |fitted / measured - 1| of the rows

  double seconds(const EventSums& row) const noexcept;
};

/// Throws `std::invalid_argument` where the rows do not determine the coefficients.
StepCostFit fit_step_cost(std::span<const EventSums> rows);

/// A device by its data sheet: dense bf16 peak, memory bandwidth, memory.
struct DeviceSpec {
  std::string_view name;
  double peak_flops = 0.0;
  double bandwidth_bytes_s = 0.0;
  double memory_bytes = 0.0;
};

/// A100-40, A100-80, H100, H200, B200.
std::span<const DeviceSpec> device_specs() noexcept;
/// The device called `name`, in upper or lower case, or null.
const DeviceSpec* find_device(std::string_view name) noexcept;

struct RooflineOptions {
  double weight_bytes_per_parameter = 2.0;
  double mean_context_tokens = 4'096;  ///< of a decoding request: its KV is read every step
  double compute_efficiency = 0.5;     ///< of the peak
  double bandwidth_efficiency = 0.7;   ///< of the data sheet's
  double fixed_s = 0.002;              ///< launches and the scheduler
};

/// The roofline of one rank. With W and A the total and active parameters, w bytes each, r ranks,
/// F and B the device's peak and bandwidth times their efficiencies:
///
///     compute_token  = 2 A / (r F)           two operations per active parameter and token
///     weights        = W w / (r B)           active_share = A / W
///     prefill_token  = kv / B                its KV is written
///     decode_request = (2 S + kv (L + 1)) / B   the state S is read and written, L tokens of KV
///     read
///
/// with kv and S the bytes of a token's KV and of a checkpoint on this rank (`geometry`). Attention
/// scores, activations and the traffic between ranks are left out. Throws `std::invalid_argument`
/// for numbers that are not positive or not finite, or more active parameters than there are.
StepCost roofline_cost(const DeviceSpec& device, const ModelSize& size,
                       const hybridmem::StateGeometry& geometry,
                       const RooflineOptions& options = {});

}  // namespace hybridmem_simulator
