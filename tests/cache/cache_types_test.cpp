// The values that an engine and its cache exchange are plain data with safe defaults.
#include "hybridmem/cache/cache_types.hpp"

#include <doctest/doctest.h>

#include <type_traits>

using namespace hybridmem;

TEST_CASE("all of them are plain data") {
  CHECK(std::is_trivially_copyable_v<Sequence>);
  CHECK(std::is_trivially_copyable_v<Prompt>);
  CHECK(std::is_trivially_copyable_v<Match>);
  CHECK(std::is_trivially_copyable_v<Admission>);
  CHECK(std::is_trivially_copyable_v<Chunk>);
  CHECK(std::is_trivially_copyable_v<Advanced>);
  CHECK(std::is_trivially_copyable_v<Batch>);
  CHECK(std::is_trivially_copyable_v<StepWork>);
  CHECK(std::is_trivially_copyable_v<Position>);
}

TEST_CASE("what says nothing is absent, never a place") {
  CHECK(Sequence{}.slot == -1);
  CHECK(UnitCopy{}.source == -1);
  CHECK(UnitCopy{}.destination == -1);
  CHECK(UnitZero{}.id == -1);
  CHECK(!StateWrite{}.state.present());
  CHECK(Admission{}.verdict != Verdict::ready);
  CHECK(Admission{}.wait_for == Ticket::none);
  CHECK(Match{}.joint_depth == 0);
  CHECK(Match{}.limited_by == LimitedBy::neither);
  CHECK(Batch{}.done == 0);
  CHECK(Prompt{}.match_cap == ~Tokens{0});
}

TEST_CASE("handles of other generations differ") {
  CHECK(Sequence{1, 2} == Sequence{1, 2});
  CHECK(!(Sequence{1, 2} == Sequence{1, 3}));
  CHECK(!(Sequence{1, 2} == Sequence{2, 2}));
}
