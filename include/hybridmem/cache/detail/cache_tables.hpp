// StateCache, tables: what the kernels of a step read, in the caller's memory.
#pragma once

#include "hybridmem/cache/state_cache.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::detail {

/// The pages of one stack among an object's pages: `each` of them.
constexpr std::span<const std::int32_t> of_stack(std::span<const std::int32_t> pages,
                                                 std::uint32_t stack, std::size_t each) {
  return pages.subspan(stack * each, each);
}

constexpr void fill_absent(const TableOut& out, std::uint32_t row, std::uint32_t from) {
  std::int32_t* const ids = out.ids + row * out.row_stride;
  for (std::uint32_t column = from; column < out.columns; ++column) ids[column] = out.absent;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::detail

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// What a sequence does in a step, null if nothing. Constant time in the newest step of a sequence.
template <MemoryOrganization Organization, class Events>
const StepEntry* StateCache<Organization, Events>::find_entry(const StepRecord& step,
                                                              Sequence sequence) const {
  const std::int32_t index = rows_.find(sequence);
  const auto is_it = [&](const StepEntry& entry) {
    return entry.sequence == sequence && !entry.withdrawn;
  };
  if (index >= 0 && rows_[index].last_ticket == step.ticket &&
      rows_[index].last_entry < step.entries.size() && is_it(step.entries[rows_[index].last_entry]))
    return &step.entries[rows_[index].last_entry];
  const auto found = std::find_if(step.entries.begin(), step.entries.end(), is_it);
  return found == step.entries.end() ? nullptr : &*found;
}

template <MemoryOrganization Organization, class Events>
Status StateCache<Organization, Events>::fill_blocks(Ticket ticket, std::uint32_t stack,
                                                     Tokens kernel_block_tokens,
                                                     std::span<const Sequence> rows,
                                                     const TableOut& out) const {
  const auto number = static_cast<std::uint64_t>(ticket);
  if (!steps_.contains(number)) return Error::no_step;
  if (stack >= layout().attention_stacks) return Error::layout;
  const std::uint32_t each = layout().units_per_block / layout().attention_stacks;
  if (layout().block_tokens % each != 0) return Error::layout;
  std::uint32_t parts = 1;
  if (kernel_block_tokens != 0) {
    const std::uint64_t bytes = kernel_block_tokens * layout().token_bytes_layer;
    if (layout().unit_bytes[0] % bytes != 0 ||
        (layout().block_tokens / each) % kernel_block_tokens != 0)
      return Error::layout;
    parts = static_cast<std::uint32_t>(layout().unit_bytes[0] / bytes);
  }
  // Kernel blocks of a page that hold tokens; a page larger than its block has more places than
  // these.
  const std::uint32_t used =
      kernel_block_tokens == 0 ? 1 : layout().block_tokens / each / kernel_block_tokens;
  if (rows.size() > out.rows) return Error::capacity;
  const StepRecord& step = steps_.at(number);
  for (std::uint32_t r = 0; r < rows.size(); ++r) {
    const StepEntry* const entry = find_entry(step, rows[r]);
    if (entry == nullptr || rows_.find(rows[r]) != entry->row) return Error::stale_handle;
    const auto blocks =
        rows_.blocks(entry->row)
            .first(std::min<std::size_t>(entry->block_count, rows_[entry->row].block_count));
    if (blocks.size() * each * used > out.columns) return Error::capacity;
    std::int32_t* ids = out.ids + r * out.row_stride;
    for (const BlockId id : blocks)
      for (const std::int32_t page : detail::of_stack(organization_.pages(id), stack, each))
        for (std::uint32_t part = 0; part < used; ++part)
          *ids++ = page * static_cast<std::int32_t>(parts) + static_cast<std::int32_t>(part);
    detail::fill_absent(out, r, static_cast<std::uint32_t>(blocks.size() * each * used));
  }
  for (auto r = static_cast<std::uint32_t>(rows.size()); r < out.rows; ++r)
    detail::fill_absent(out, r, 0);
  return Ok::ok;
}

template <MemoryOrganization Organization, class Events>
Status StateCache<Organization, Events>::fill_blocks(Ticket ticket, std::uint32_t stack,
                                                     std::span<const Sequence> rows,
                                                     const CompressedOut& out) const {
  const auto number = static_cast<std::uint64_t>(ticket);
  if (!steps_.contains(number)) return Error::no_step;
  if (stack >= layout().attention_stacks) return Error::layout;
  if (out.indptr.size() < rows.size() + 1 || out.last_page_tokens.size() < rows.size())
    return Error::capacity;
  const std::uint32_t each = layout().units_per_block / layout().attention_stacks;
  if (layout().block_tokens % each != 0) return Error::layout;
  const Tokens page_tokens = layout().block_tokens / each;
  const StepRecord& step = steps_.at(number);
  std::size_t filled = 0;
  out.indptr[0] = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const StepEntry* const entry = find_entry(step, rows[r]);
    if (entry == nullptr || rows_.find(rows[r]) != entry->row) return Error::stale_handle;
    const std::size_t pages = divide_up(entry->to, page_tokens);
    if (filled + pages > out.indices.size()) return Error::capacity;
    for (std::size_t page = 0; page < pages; ++page) {
      const BlockId id = rows_.blocks(entry->row)[page / each];
      out.indices[filled++] = detail::of_stack(organization_.pages(id), stack, each)[page % each];
    }
    out.indptr[r + 1] = static_cast<std::int32_t>(filled);
    out.last_page_tokens[r] =
        pages == 0 ? 0 : static_cast<std::int32_t>(entry->to - (pages - 1) * page_tokens);
  }
  return Ok::ok;
}

template <MemoryOrganization Organization, class Events>
Status StateCache<Organization, Events>::fill_states(Ticket ticket, std::uint32_t stack,
                                                     std::span<const Sequence> rows,
                                                     const StateTablesOut& out) const {
  const auto number = static_cast<std::uint64_t>(ticket);
  if (!steps_.contains(number)) return Error::no_step;
  if (stack >= layout().recurrent_stacks) return Error::layout;
  const std::uint32_t members = layout().member_units / layout().recurrent_stacks;
  const bool lines = layout().lines_per_checkpoint > 0;
  if (rows.size() > out.source.rows || out.source.columns < members ||
      out.destination.columns < members || out.write_begin.size() < rows.size() + 1 ||
      out.fresh.size() < rows.size() || (lines && out.source_lines.size() < out.source.rows) ||
      (lines && out.destination_lines.size() < out.destination.rows))
    return Error::capacity;
  const auto place = [&](const TableOut& table, std::span<std::int32_t> line_ids, std::uint32_t row,
                         CheckpointId id) {
    std::int32_t* const ids = table.ids + row * table.row_stride;
    if (id.present())
      std::ranges::copy(detail::of_stack(organization_.pages(id), stack, members), ids);
    detail::fill_absent(table, row, id.present() ? members : 0);
    if (lines) line_ids[row] = id.present() ? organization_.lines(id)[stack] : out.absent_line;
  };
  const StepRecord& step = steps_.at(number);
  std::uint32_t writes = 0;
  out.write_begin[0] = 0;
  for (std::uint32_t r = 0; r < rows.size(); ++r) {
    const StepEntry* const entry = find_entry(step, rows[r]);
    if (entry == nullptr || rows_.find(rows[r]) != entry->row) return Error::stale_handle;
    place(out.source, out.source_lines, r, entry->source);
    out.fresh[r] = entry->source.present() ? 0 : 1;
    for (const Segment& segment : step.segments_of(*entry)) {
      if (writes == out.destination.rows) return Error::capacity;
      if (writes < out.write_positions.size()) out.write_positions[writes] = segment.position;
      place(out.destination, out.destination_lines, writes++, segment.state);
    }
    out.write_begin[r + 1] = writes;
  }
  for (auto r = static_cast<std::uint32_t>(rows.size()); r < out.source.rows; ++r)
    place(out.source, out.source_lines, r, CheckpointId::absent());
  for (std::uint32_t r = writes; r < out.destination.rows; ++r)
    place(out.destination, out.destination_lines, r, CheckpointId::absent());
  return Ok::ok;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
