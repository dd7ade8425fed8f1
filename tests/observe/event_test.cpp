// Events are plain data that travels, and a sink that takes nothing costs nothing.
#include "hybridmem/observe/event.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <type_traits>

using namespace hybridmem;

TEST_CASE("an event is plain data that fits a cache line and a half") {
  static_assert(std::is_trivially_copyable_v<Event>);
  static_assert(std::is_standard_layout_v<Event>);
  CHECK(sizeof(Event) <= 96);
  const Event event{.number = 5, .key_high = 7, .end = 512, .kind = EventKind::published};
  Event copy;
  std::memcpy(&copy, &event, sizeof(Event));
  CHECK(copy.number == 5);
  CHECK(copy.key_high == 7);
  CHECK(copy.end == 512);
  CHECK(copy.kind == EventKind::published);
}

TEST_CASE("an event about nothing names no object") {
  const Event event;
  CHECK(event.object == -1);
  CHECK(event.object_kind == EventObject::none);
  CHECK(event.cause == LossCause::none);
  CHECK(event.kind == EventKind::end_of_stream);
}

TEST_CASE("the sink that takes nothing is empty and off") {
  static_assert(!NoEvents::enabled);
  static_assert(std::is_empty_v<NoEvents>);
  NoEvents{}(Event{});
}
