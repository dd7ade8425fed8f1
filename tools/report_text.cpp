#include "report_text.hpp"

#include <fmt/format.h>

#include "hybridmem/model/page_layout.hpp"
#include "table.hpp"

namespace hybridmem_tool {

namespace {

/// `1,536 KiB recurrent (bf16) + 21 KiB convolution (bf16)`, the tensors of a role summed up.
std::string state_parts(const ChosenModel& model) {
  std::string parts;
  const auto add = [&](hybridmem::StateRole role, std::uint64_t bytes, const char* what) {
    if (bytes == 0) return;
    std::string dtype;
    for (const hybridmem::StateTensor& tensor : model.geometry.state_tensors())
      if (tensor.role == role && model.has_dtypes)
        dtype = fmt::format(" ({})", name_of(tensor.dtype));
    parts += fmt::format("{}{} {}{}", parts.empty() ? "" : " + ", bytes_text(bytes), what, dtype);
  };
  add(hybridmem::StateRole::recurrent, model.geometry.recurrent_bytes_layer(), "recurrent");
  add(hybridmem::StateRole::convolution, model.geometry.conv_bytes_layer(), "convolution");
  return parts;
}

}  // namespace

std::string model_title(const ChosenModel& model) {
  std::string source = "given in numbers";
  if (model.provenance == "file")
    source = model.family + ", from a file";
  else if (model.provenance == "configuration")
    source = model.family + "; preset from a published configuration";
  else if (model.provenance == "documentation")
    source = model.family + "; preset from documentation";
  else if (model.provenance == "recalled")
    source = model.family + "; preset from memory, unverified: compare with its config.json";
  std::string title = fmt::format("{} ({})", model.name, source);
  if (model.geometry.tensor_parallel > 1)
    title += fmt::format(", one of {} ranks", model.geometry.tensor_parallel);
  return title + "\n";
}

std::string model_lines(const ChosenModel& model, const hybridmem::PageLayout& layout) {
  const hybridmem::StateGeometry& geometry = model.geometry;
  std::string text =
      row("layers",
          fmt::format("{} attention, {} recurrent; stacks of {} share a page table",
                      geometry.attention_layers, geometry.recurrent_layers, layout.stack_layers));
  if (layout.has_attention())
    text +=
        row("KV of a token",
            fmt::format("{} a layer{}, {} over all layers",
                        bytes_text(geometry.kv_bytes_per_token_layer),
                        model.has_dtypes ? fmt::format(" ({})", name_of(geometry.kv_dtype)) : "",
                        bytes_text(geometry.kv_bytes_per_token())));
  text += row("checkpoint", state_parts(model) + " a layer");
  text += row("", bytes_text(geometry.checkpoint_bytes()) + " over all layers");
  if (layout.has_attention())
    text +=
        row("break-even",
            fmt::format("a checkpoint weighs as much as the KV of {} tokens",
                        grouped(static_cast<std::uint64_t>(geometry.break_even_tokens() + 0.5))));
  if (geometry.sliding_window_layers > 0)
    text += row("note", fmt::format("{} have a sliding window; their KV is held in full",
                                    counted(geometry.sliding_window_layers, "attention layer")));
  return text;
}

std::string organization_title(hybridmem::OrganizationKind kind) {
  return fmt::format("{} {}", paper_label(kind), name_of(kind));
}

std::string sentences(const std::string& text) {
  constexpr std::size_t columns = 88;
  return wrapped(text, columns) + "\n";
}

std::string row(const char* label, const std::string& text) {
  return fmt::format("  {:<14}{}\n", label, text);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace hybridmem_tool
