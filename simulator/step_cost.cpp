#include "simulator/step_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

namespace hybridmem_simulator {

namespace {

// By repeated squaring: the same bits on every platform, unlike std::pow.
double power(double base, std::uint64_t exponent) noexcept {
  double result = 1.0;
  for (; exponent > 0; exponent >>= 1U) {
    if ((exponent & 1U) != 0) result *= base;
    base *= base;
  }
  return result;
}

std::size_t index_of(OrganizationKind organization) noexcept {
  return static_cast<std::size_t>(organization);
}

double dot(const std::vector<double>& a, const std::vector<double>& b) noexcept {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Least squares by modified Gram-Schmidt on columns of unit length.
std::vector<double> solve(std::vector<std::vector<double>> columns, std::vector<double> right) {
  const std::size_t count = columns.size();
  std::vector<double> lengths(count);
  std::vector<std::vector<double>> upper(count, std::vector<double>(count));
  std::vector<double> projected(count);
  for (std::size_t j = 0; j < count; ++j) {
    lengths[j] = std::sqrt(dot(columns[j], columns[j]));
    if (!(lengths[j] > 0.0) || !std::isfinite(lengths[j]))
      throw std::invalid_argument("fit_step_cost: a column of zeros");
    for (double& value : columns[j]) value /= lengths[j];
  }
  for (std::size_t j = 0; j < count; ++j) {
    for (std::size_t k = 0; k < j; ++k) {
      upper[k][j] = dot(columns[k], columns[j]);
      for (std::size_t i = 0; i < right.size(); ++i) columns[j][i] -= upper[k][j] * columns[k][i];
    }
    upper[j][j] = std::sqrt(dot(columns[j], columns[j]));
    if (!(upper[j][j] > 1e-9))
      throw std::invalid_argument("fit_step_cost: the rows do not tell the coefficients apart");
    for (double& value : columns[j]) value /= upper[j][j];
    projected[j] = dot(columns[j], right);
    for (std::size_t i = 0; i < right.size(); ++i) right[i] -= projected[j] * columns[j][i];
  }
  for (std::size_t j = count; j-- > 0;) {
    for (std::size_t k = j + 1; k < count; ++k) projected[j] -= upper[j][k] * projected[k];
    projected[j] /= upper[j][j];
  }
  for (std::size_t j = 0; j < count; ++j) projected[j] /= lengths[j];
  return projected;
}

// Data sheets: NVIDIA A100 PCIe 40 GB and SXM 80 GB, H100 SXM, H200 SXM, and one GPU of HGX B200.
constexpr std::array devices{
    DeviceSpec{"A100-40", 312e12, 1.555e12, 40e9}, DeviceSpec{"A100-80", 312e12, 2.039e12, 80e9},
    DeviceSpec{"H100", 989e12, 3.35e12, 80e9},     DeviceSpec{"H200", 989e12, 4.8e12, 141e9},
    DeviceSpec{"B200", 2'250e12, 8e12, 180e9},
};

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

void expect_positive(double value, const char* name) {
  if (!(value > 0.0) || !std::isfinite(value))
    throw std::invalid_argument(fmt::format("roofline: {}: a positive number is expected", name));
}

}  // namespace

double StepCost::seconds(Tokens prefill_tokens, std::uint32_t decode_requests) const noexcept {
  const std::uint64_t tokens = std::uint64_t{prefill_tokens} + decode_requests;
  const double moved = prefill_token_s * prefill_tokens + decode_request_s * decode_requests;
  if (weights_s == 0.0)
    return fixed_s + std::max(compute_token_s * static_cast<double>(tokens), moved);
  const double touched = active_share >= 1.0 ? 1.0 : 1.0 - power(1.0 - active_share, tokens);
  return fixed_s +
         std::max(compute_token_s * static_cast<double>(tokens), weights_s * touched + moved);
}

std::string StepCost::describe() const {
  std::string line = fmt::format("{}: {:.4g} ms a step", source, fixed_s * 1e3);
  const std::string moved = fmt::format("{:.4g} us a prefill token + {:.4g} ms a decoding request",
                                        prefill_token_s * 1e6, decode_request_s * 1e3);
  if (weights_s == 0.0 && compute_token_s == 0.0) return line + " + " + moved;
  line += fmt::format(" + the larger of {:.4g} us a token and {:.4g} ms for all weights",
                      compute_token_s * 1e6, weights_s * 1e3);
  if (active_share < 1.0) line += fmt::format(" ({:.3g} of them a token)", active_share);
  return line + " + " + moved;
}

StepCost paper_cost(OrganizationKind organization, CoarseFixed coarse) {
  StepCost cost;
  cost.prefill_token_s = 91.66e-6;
  cost.decode_request_s = 0.3998e-3;
  cost.source = fmt::format("the paper's fit for {}", paper_label(organization));
  switch (organization) {
    case OrganizationKind::coarse_pages:
      cost.fixed_s = coarse == CoarseFixed::chosen_15_0_ms ? 15.0e-3 : 15.2e-3;
      cost.source +=
          coarse == CoarseFixed::chosen_15_0_ms ? " (time a step chosen)" : " (time a step tuned)";
      break;
    case OrganizationKind::paged_recurrent:
    case OrganizationKind::slab_packed:
      cost.fixed_s = 15.42e-3;
      break;
    case OrganizationKind::static_dual_pool:
      cost.fixed_s = 14.59e-3;
      break;
  }
  return cost;
}

double StepCostFit::seconds(const EventSums& row) const noexcept {
  return fixed_s[index_of(row.organization)] * row.forwards + prefill_token_s * row.prefill_tokens +
         decode_request_s * row.decode_inputs;
}

StepCostFit fit_step_cost(std::span<const EventSums> rows) {
  // One column of steps for each organization that has rows, then prefill and decode.
  constexpr std::size_t absent = std::numeric_limits<std::size_t>::max();
  std::array<std::size_t, hybridmem::organization_kinds.size()> column_of{};
  column_of.fill(absent);
  std::size_t count = 0;
  for (const EventSums& row : rows) {
    std::size_t& column = column_of[index_of(row.organization)];
    if (column == absent) column = count++;
  }
  if (rows.size() < count + 2 || rows.empty())
    throw std::invalid_argument("fit_step_cost: fewer rows than coefficients");
  std::vector<std::vector<double>> columns(count + 2, std::vector<double>(rows.size()));
  std::vector<double> measured(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    columns[column_of[index_of(rows[i].organization)]][i] = rows[i].forwards;
    columns[count][i] = rows[i].prefill_tokens;
    columns[count + 1][i] = rows[i].decode_inputs;
    measured[i] = rows[i].event_s;
  }
  const std::vector<double> solution = solve(std::move(columns), std::move(measured));
  StepCostFit fit;
  for (std::size_t kind = 0; kind < column_of.size(); ++kind)
    if (column_of[kind] != absent) fit.fixed_s[kind] = solution[column_of[kind]];
  fit.prefill_token_s = solution[count];
  fit.decode_request_s = solution[count + 1];
  for (const EventSums& row : rows)
    fit.worst_error = std::max(fit.worst_error, std::abs(fit.seconds(row) / row.event_s - 1.0));
  return fit;
}

std::span<const DeviceSpec> device_specs() noexcept {
  return devices;
}

const DeviceSpec* find_device(std::string_view name) noexcept {
  for (const DeviceSpec& device : devices)
    if (std::ranges::equal(name, device.name, {}, lower, lower)) return &device;
  return nullptr;
}

StepCost roofline_cost(const DeviceSpec& device, const ModelSize& size,
                       const hybridmem::StateGeometry& geometry, const RooflineOptions& options) {
  expect_positive(device.peak_flops, "peak");
  expect_positive(device.bandwidth_bytes_s, "bandwidth");
  expect_positive(size.total_parameters, "total parameters");
  expect_positive(size.active_parameters, "active parameters");
  expect_positive(options.weight_bytes_per_parameter, "bytes of a parameter");
  expect_positive(options.mean_context_tokens, "mean context");
  expect_positive(options.compute_efficiency, "compute efficiency");
  expect_positive(options.bandwidth_efficiency, "bandwidth efficiency");
  if (!(options.fixed_s >= 0.0) || !std::isfinite(options.fixed_s))
    throw std::invalid_argument("roofline: time a step: at least 0 is expected");
  if (size.active_parameters > size.total_parameters)
    throw std::invalid_argument("roofline: active parameters: at most all of them are expected");

  const double ranks = std::max(1U, geometry.tensor_parallel);
  const double flops = device.peak_flops * options.compute_efficiency;
  const double bandwidth = device.bandwidth_bytes_s * options.bandwidth_efficiency;
  const double kv_bytes = static_cast<double>(geometry.kv_bytes_per_token());
  const double state_bytes = static_cast<double>(geometry.checkpoint_bytes());
  StepCost cost;
  cost.fixed_s = options.fixed_s;
  cost.compute_token_s = 2.0 * size.active_parameters / (ranks * flops);
  cost.weights_s = size.total_parameters * options.weight_bytes_per_parameter / (ranks * bandwidth);
  cost.active_share = size.active_parameters / size.total_parameters;
  cost.prefill_token_s = kv_bytes / bandwidth;
  cost.decode_request_s =
      (2.0 * state_bytes + kv_bytes * (options.mean_context_tokens + 1.0)) / bandwidth;
  cost.source = fmt::format("roofline of {} with {:.4g} billion parameters ({})", device.name,
                            size.total_parameters / 1e9, name_of(size.source));
  return cost;
}

}  // namespace hybridmem_simulator
