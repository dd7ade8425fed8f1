// SequenceRows: handles, generations, and what rows hold.
#include "hybridmem/cache/sequence_rows.hpp"

#include <doctest/doctest.h>

using namespace hybridmem;

namespace {

SequenceRows small() {
  return SequenceRows(2, 4, 3, std::pmr::get_default_resource());
}

}  // namespace

TEST_CASE("a handle finds its row until it is dropped") {
  auto rows = small();
  const std::int32_t first = rows.open();
  const Sequence handle = rows.handle(first);
  CHECK(handle.slot == 0);
  CHECK(rows.find(handle) == first);
  CHECK(rows.by_slot()[0] == first);
  CHECK(rows[first].state == RowState::running);
  rows.drop_handle(first);
  CHECK(rows.find(handle) == -1);
  CHECK(rows.by_slot()[0] == -1);
  CHECK(rows[first].state == RowState::closing);
  const std::int32_t second = rows.open();
  CHECK(second != first);
  CHECK(rows.handle(second).slot == handle.slot);
  CHECK(rows.handle(second).generation == handle.generation + 1);
  CHECK(rows.find(handle) == -1);
  rows.close(first);
  CHECK(rows[first].state == RowState::free);
}

TEST_CASE("handles of no slot are stale") {
  auto rows = small();
  for (const std::int32_t slot : {-1, 0, 1, 2, 1'000}) CHECK(rows.find({slot, 0}) == -1);
}

TEST_CASE("slots and rows run out apart") {
  auto rows = small();
  const std::int32_t a = rows.open();
  const std::int32_t b = rows.open();
  CHECK(!rows.slot_free());
  CHECK(rows.row_free());
  rows.drop_handle(a);
  rows.drop_handle(b);
  CHECK(rows.slot_free());
  rows.open();
  rows.open();
  CHECK(!rows.row_free());
  rows.drop_handle(2);
  CHECK(!rows.slot_free());  // no row for it
  rows.close(a);
  CHECK(rows.slot_free());
}

TEST_CASE("a row holds blocks and checkpoints in order") {
  auto rows = small();
  const std::int32_t row = rows.open();
  rows.all_blocks(row)[0] = BlockId{7};
  rows[row].block_count = 1;
  CHECK(std::as_const(rows).blocks(row).size() == 1);
  for (std::int32_t i = 0; i < 3; ++i)
    rows.hold(row, {CheckpointId{i}, static_cast<Tokens>(16 * i), 1, 1});
  rows.unhold(row, 1);
  REQUIRE(rows.held(row).size() == 2);
  CHECK(rows.held(row)[0].state == CheckpointId{0});
  CHECK(rows.held(row)[1].state == CheckpointId{2});
  CHECK(!rows.held(row)[0].leaving);
  const std::int32_t other = rows.open();
  CHECK(rows.held(other).empty());
  CHECK(rows.blocks(other).empty());
}

TEST_CASE("a reset makes every handle stale") {
  auto rows = small();
  const Sequence handle = rows.handle(rows.open());
  rows.reset();
  CHECK(rows.find(handle) == -1);
  const Sequence again = rows.handle(rows.open());
  CHECK(again.slot == handle.slot);
  CHECK(!(again == handle));
}
