// The tables that kernels read, in the caller's memory: bare int32, negative for absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hybridmem/core/ids.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// A dense table of ids: `rows` rows of `columns` ids, `row_stride` ids apart. Cells that name
/// nothing receive `absent`: -1, or the id of a sink page for kernels that read before they mask.
struct TableOut {
  std::int32_t* ids = nullptr;
  std::size_t row_stride = 0;
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::int32_t absent = -1;
};

/// Page tables as compressed rows, the form that FlashInfer takes: row i owns `indices[indptr[i]]`
/// to `indices[indptr[i + 1]]`, and `last_page_tokens[i]` tokens lie in the last of them (0 without
/// pages).
struct CompressedOut {
  std::span<std::int32_t> indptr;  ///< rows + 1
  std::span<std::int32_t> indices;
  std::span<std::int32_t> last_page_tokens;  ///< rows
};

/// The state tables of one stack. Sources have one row for each sequence; destinations one for each
/// segment, those of sequence i being rows `write_begin[i]` to `write_begin[i + 1]`. `fresh[i]` is
/// 1 where sequence i starts from nothing: its source row is absent and its state is zero by
/// definition.
struct StateTablesOut {
  TableOut source{};       ///< member pages
  TableOut destination{};  ///< member pages
  std::span<std::int32_t> source_lines;
  std::span<std::int32_t> destination_lines;
  std::span<std::uint32_t> write_begin;  ///< rows + 1
  std::span<Tokens> write_positions;     ///< the position each destination is at; may be empty
  std::span<std::uint8_t> fresh;
  std::int32_t absent_line = -1;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
