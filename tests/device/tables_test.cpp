// The tables that kernels read: page tables in both forms and state tables, beside the pages and
// lines of the objects, for one stack and for several.
#include "hybridmem/device/tables.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <vector>

#include "support/cache_driver.hpp"

using namespace hybridmem_test;

namespace {

constexpr std::int32_t untouched = -77;

/// A driver with two requests of which the second follows the first: one at 40 tokens, one that a
/// chunk takes across two boundaries, both in a closed step; and one that is not in it.
template <class O>
struct Pair : CacheDriver<O> {
  explicit Pair(const Shape& shape = {}) : CacheDriver<O>(small_layout<O>(shape), options(shape)) {
    REQUIRE(this->serve(Text(9), 64));
    first = this->begin(Text(1), 300);
    REQUIRE(this->step(first, 30));
    second = this->begin(Text(9), 300);
    apart = this->begin(Text(3), 100);
    ticket = this->open();
    REQUIRE(this->advance(first, 10));
    REQUIRE(this->advance(second, 70));
    this->close();
    rows = {first.sequence, second.sequence};
  }
  static CacheOptions options(const Shape& shape) {
    return room_for(small_layout<O>(shape), 40, 12);
  }

  std::vector<std::int32_t> pages_of(const typename CacheDriver<O>::Request& request,
                                     std::uint32_t stack) {
    std::vector<std::int32_t> pages;
    const OrganizationLayout& layout = this->cache.layout();
    const std::uint32_t each = layout.units_per_block / layout.attention_stacks;
    for (const BlockId id : this->cache.blocks_of(request.sequence))
      for (std::uint32_t i = 0; i < each; ++i)
        pages.push_back(this->cache.organization().pages(id)[stack * each + i]);
    return pages;
  }

  typename CacheDriver<O>::Request first;
  typename CacheDriver<O>::Request second;
  typename CacheDriver<O>::Request apart;
  Ticket ticket{};
  std::vector<Sequence> rows;
};

constexpr Shape three_stacks{16, 32, 3, 4};

/// The state tables of a step with room to spare.
struct States {
  explicit States(std::uint32_t width)
      : source(4 * width, untouched),
        destination(8 * width, untouched),
        out{.source = {source.data(), width, 4, width, -1},
            .destination = {destination.data(), width, 8, width, -1},
            .source_lines = source_lines,
            .destination_lines = destination_lines,
            .write_begin = begin,
            .write_positions = positions,
            .fresh = fresh} {}

  std::vector<std::int32_t> source;
  std::vector<std::int32_t> destination;
  std::vector<std::int32_t> source_lines = std::vector<std::int32_t>(4, untouched);
  std::vector<std::int32_t> destination_lines = std::vector<std::int32_t>(8, untouched);
  std::vector<std::uint32_t> begin = std::vector<std::uint32_t>(3, 99);
  std::vector<Tokens> positions = std::vector<Tokens>(8, 0);
  std::vector<std::uint8_t> fresh = std::vector<std::uint8_t>(2, 7);
  StateTablesOut out;
};

}  // namespace

TEST_CASE_TEMPLATE("a dense table names the pages of each row, and nothing beyond them", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Shape& shape : {Shape{}, three_stacks}) {
    Pair<O> batch(shape);
    for (std::uint32_t stack = 0; stack < shape.stacks; ++stack) {
      for (const std::int32_t absent : {-1, 12'345}) {
        std::vector<std::int32_t> ids(3 * 20, untouched);
        const TableOut out{ids.data(), 20, 3, 12, absent};
        REQUIRE(batch.cache.fill_blocks(batch.ticket, stack, 0, batch.rows, out));
        const std::vector<std::vector<std::int32_t>> expected{
            batch.pages_of(batch.first, stack), batch.pages_of(batch.second, stack), {}};
        CHECK(expected[0].size() == 3);  // 40 tokens
        CHECK(expected[1].size() == 9);  // 134 tokens
        for (std::size_t row = 0; row < 3; ++row)
          for (std::size_t column = 0; column < 20; ++column) {
            const std::int32_t id = ids[row * 20 + column];
            if (column >= 12)
              CHECK(id == untouched);
            else
              CHECK(id == (column < expected[row].size() ? expected[row][column] : absent));
          }
      }
    }
  }
}

TEST_CASE_TEMPLATE("a table of kernel blocks expands each page", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  Pair<O> batch;
  const auto pages = batch.pages_of(batch.second, 0);
  for (const Tokens kernel_block : {1U, 4U, 8U, 16U}) {
    const std::uint32_t parts = 16 / kernel_block;
    std::vector<std::int32_t> ids(2 * 160, untouched);
    REQUIRE(batch.cache.fill_blocks(batch.ticket, 0, kernel_block, batch.rows,
                                    {ids.data(), 160, 2, 160, -1}));
    std::set<std::int32_t> distinct;
    for (std::size_t column = 0; column < 160; ++column) {
      const std::int32_t id = ids[160 + column];
      if (column >= pages.size() * parts) {
        CHECK(id == -1);
        continue;
      }
      CHECK(id == pages[column / parts] * static_cast<std::int32_t>(parts) +
                      static_cast<std::int32_t>(column % parts));
      CHECK(distinct.insert(id).second);
    }
  }
  std::vector<std::int32_t> ids(2 * 160, untouched);
  const TableOut out{ids.data(), 160, 2, 160, -1};
  CHECK(batch.cache.fill_blocks(batch.ticket, 0, 5, batch.rows, out).error() == Error::layout);
  CHECK(batch.cache.fill_blocks(batch.ticket, 0, 32, batch.rows, out).error() == Error::layout);
}

TEST_CASE("a page larger than its block leaves the places behind it out") {
  OrganizationLayout layout = small_layout<CoarsePages>();
  layout.unit_bytes = {1'024, 1'024};  // 64 tokens a page, 16 of them used
  CacheDriver<CoarsePages> driver(layout, room_for(layout, 20, 6));
  const auto request = driver.begin(Text(1), 100);
  const Ticket ticket = driver.open();
  REQUIRE(driver.advance(request, 40));
  REQUIRE(driver.cache.close_step());
  std::vector<std::int32_t> ids(8, untouched);
  REQUIRE(
      driver.cache.fill_blocks(ticket, 0, 8, {&request.sequence, 1}, {ids.data(), 8, 1, 8, -1}));
  for (std::size_t i = 0; i < 3; ++i) {
    const BlockId id = driver.cache.blocks_of(request.sequence)[i];
    const std::int32_t page = driver.cache.organization().pages(id)[0];
    CHECK(ids[2 * i] == 8 * page);
    CHECK(ids[2 * i + 1] == 8 * page + 1);
  }
  CHECK(ids[6] == -1);
}

TEST_CASE("a block of several pages is an equal share of each") {
  OrganizationLayout layout = small_layout<CoarsePages>();
  layout.units_per_block = 2;  // of one stack
  CacheDriver<CoarsePages> driver(layout, room_for(layout, 20, 6));
  const auto request = driver.begin(Text(1), 100);
  const Ticket ticket = driver.open();
  REQUIRE(driver.advance(request, 42));
  REQUIRE(driver.cache.close_step());
  std::vector<std::int32_t> indptr(2);
  std::vector<std::int32_t> indices(16, untouched);
  std::vector<std::int32_t> last(1);
  REQUIRE(driver.cache.fill_blocks(ticket, 0, {&request.sequence, 1},
                                   CompressedOut{indptr, indices, last}));
  CHECK(indptr[1] == 6);  // pages of 8 tokens
  CHECK(last[0] == 2);
  const auto blocks = driver.cache.blocks_of(request.sequence);
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(indices[i] == driver.cache.organization().pages(blocks[i / 2])[i % 2]);

  layout.units_per_block = 3;
  CacheDriver<CoarsePages> uneven(layout, room_for(layout, 20, 6));
  const auto other = uneven.begin(Text(1), 100);
  const Ticket step = uneven.open();
  REQUIRE(uneven.advance(other, 16));
  REQUIRE(uneven.cache.close_step());
  CHECK(
      uneven.cache.fill_blocks(step, 0, {&other.sequence, 1}, CompressedOut{indptr, indices, last})
          .error() == Error::layout);
  CHECK(uneven.cache.fill_blocks(step, 0, 0, {&other.sequence, 1}, {indices.data(), 16, 1, 16, -1})
            .error() == Error::layout);
}

TEST_CASE_TEMPLATE("compressed rows name the pages that hold tokens", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Shape& shape : {Shape{}, three_stacks}) {
    Pair<O> batch(shape);
    for (std::uint32_t stack = 0; stack < shape.stacks; ++stack) {
      std::vector<std::int32_t> indptr(3, untouched);
      std::vector<std::int32_t> indices(16, untouched);
      std::vector<std::int32_t> last(2, untouched);
      REQUIRE(batch.cache.fill_blocks(batch.ticket, stack, batch.rows,
                                      CompressedOut{indptr, indices, last}));
      CHECK(indptr == std::vector<std::int32_t>{0, 3, 12});
      CHECK(last == std::vector<std::int32_t>{8, 6});
      std::vector<std::int32_t> expected = batch.pages_of(batch.first, stack);
      const auto more = batch.pages_of(batch.second, stack);
      expected.insert(expected.end(), more.begin(), more.end());
      indices.resize(12);
      CHECK(indices == expected);
    }
  }
}

TEST_CASE("with a prompt reserved, compressed rows still name only pages with tokens") {
  const OrganizationLayout layout = small_layout<SlabPacked>();
  CacheOptions options = room_for(layout, 20, 6);
  options.reserve_prompt = true;
  CacheDriver<SlabPacked> driver(layout, options);
  const auto request = driver.begin(Text(1), 100);
  const Ticket ticket = driver.open();
  REQUIRE(driver.advance(request, 20));
  REQUIRE(driver.cache.close_step());
  CHECK(driver.cache.blocks_of(request.sequence).size() == 7);
  std::vector<std::int32_t> indptr(2);
  std::vector<std::int32_t> indices(16, untouched);
  std::vector<std::int32_t> last(1);
  REQUIRE(driver.cache.fill_blocks(ticket, 0, {&request.sequence, 1},
                                   CompressedOut{indptr, indices, last}));
  CHECK(indptr[1] == 2);
  CHECK(last[0] == 4);
}

TEST_CASE_TEMPLATE("state tables name source, destinations and lines of each stack", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Shape& shape : {Shape{}, three_stacks}) {
    Pair<O> batch(shape);
    const OrganizationLayout& layout = batch.cache.layout();
    const O& organization = batch.cache.organization();
    const std::uint32_t stacks = layout.recurrent_stacks;
    const std::uint32_t members = layout.member_units / stacks;
    CHECK(stacks == (shape.stacks == 1 ? 1 : 4));
    for (std::uint32_t stack = 0; stack < stacks; ++stack) {
      States states(members + 1);
      REQUIRE(batch.cache.fill_states(batch.ticket, stack, batch.rows, states.out));
      // The first goes on from 30 to 40 and passes 32; the second adopted 64 and goes to 134.
      CHECK(states.begin == std::vector<std::uint32_t>{0, 2, 5});
      states.positions.resize(5);
      CHECK(states.positions == std::vector<Tokens>{32, 40, 96, 128, 134});
      CHECK(states.fresh == std::vector<std::uint8_t>{0, 0});
      const auto expect = [&](const std::vector<std::int32_t>& table, std::size_t row,
                              const std::vector<std::int32_t>& lines, CheckpointId id) {
        for (std::uint32_t member = 0; member < members; ++member)
          CHECK(table[row * (members + 1) + member] ==
                organization.pages(id)[stack * members + member]);
        CHECK(table[row * (members + 1) + members] == -1);
        CHECK(lines[row] == organization.lines(id)[stack]);
      };
      expect(states.destination, 1, states.destination_lines,
             batch.cache.state_of(batch.first.sequence));
      expect(states.destination, 4, states.destination_lines,
             batch.cache.state_of(batch.second.sequence));
      // In place inside an interval: the first destination of the first row is its source.
      for (std::uint32_t member = 0; member < members; ++member)
        CHECK(states.source[member] == states.destination[member]);
      CHECK(states.source_lines[0] == states.destination_lines[0]);
      // Off the boundary that it adopted the second row has a destination of its own.
      CHECK(states.source_lines[1] != states.destination_lines[2]);
      for (std::size_t row = 2; row < 4; ++row) {
        for (std::uint32_t column = 0; column <= members; ++column)
          CHECK(states.source[row * (members + 1) + column] == -1);
        CHECK(states.source_lines[row] == -1);
      }
      for (std::size_t row = 5; row < 8; ++row) CHECK(states.destination_lines[row] == -1);
      std::set<std::int32_t> lines(states.destination_lines.begin(),
                                   states.destination_lines.begin() + 5);
      CHECK(lines.size() == 5);
    }
  }
}

TEST_CASE("a sequence that starts from nothing is fresh and has no source") {
  const OrganizationLayout layout = small_layout<SlabPacked>();
  CacheDriver<SlabPacked> driver(layout, room_for(layout, 20, 6));
  const auto request = driver.begin(Text(1), 100);
  const Ticket ticket = driver.open();
  REQUIRE(driver.advance(request, 10));
  REQUIRE(driver.cache.close_step());
  States states(3);
  states.out.absent_line = 55;
  states.out.source.absent = 66;
  const Sequence row = request.sequence;
  REQUIRE(driver.cache.fill_states(ticket, 0, {&row, 1}, states.out));
  CHECK(states.fresh[0] == 1);
  CHECK(states.source[0] == 66);
  CHECK(states.source_lines[0] == 55);
  CHECK(states.destination_lines[0] ==
        driver.cache.organization().lines(driver.cache.state_of(row))[0]);
}

TEST_CASE_TEMPLATE("what cannot be filled is refused with its reason", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  Pair<O> batch;
  const std::uint32_t members = batch.cache.layout().member_units;
  std::vector<std::int32_t> ids(64);
  std::vector<std::int32_t> indptr(3);
  std::vector<std::int32_t> last(2);
  const TableOut wide{ids.data(), 16, 2, 16, -1};
  const CompressedOut flat{indptr, ids, last};
  const auto blocks = [&](Ticket ticket, std::uint32_t stack, std::span<const Sequence> rows,
                          const TableOut& out) {
    return batch.cache.fill_blocks(ticket, stack, 0, rows, out).error();
  };
  const auto states = [&](Ticket ticket, std::uint32_t stack, std::span<const Sequence> rows,
                          const StateTablesOut& out) {
    return batch.cache.fill_states(ticket, stack, rows, out).error();
  };
  States good(members);
  const Ticket later{static_cast<std::uint64_t>(batch.ticket) + 1};
  CHECK(blocks(later, 0, batch.rows, wide) == Error::no_step);
  CHECK(batch.cache.fill_blocks(later, 0, batch.rows, flat).error() == Error::no_step);
  CHECK(states(later, 0, batch.rows, good.out) == Error::no_step);
  CHECK(blocks(batch.ticket, 1, batch.rows, wide) == Error::layout);
  CHECK(batch.cache.fill_blocks(batch.ticket, 1, batch.rows, flat).error() == Error::layout);
  CHECK(states(batch.ticket, 1, batch.rows, good.out) == Error::layout);
  const std::vector<Sequence> other{batch.apart.sequence};
  CHECK(blocks(batch.ticket, 0, other, wide) == Error::stale_handle);
  CHECK(batch.cache.fill_blocks(batch.ticket, 0, other, flat).error() == Error::stale_handle);
  CHECK(states(batch.ticket, 0, other, good.out) == Error::stale_handle);
  CHECK(blocks(batch.ticket, 0, batch.rows, {ids.data(), 16, 1, 16, -1}) == Error::capacity);
  CHECK(blocks(batch.ticket, 0, batch.rows, {ids.data(), 6, 2, 6, -1}) == Error::capacity);
  CHECK(batch.cache
            .fill_blocks(batch.ticket, 0, batch.rows,
                         CompressedOut{std::span(indptr).first(2), ids, last})
            .error() == Error::capacity);
  CHECK(batch.cache
            .fill_blocks(batch.ticket, 0, batch.rows,
                         CompressedOut{indptr, std::span(ids).first(9), last})
            .error() == Error::capacity);
  CHECK(batch.cache
            .fill_blocks(batch.ticket, 0, batch.rows,
                         CompressedOut{indptr, ids, std::span(last).first(1)})
            .error() == Error::capacity);
  for (const auto& narrow : std::vector<std::function<void(StateTablesOut&)>>{
           [](StateTablesOut& out) { out.source.rows = 1; },
           [](StateTablesOut& out) { out.source.columns = 0; },
           [](StateTablesOut& out) { out.destination.columns = 0; },
           [](StateTablesOut& out) { out.destination.rows = 4; },
           [](StateTablesOut& out) { out.write_begin = out.write_begin.first(2); },
           [](StateTablesOut& out) { out.fresh = out.fresh.first(1); },
           [](StateTablesOut& out) { out.source_lines = {}; },
           [](StateTablesOut& out) { out.destination_lines = {}; }}) {
    StateTablesOut out = good.out;
    narrow(out);
    CHECK(states(batch.ticket, 0, batch.rows, out) == Error::capacity);
  }
  good.out.write_positions = {};
  CHECK(batch.cache.fill_states(batch.ticket, 0, batch.rows, good.out));
  // A sequence that has ended, or left, is stale in the tables of the steps it was in.
  CHECK(batch.cache.preempt(batch.first.sequence));
  CHECK(batch.cache.abort(batch.second.sequence));
  for (const Sequence row : batch.rows) {
    CHECK(blocks(batch.ticket, 0, {&row, 1}, wide) == Error::stale_handle);
    CHECK(batch.cache.fill_blocks(batch.ticket, 0, {&row, 1}, flat).error() == Error::stale_handle);
    CHECK(states(batch.ticket, 0, {&row, 1}, good.out) == Error::stale_handle);
  }
}
