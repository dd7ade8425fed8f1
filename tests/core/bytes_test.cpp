#include "hybridmem/core/bytes.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using hybridmem::Error;
using hybridmem::format_bytes;
using hybridmem::parse_bytes;
using hybridmem::Result;
using namespace hybridmem::literals;

namespace {

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

void accepts(std::string_view text, std::uint64_t bytes) {
  CAPTURE(text);
  const Result<std::uint64_t> parsed = parse_bytes(text);
  REQUIRE(parsed.has_value());
  CHECK(*parsed == bytes);
}

void refuses(std::string_view text, Error error) {
  CAPTURE(text);
  const Result<std::uint64_t> parsed = parse_bytes(text);
  REQUIRE_FALSE(parsed.has_value());
  CHECK(parsed.error() == error);
}

}  // namespace

TEST_CASE("byte literals are powers of 1024") {
  static_assert(1_KiB == 1024);
  static_assert(512_KiB == 524'288);
  static_assert(3_MiB == 3'145'728);
  static_assert(2_GiB == 2'147'483'648);
  static_assert(0_GiB == 0);
}

TEST_CASE("parse_bytes reads every unit, with one space or none") {
  const std::vector<std::pair<std::string, std::uint64_t>> units{{"B", 1},
                                                                 {"KiB", 1_KiB},
                                                                 {"MiB", 1_MiB},
                                                                 {"GiB", 1_GiB},
                                                                 {"TiB", 1024_GiB},
                                                                 {"PiB", 1024 * 1024_GiB},
                                                                 {"KB", 1'000},
                                                                 {"MB", 1'000'000},
                                                                 {"GB", 1'000'000'000},
                                                                 {"TB", 1'000'000'000'000},
                                                                 {"PB", 1'000'000'000'000'000}};
  for (const auto& [unit, bytes] : units) {
    accepts("3" + unit, 3 * bytes);
    accepts("3 " + unit, 3 * bytes);
    accepts("0" + unit, 0);
  }
  accepts("12", 12);
  accepts("007", 7);
}

TEST_CASE("parse_bytes rounds a fraction down to whole bytes") {
  accepts("1.5KiB", 1536);
  accepts("0.5 GiB", 512_MiB);
  accepts("1.0", 1);
  accepts("1.9", 1);
  accepts("1.999 B", 1);
  accepts("0.001KiB", 1);   // 1.024
  accepts("0.0009KiB", 0);  // 0.9216
  accepts("1.25 MB", 1'250'000);
  accepts("0.000001 MB", 1);
  accepts("0.0000009 MB", 0);
  accepts("2.50000000000000000000000000000 KiB", 2560);
}

TEST_CASE("parse_bytes accepts up to 2^64 - 1 bytes and refuses one more") {
  accepts("18446744073709551615", most);
  accepts("18446744073709551615 B", most);
  accepts("16383 PiB", 16383 * (1024 * 1024_GiB));
  accepts("16383.5 PiB", 16383 * (1024 * 1024_GiB) + 512 * 1024_GiB);
  accepts("18446744073709551.615 KB", most);
  refuses("18446744073709551616", Error::overflow);
  refuses("16384 PiB", Error::overflow);
  accepts("15.5 EiB", 15 * (std::uint64_t{1} << 60U) + (std::uint64_t{1} << 59U));
  accepts("2 EB", 2'000'000'000'000'000'000);
  refuses("16 EiB", Error::overflow);
  refuses("18446744073709551.616 KB", Error::overflow);
  refuses("18014398509481984 KiB", Error::overflow);
  refuses("99999999999999999999999999", Error::overflow);
}

TEST_CASE("parse_bytes refuses what is not a number") {
  for (const std::string_view text :
       {"",       " ",     "KiB",  " 1",  "-1",  "-0", "+1", ".5", ".",  "1.",
        "1. KiB", "1.KiB", "1..5", "one", "\t1", "B1", "-",  "e3", "_1", ",5"})
    refuses(text, Error::bad_argument);
  refuses(std::string_view{}, Error::bad_argument);
}

TEST_CASE("parse_bytes refuses a unit that it does not know") {
  for (const std::string_view text :
       {"1 ",    "1  KiB",  "1 KiB ", "1kib",   "1 kb",  "1K",    "1M",    "1 G",   "1Ki",
        "1 KIB", "1 bytes", "1e3",    "0x10",   "1,5",   "1_000", "1'000", "1.5.5", "1.5.5 KiB",
        "1 2",   "1-",      "1 -KiB", "1\tKiB", "1KiB1", "1 B B", "1.5 e3"})
    refuses(text, Error::unknown_name);
  refuses(std::string_view("1\0B", 3), Error::unknown_name);
  refuses(std::string_view("1B\0", 3), Error::unknown_name);
}

TEST_CASE("parse_bytes reads no character behind the view") {
  accepts(std::string_view("15KiB").substr(0, 1), 1);
  accepts(std::string_view("1.55").substr(0, 3), 1);
  refuses(std::string_view("1.5").substr(0, 2), Error::bad_argument);
}

TEST_CASE("format_bytes prints whole multiples exactly and two decimals otherwise") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(1) == "1 B");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_bytes(1024) == "1 KiB");
  CHECK(format_bytes(1025) == "1.00 KiB");
  CHECK(format_bytes(1536) == "1.50 KiB");
  CHECK(format_bytes(512_KiB) == "512 KiB");
  CHECK(format_bytes(1_MiB) == "1 MiB");
  CHECK(format_bytes(63_GiB + 512_MiB) == "63.50 GiB");
  CHECK(format_bytes(std::uint64_t{1} << 60U) == "1 EiB");
  CHECK(format_bytes(std::uint64_t{1} << 63U) == "8 EiB");
  CHECK(format_bytes(most) == "16.00 EiB");
  CHECK(format_bytes(1_MiB - 1) == "1.00 MiB");
  CHECK(format_bytes(1_MiB - 6) == "1023.99 KiB");
}

TEST_CASE("what format_bytes prints exactly, parse_bytes reads back") {
  CHECK(rc::check("whole multiples below 1 EiB", [] {
    const auto shift = 10U * *rc::gen::inRange(0U, 6U);
    const auto count = *rc::gen::inRange<std::uint64_t>(0, 1024);
    const std::uint64_t bytes = count << shift;
    const Result<std::uint64_t> parsed = parse_bytes(format_bytes(bytes));
    RC_ASSERT(parsed.has_value());
    RC_ASSERT(*parsed == bytes);
  }));
}

TEST_CASE("parse_bytes answers every text without reading past it") {
  CHECK(rc::check("any text", [] {
    const auto text =
        *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789. KMGTPiB-+e")));
    const std::vector<char> exact(text.begin(), text.end());  // no terminator behind it
    const Result<std::uint64_t> parsed = parse_bytes({exact.data(), exact.size()});
    const bool answered = parsed.has_value() ? true : parsed.error() != Error::none;
    RC_ASSERT(answered);
  }));
}

TEST_CASE("parse_bytes computes a fraction of a unit exactly") {
  // The reference: floor(unit * 0.d1 d2 ... dn) from the last digit to the first, in integers.
  CHECK(rc::check("floor of the true product", [] {
    const auto [name, unit] =
        *rc::gen::elementOf(std::vector<std::pair<std::string, std::uint64_t>>{
            {"KiB", 1_KiB},
            {"GiB", 1_GiB},
            {"TiB", 1024_GiB},
            {"PiB", 1024 * 1024_GiB},
            {"PB", 1'000'000'000'000'000}});
    const auto length = *rc::gen::inRange<std::size_t>(1, 40);
    const auto digits =
        *rc::gen::container<std::string>(length, rc::gen::elementOf(std::string("0123456789")));
    std::uint64_t expected = 0;
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit)
      expected = (static_cast<std::uint64_t>(*digit - '0') * unit + expected) / 10;
    const Result<std::uint64_t> parsed = parse_bytes("0." + digits + name);
    RC_ASSERT(parsed.has_value());
    RC_ASSERT(*parsed == expected);
  }));
}

TEST_CASE("parse_bytes computes a fraction exactly at any number of digits") {
  accepts("0.916342209 PB", 916'342'209'000'000);
  accepts("0.000028375543768 PiB", 31'948'022'084);          // just below a whole number
  accepts("0.9082523035836359 PiB", 1'022'601'183'994'414);  // 16 digits
}
