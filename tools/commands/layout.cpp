#include "commands/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hybridmem/organization/layout_drawing.hpp"
#include "report_json.hpp"
#include "report_text.hpp"
#include "table.hpp"

namespace hybridmem_tool {

namespace {

using hybridmem::OrganizationKind;
using hybridmem::OrganizationLayout;
using hybridmem::PageLayout;

std::string layout_lines(const PageLayout& layout) {
  std::string text;
  if (layout.has_attention())
    text += row("block", fmt::format("{} tokens; prefix keys every {}", layout.block_tokens,
                                     layout.key_tokens));
  text += row("page", fmt::format("{} a layer, {} over a stack", bytes_text(layout.page_bytes),
                                  bytes_text(layout.page_bytes * layout.stack_layers)));
  std::string parts;
  if (layout.has_recurrent())
    parts = fmt::format("{} a layer", counted(layout.member_pages, "member page"));
  if (layout.has_convolution())
    parts += fmt::format("{}1 slot of {} ({} a slab, rule {})", parts.empty() ? "" : ", ",
                         bytes_text(layout.slot_bytes), layout.slots_per_slab,
                         name_of(layout.slot_rule));
  text += row("checkpoint", parts);
  text += row("interval", fmt::format("{} tokens between checkpoints, {} for static_dual_pool",
                                      grouped(layout.checkpoint_interval_tokens),
                                      grouped(layout.dual_interval_tokens)));
  return text;
}

std::string units_of(const OrganizationLayout& organization) {
  if (organization.pools == 2 && organization.unit_bytes[0] > 0)
    return fmt::format("{} | {}", bytes_text(organization.unit_bytes[0]),
                       bytes_text(organization.unit_bytes[1]));
  return bytes_text(organization.unit_bytes[1]);
}

std::string checkpoint_of(const OrganizationLayout& organization) {
  std::string text;
  if (organization.units_per_checkpoint() > 0) text = grouped(organization.units_per_checkpoint());
  if (organization.has_slabs())
    text += fmt::format("{}{}, {} a slab", text.empty() ? "" : " + ",
                        counted(organization.slots_per_checkpoint, "slot"),
                        organization.slots_per_slab);
  return text;
}

/// Which shared pools waste least, and by how much.
std::string verdict(const std::array<double, 4>& unused) {
  const std::size_t shared = unused.size() - 1;
  const auto [least, most] = std::minmax_element(unused.begin(), unused.begin() + shared);
  const auto with = [&](double wanted) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < shared; ++i)
      if (percent(unused[i]) == percent(wanted))
        names.emplace_back(name_of(hybridmem::organization_kinds[i]));
    return names;
  };
  const auto best = with(*least);
  const std::string text =
      best.size() == shared
          ? fmt::format("The shared pools waste the same, {}.", percent(*least))
          : fmt::format("{} waste{} least of the shared pools: {} against {} in {}.", listed(best),
                        best.size() == 1 ? "s" : "", percent(*least), percent(*most),
                        listed(with(*most)));
  return sentences(text) +
         sentences(fmt::format(
             "{} wastes {} inside its units, but neither of its pools can lend to the other.",
             name_of(hybridmem::organization_kinds[shared]), percent(unused[shared])));
}

/// What a fixed page gives away against the one the solver finds.
std::string better_page(const ChosenLayout& chosen, std::uint64_t blocks) {
  const PageLayout& best = chosen.best;
  if (best.page_bytes == chosen.layout.page_bytes &&
      best.block_tokens == chosen.layout.block_tokens)
    return {};
  const auto loss = [&](const PageLayout& layout) {
    return percent(unused_fraction(organization_layout(layout, OrganizationKind::slab_packed),
                                   blocks, layout.block_tokens));
  };
  std::string page = bytes_text(best.page_bytes);
  if (best.has_attention()) page += fmt::format(" for {} tokens", best.block_tokens);
  return sentences(
      fmt::format("Left free, the page would be {}: slab_packed then wastes {} instead of {}.",
                  page, loss(best), loss(chosen.layout)));
}

std::string outside_lines(const PageLayout& layout) {
  const hybridmem::OutsideBudget outside = outside_budget(layout);
  std::string text = "Outside the budget, where an engine needs it:\n";
  text += row("gather arena", fmt::format("{} for each prefill row",
                                          bytes_text(outside.gather_arena_bytes_per_row)));
  text += row("draft state", fmt::format("{} for each draft token of a row",
                                         bytes_text(outside.draft_state_bytes_per_token)));
  if (outside.draft_kv_bytes_per_token > 0)
    text += row("draft KV", fmt::format("{} for each draft token",
                                        bytes_text(outside.draft_kv_bytes_per_token)));
  text += row("page tables", fmt::format("{} for each block, {} for each sequence",
                                         bytes_text(outside.table_bytes_per_block),
                                         bytes_text(outside.table_bytes_per_sequence)));
  return text;
}

}  // namespace

void LayoutCommand::declare(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("layout", "Show how a model's state is cut into pages");
  command->group("Commands");
  command->footer(
      "\nExample:\n"
      "  hybridmem layout --model granite-4.0-h-micro --block-tokens 256\n"
      "  hybridmem layout --model path/to/config.json --tensor-parallel 2 --json");
  model_.declare(*command);
  layout_.declare(*command);
  command->add_flag("--json", json_, "Print JSON")->group("Output");
}

void LayoutCommand::run(std::ostream& out) const {
  const ChosenModel model = model_.choose();
  const ChosenLayout chosen = layout_.choose(model.geometry);
  if (json_) {
    write(out, layout_report(model, chosen));
    return;
  }
  const PageLayout& layout = chosen.layout;
  const std::uint64_t blocks = layout.has_attention() ? chosen.blocks_per_checkpoint : 0;
  const auto organizations = all_organizations(layout);

  using enum Table::Align;
  Table table({{"organization"},
               {"unit a layer", right},
               {"units a block", right},
               {"units a checkpoint"},
               {"unused", right}});
  std::array<double, 4> unused{};
  for (std::size_t i = 0; i < organizations.size(); ++i) {
    unused[i] = unused_fraction(organizations[i], blocks, layout.block_tokens);
    const bool other_block = organizations[i].block_tokens != layout.block_tokens;
    std::string block = layout.has_attention() ? grouped(organizations[i].units_per_block) : "-";
    if (other_block) block += fmt::format(" ({} tokens)", organizations[i].block_tokens);
    table.add({organization_title(organizations[i].kind), units_of(organizations[i]), block,
               checkpoint_of(organizations[i]), percent(unused[i])});
  }
  out << model_title(model) << model_lines(model, layout) << '\n'
      << "Layout\n"
      << layout_lines(layout) << '\n'
      << draw_layouts(layout) << '\n'
      << table.text()
      << (layout.has_attention()
              ? fmt::format("unused: of the bytes that 1 checkpoint and {} hold\n\n",
                            counted(blocks, "attention block"))
              : std::string("unused: of the bytes that a checkpoint holds\n\n"))
      << verdict(unused) << better_page(chosen, blocks) << '\n'
      << outside_lines(layout);
}

}  // namespace hybridmem_tool
