// StepRing: tickets in order, records that stay until their step is over.
#include "hybridmem/cache/step_ring.hpp"

#include <doctest/doctest.h>

using namespace hybridmem;

namespace {

StepRing small() {
  return StepRing(2, {3, 4, 5, 6}, std::pmr::get_default_resource());
}

}  // namespace

TEST_CASE("tickets count from 1, as many in flight as there are records") {
  auto ring = small();
  CHECK(ring.in_flight() == 0);
  CHECK(!ring.is_open());
  CHECK(ring.now() == 1);
  CHECK(ring.open().ticket == 1);
  CHECK(ring.is_open());
  CHECK(ring.now() == 1);
  ring.at(1).closed = true;
  CHECK(!ring.is_open());
  CHECK(ring.now() == 2);
  ring.open();
  CHECK(ring.full());
  CHECK(ring.contains(1));
  CHECK(ring.contains(2));
  CHECK(!ring.contains(0));
  CHECK(!ring.contains(3));
  ring.complete_oldest();
  CHECK(ring.completed() == 1);
  CHECK(!ring.contains(1));
  CHECK(!ring.full());
}

TEST_CASE("a dropped number comes again, a failed one does not") {
  auto ring = small();
  ring.open();
  ring.drop_newest();
  CHECK(ring.open().ticket == 1);
  ring.end_all();
  CHECK(ring.in_flight() == 0);
  CHECK(ring.open().ticket == 2);
  ring.reset();
  CHECK(ring.open().ticket == 1);
}

TEST_CASE("a record is empty when its step opens, and has room for all it may hold") {
  auto ring = small();
  StepRecord& record = ring.open();
  CHECK(record.entries.capacity() >= 3);
  CHECK(record.tails.capacity() >= 3);
  CHECK(record.segments.capacity() >= 4);
  CHECK(record.copies.capacity() >= 5);
  CHECK(record.zeros.capacity() >= 6);
  CHECK(record.appends.capacity() >= 6);
  CHECK(record.writes.capacity() >= 4);
  record.entries.push_back({});
  record.segments.push_back({CheckpointId{1}, 16, true, true});
  record.segments.push_back({CheckpointId{2}, 20, false, true});
  record.zeros.push_back({Place::attention_page, 3});
  record.closed = record.failed = true;
  StepEntry entry;
  entry.first_segment = 1;
  entry.segment_count = 1;
  REQUIRE(record.segments_of(entry).size() == 1);
  CHECK(record.segments_of(entry)[0].position == 20);
  CHECK(record.work().ticket == Ticket{1});
  CHECK(record.work().zeros.size() == 1);
  ring.complete_oldest();
  ring.open();
  ring.complete_oldest();
  StepRecord& again = ring.open();
  CHECK(&again == &record);
  CHECK(again.ticket == 3);
  CHECK(again.entries.empty());
  CHECK(again.segments.empty());
  CHECK(again.work().zeros.empty());
  CHECK(!again.closed);
  CHECK(!again.failed);
}
