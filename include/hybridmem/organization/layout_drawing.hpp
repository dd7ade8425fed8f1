// draw_layouts: a picture in plain characters of how each organization holds a block and a
// checkpoint.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "hybridmem/organization/organization_layout.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

namespace detail::drawing {

inline constexpr std::size_t label_columns = 14;    // left of the boxes
inline constexpr std::size_t picture_columns = 40;  // the boxes of one object
inline constexpr std::uint64_t most_boxes = 6;      // more equal pages than these are abbreviated
inline constexpr std::uint64_t most_slots = 18;     // more slots of a slab than these as well

/// `count` equal pages one behind the other that together hold `used_bytes`.
struct Pages {
  std::uint64_t count = 0;
  std::uint64_t page_bytes = 0;
  std::uint64_t used_bytes = 0;

  constexpr std::uint64_t held_bytes() const noexcept { return count * page_bytes; }
  constexpr std::uint64_t boxes() const noexcept { return std::min(count, most_boxes); }
};

/// The scale of one drawing: bytes of a column, and the unit in which sizes are written.
class Scale {
 public:
  /// Chosen so that an object of `visible_bytes` in boxes fills the width.
  constexpr Scale(std::uint64_t visible_bytes, std::uint64_t largest_bytes) noexcept
      : column_bytes_(std::max<std::uint64_t>(1, divide_up(visible_bytes, picture_columns))),
        mebibytes_(largest_bytes >= (std::uint64_t{100'000} << 10U)) {}

  constexpr const char* unit() const noexcept { return mebibytes_ ? "MiB" : "KiB"; }

  /// A size without its unit: whole, or with one decimal below ten.
  std::string size(std::uint64_t bytes) const {
    const double units = static_cast<double>(bytes) / (mebibytes_ ? 1024.0 * 1024.0 : 1024.0);
    std::array<char, 32> text{};
    const bool whole = units >= 10 || units == static_cast<double>(static_cast<int>(units));
    std::snprintf(text.data(), text.size(), "%.*f", whole ? 0 : 1, units);
    return text.data();
  }

  /// One page as a box, its brackets included in the scale; three columns at the least.
  std::string box(std::uint64_t page_bytes, std::uint64_t used_bytes) const {
    const std::uint64_t inside = std::max<std::uint64_t>(3, page_bytes / column_bytes_) - 2;
    std::uint64_t used = 0;
    if (used_bytes > 0)
      used = used_bytes >= page_bytes
                 ? inside
                 : std::max<std::uint64_t>(
                       1, static_cast<std::uint64_t>(static_cast<double>(inside) *
                                                         static_cast<double>(used_bytes) /
                                                         static_cast<double>(page_bytes) +
                                                     0.5));
    if (used_bytes < page_bytes && inside > 1) used = std::min(used, inside - 1);
    std::string text = "[";
    text.append(used, '#').append(inside - used, '.');
    return text += ']';
  }

  /// All pages of `pages`, the middle ones left out where there are too many.
  std::string boxes(const Pages& pages) const {
    std::string text;
    std::uint64_t left = pages.used_bytes;
    for (std::uint64_t i = 0; i < pages.count; ++i) {
      if (pages.count > most_boxes && i == 2) {
        text += " .. ";
        left -= std::min(left, (pages.count - 3) * pages.page_bytes);
        i = pages.count - 1;
      }
      const std::uint64_t used = std::min(left, pages.page_bytes);
      text += box(pages.page_bytes, used);
      left -= used;
    }
    return text;
  }

 private:
  std::uint64_t column_bytes_;
  bool mebibytes_;
};

/// The slots of one slab, the first taken. Not to scale.
inline std::string slots(std::uint32_t count) {
  const std::uint64_t shown = count > most_slots ? most_slots - 4 : count;
  std::string text = "[#";
  for (std::uint64_t i = 1; i < shown; ++i) text += "|.";
  if (shown < count) text += "| .. |.";
  return text += ']';
}

/// One line: label, picture, remark.
inline std::string line(std::string_view label, std::string_view picture, std::string_view remark) {
  std::string text = "  ";
  text.append(label).resize(label_columns, ' ');
  text.append(picture);
  if (!remark.empty()) {
    text.resize(std::max(text.size(), label_columns + picture_columns) + 2, ' ');
    text.append(remark);
  }
  while (text.back() == ' ') text.pop_back();
  return text += '\n';
}

inline std::string count_of(std::uint64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

inline std::string heading(OrganizationKind kind, const std::string& text) {
  std::string label = std::string(paper_label(kind)) + " " + name_of(kind);
  label.resize(std::max<std::size_t>(label.size() + 2, 23), ' ');
  return "\n" + label + text + "\n";
}

}  // namespace detail::drawing

/// A drawing of what each organization holds for one attention block and one checkpoint, in one
/// layer: one box a page, to scale, `#` used and `.` unused, with used and held bytes beside it.
/// Plain ASCII, lines of at most 72 columns, a newline at the end. Long rows of equal pages and
/// slots are abbreviated by `..`; a box has three columns at the least and slots are not to scale.
/// Allocates.
inline std::string draw_layouts(const PageLayout& layout) {
  using namespace detail::drawing;
  const StateGeometry& geometry = layout.geometry;
  const std::uint64_t kv = geometry.kv_bytes_per_token_layer;
  const std::uint64_t recurrent = geometry.recurrent_bytes_layer();
  const std::uint64_t conv = geometry.conv_bytes_layer();
  const std::uint64_t block = layout.has_attention() ? layout.block_tokens * kv : 0;
  const std::uint64_t dual_block = layout.has_attention() ? layout.dual_block_tokens * kv : 0;

  const Pages coarse_block{layout.has_attention() ? layout.coarse_pages_per_block : 0U,
                           layout.coarse_page_bytes, block};
  const Pages members{layout.member_pages, layout.page_bytes, recurrent};
  const Pages conv_page{layout.has_convolution() ? 1U : 0U, layout.page_bytes, conv};
  const std::uint64_t visible =
      std::max({coarse_block.boxes() * coarse_block.page_bytes, layout.coarse_page_bytes,
                (members.boxes() + conv_page.count) * layout.page_bytes});
  const Scale scale(visible, std::max({coarse_block.held_bytes(), layout.coarse_page_bytes,
                                       members.held_bytes() + conv_page.held_bytes()}));
  const auto sized = [&scale](std::uint64_t bytes) {
    return scale.size(bytes) + " " + scale.unit();
  };
  const auto of = [&scale](std::uint64_t used, std::uint64_t held) {
    return scale.size(used) + " of " + scale.size(held);
  };

  std::string text =
      "One layer. # used, . unused; on the right: used of held " + std::string(scale.unit());
  text += layout.has_attention()
              ? ".\nAn attention block is " + std::to_string(layout.block_tokens) + " tokens" +
                    (layout.dual_block_tokens != layout.block_tokens
                         ? ", in D0 " + std::to_string(layout.dual_block_tokens)
                         : std::string{}) +
                    ".\n"
              : ".\nNo attention layers.\n";

  const auto draw_block = [&](const Pages& pages) {
    if (layout.has_attention())
      text += line("block", scale.boxes(pages), of(pages.used_bytes, pages.held_bytes()));
  };
  const Pages composite{1, layout.coarse_page_bytes, recurrent + conv};
  text += heading(OrganizationKind::coarse_pages,
                  "one pool, pages of " + sized(layout.coarse_page_bytes));
  draw_block(coarse_block);
  if (coarse_block.count > 1) text += line("", count_of(coarse_block.count, "page"), "");
  text += line("checkpoint", scale.boxes(composite), of(recurrent + conv, composite.held_bytes()));

  const Pages one_page{layout.has_attention() ? 1U : 0U, layout.page_bytes, block};
  text +=
      heading(OrganizationKind::paged_recurrent, "one pool, pages of " + sized(layout.page_bytes));
  draw_block(one_page);
  text += line("checkpoint", scale.boxes(members) + scale.boxes(conv_page),
               of(recurrent + conv, members.held_bytes() + conv_page.held_bytes()));
  std::string parts = layout.has_recurrent() ? count_of(layout.member_pages, "member") : "";
  if (layout.has_convolution())
    parts +=
        (parts.empty() ? "" : ", ") + ("1 convolution page (" + of(conv, layout.page_bytes)) + ")";
  text += line("", parts, "");

  text += heading(OrganizationKind::slab_packed, "one pool, pages of " + sized(layout.page_bytes));
  draw_block(one_page);
  if (layout.has_recurrent()) {
    text += line("checkpoint", scale.boxes(members), of(recurrent, members.held_bytes()));
    text += line("",
                 count_of(layout.member_pages, "member") +
                     (layout.has_convolution() ? ", 1 slot in a slab shared with others" : ""),
                 "");
  }
  if (layout.has_convolution()) {
    text += line(layout.has_recurrent() ? "slab" : "checkpoint", slots(layout.slots_per_slab),
                 of(conv, layout.slot_bytes));
    text += line("",
                 count_of(layout.slots_per_slab, "slot") + " of " + sized(layout.slot_bytes) +
                     " a slab" + (layout.has_recurrent() ? "" : ", 1 taken"),
                 "");
  }

  text +=
      heading(OrganizationKind::static_dual_pool,
              layout.has_attention() ? "two pools, units of " + sized(layout.dual_attention_bytes) +
                                           " and " + sized(layout.dual_recurrent_bytes)
                                     : "units of " + sized(layout.dual_recurrent_bytes));
  draw_block({1, layout.dual_attention_bytes, dual_block});
  text += line("checkpoint", scale.box(layout.dual_recurrent_bytes, recurrent + conv),
               of(recurrent + conv, layout.dual_recurrent_bytes));

  if (layout.recurrent_stacks() > 1 || layout.attention_stacks() > 1) {
    text += "\nStacks of " + count_of(layout.stack_layers, "layer") + ": a checkpoint takes this " +
            count_of(layout.recurrent_stacks(), "time");
    if (layout.has_attention()) text += ", a block " + count_of(layout.attention_stacks(), "time");
    text += ".\n";
  }
  return text;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
