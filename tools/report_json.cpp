#include "report_json.hpp"

#include <cmath>

namespace hybridmem_tool {

namespace {

using hybridmem::OrganizationLayout;
using hybridmem::PageLayout;
using hybridmem::StateGeometry;
using hybridmem::StateKind;

Json tensor_report(const hybridmem::StateTensor& tensor) {
  Json shape = Json::array();
  for (std::size_t axis = 0; axis < tensor.rank; ++axis) shape.push_back(tensor.shape[axis]);
  return {{"name", tensor.name.view()},
          {"role", tensor.role == hybridmem::StateRole::recurrent ? "recurrent" : "convolution"},
          {"dtype", name_of(tensor.dtype)},
          {"shape", shape},
          {"bytes", tensor.bytes().value()}};
}

Json organization_report(const OrganizationLayout& organization) {
  Json report;
  if (organization.pools == 2) {
    report["attention_unit_bytes"] = organization.unit_bytes[0];
    report["recurrent_unit_bytes"] = organization.unit_bytes[1];
  } else {
    report["unit_bytes"] = organization.unit_bytes[0];
  }
  report["block_tokens"] = organization.block_tokens;
  report["checkpoint_interval_tokens"] = organization.checkpoint_interval_tokens;
  report["units_per_block"] = organization.units_per_block;
  report["units_per_checkpoint"] = organization.units_per_checkpoint();
  report["slots_per_checkpoint"] = organization.slots_per_checkpoint;
  report["slots_per_slab"] = organization.slots_per_slab;
  return report;
}

/// Bytes that one checkpoint and its blocks leave unused over all layers; a slab counts by the
/// slots taken, rounded down.
std::uint64_t unused_bytes(const OrganizationLayout& organization, std::uint64_t blocks,
                           hybridmem::Tokens block_tokens) {
  const hybridmem::StateMix own = native_mix(organization, {blocks, 1}, block_tokens);
  const hybridmem::StorageCost cost = storage_cost(organization, {own.attention_blocks, 1, 0});
  const std::uint64_t slots =
      organization.has_slabs() ? organization.stack_unit_bytes(StateKind::recurrent) *
                                     organization.slots_per_checkpoint / organization.slots_per_slab
                               : 0;
  return cost.bytes() + slots - cost.useful_bytes;
}

}  // namespace

std::array<OrganizationLayout, 4> all_organizations(const PageLayout& layout) {
  std::array<OrganizationLayout, 4> all;
  std::size_t index = 0;
  for (const hybridmem::OrganizationKind kind : hybridmem::organization_kinds)
    all[index++] = organization_layout(layout, kind);
  return all;
}

Json number(double value) {
  constexpr double exact = 9007199254740992.0;  // 2^53
  if (std::abs(value) < exact && value == std::floor(value))
    return static_cast<std::int64_t>(value);
  return value;
}

Json layout_report(const ChosenModel& model, const ChosenLayout& chosen) {
  const StateGeometry& geometry = model.geometry;
  const PageLayout& layout = chosen.layout;
  const auto organizations = all_organizations(layout);
  const std::uint64_t blocks = chosen.blocks_per_checkpoint;

  Json report;
  report["model"] = model.name;
  report["family"] = model.family;
  report["provenance"] = model.provenance;
  report["attention_layers"] = geometry.attention_layers;
  report["recurrent_layers"] = geometry.recurrent_layers;
  report["sliding_window_layers"] = geometry.sliding_window_layers;
  if (geometry.sliding_window_layers > 0)
    report["sliding_window_note"] =
        "of the attention layers; their KV is held in full like the others'";
  report["tensor_parallel"] = geometry.tensor_parallel;
  report["state_dtype"] = model.has_dtypes ? Json(name_of(model.state_dtype)) : Json();
  report["kv_dtype"] = model.has_dtypes ? Json(name_of(geometry.kv_dtype)) : Json();
  report["tensors"] = Json::array();
  for (const hybridmem::StateTensor& tensor : geometry.state_tensors())
    report["tensors"].push_back(tensor_report(tensor));
  report["kernel_chunk_tokens"] = geometry.kernel_chunk_tokens;

  report["kv_bytes_per_token_layer"] = geometry.kv_bytes_per_token_layer;
  report["recurrent_bytes_layer"] = geometry.recurrent_bytes_layer();
  report["conv_bytes_layer"] = geometry.conv_bytes_layer();
  report["checkpoint_bytes_layer"] = geometry.checkpoint_bytes_layer();
  report["kv_bytes_per_token"] = geometry.kv_bytes_per_token();
  report["checkpoint_bytes"] = geometry.checkpoint_bytes();
  report["break_even_tokens"] =
      layout.has_attention() ? number(geometry.break_even_tokens()) : Json();

  report["block_tokens"] = layout.block_tokens;
  report["page_bytes"] = layout.page_bytes;
  report["member_pages"] = layout.member_pages;
  report["slot_rule"] = name_of(layout.slot_rule);
  report["slot_bytes"] = layout.slot_bytes;
  report["slots_per_slab"] = layout.slots_per_slab;
  report["stack_layers"] = layout.stack_layers;
  report["checkpoint_interval_tokens"] = layout.checkpoint_interval_tokens;
  report["key_tokens"] = layout.key_tokens;
  report["members_per_checkpoint"] = layout.members_per_checkpoint();
  report["slots_per_checkpoint"] = layout.slots_per_checkpoint();
  report["coarse_page_bytes"] = layout.coarse_page_bytes;
  report["coarse_pages_per_block"] = layout.coarse_pages_per_block;
  report["dual"] = {{"block_tokens", layout.dual_block_tokens},
                    {"interval_tokens", layout.dual_interval_tokens},
                    {"attention_unit_bytes", layout.dual_attention_bytes},
                    {"recurrent_unit_bytes", layout.dual_recurrent_bytes}};
  report["organizations"] =
      by_organization([&](std::size_t i) { return organization_report(organizations[i]); });

  report["mix"] = {{"attention_blocks", blocks}, {"checkpoints", 1}};
  report["unused_fraction"] = by_organization([&](std::size_t i) {
    return Json(unused_fraction(organizations[i], blocks, layout.block_tokens));
  });
  report["unused_bytes"] = by_organization([&](std::size_t i) {
    return Json(unused_bytes(organizations[i], blocks, layout.block_tokens));
  });
  report["best_page"] = {
      {"page_bytes", chosen.best.page_bytes},
      {"block_tokens", chosen.best.block_tokens},
      {"unused_fraction",
       unused_fraction(organization_layout(chosen.best, hybridmem::OrganizationKind::slab_packed),
                       blocks, chosen.best.block_tokens)}};
  const hybridmem::OutsideBudget outside = outside_budget(layout);
  report["outside_budget"] = {{"gather_arena_bytes_per_row", outside.gather_arena_bytes_per_row},
                              {"draft_state_bytes_per_token", outside.draft_state_bytes_per_token},
                              {"draft_kv_bytes_per_token", outside.draft_kv_bytes_per_token},
                              {"table_bytes_per_block", outside.table_bytes_per_block},
                              {"table_bytes_per_sequence", outside.table_bytes_per_sequence}};
  return report;
}

void write(std::ostream& out, const Json& report) {
  out << report.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace hybridmem_tool
