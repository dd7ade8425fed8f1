#include "hybridmem/core/fixed_string.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <type_traits>

using hybridmem::FixedString;

TEST_CASE("a fixed string is plain data and starts empty") {
  static_assert(std::is_trivially_copyable_v<FixedString<8>>);
  static_assert(FixedString<8>::capacity() == 8);
  constexpr FixedString<8> text;
  static_assert(text.empty());
  CHECK(text.view().empty());
  CHECK(text == FixedString<8>(""));
}

TEST_CASE("a fixed string holds one character, a full text, and cuts one over") {
  CHECK(FixedString<4>("a").view() == "a");
  CHECK(FixedString<4>("abcd").view() == "abcd");
  CHECK(FixedString<4>("abcde").view() == "abcd");
  CHECK(FixedString<1>("abc").view() == "a");
  CHECK(FixedString<4>(std::string_view("abcdef").substr(1, 2)).view() == "bc");
}

TEST_CASE("fixed strings compare by their text alone") {
  FixedString<8> name = "conv";
  CHECK(name == FixedString<8>("conv"));
  CHECK(name != FixedString<8>("con"));
  CHECK(name != FixedString<8>("ssm"));
  name = "ssm";  // what was behind the shorter text must not matter
  CHECK(name == FixedString<8>("ssm"));
  CHECK(FixedString<4>("abcde") == FixedString<4>("abcdz"));
}

TEST_CASE("a fixed string reads as a string view and keeps embedded zeros") {
  const FixedString<8> name = "state";
  const std::string_view view = name;
  CHECK(std::string(view) == "state");
  CHECK(FixedString<8>(std::string_view("a\0b", 3)).view().size() == 3);
}
