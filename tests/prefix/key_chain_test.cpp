#include "hybridmem/prefix/key_chain.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "hybridmem/core/contract.hpp"

using hybridmem::Key;
using hybridmem::KeyChain;
using hybridmem::KeySeed;
using hybridmem::SipHasher;

namespace {

using Tokens = std::vector<std::int32_t>;
using Bytes = std::span<const std::byte>;

constexpr KeySeed test_seed{.high = 0x0f0e0d0c0b0a0908U, .low = 0x0706050403020100U};

Bytes bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::vector<Key> keys_of(const KeyChain<>& chain, const Tokens& prompt, const Key& root) {
  std::vector<Key> keys(chain.whole_chunks(prompt.size()));
  REQUIRE(chain.fill(root, prompt, keys) == keys.size());
  return keys;
}

int violations = 0;
struct CountViolations {
  CountViolations() : before(hybridmem::set_contract_handler(&count)) { violations = 0; }
  ~CountViolations() { hybridmem::set_contract_handler(before); }
  static void count(const hybridmem::ContractViolation&) { ++violations; }
  hybridmem::ContractHandler before;
};
constexpr int checked = HYBRIDMEM_CHECK_LEVEL >= 1 ? 1 : 0;

// What is hashed, spelled out byte by byte: an independent statement of the format.
class Spelled {
 public:
  Spelled& number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text_.push_back(static_cast<char>(value >> 8 * i & 0xffU));
    return *this;
  }
  Spelled& bytes(const std::string& text) {
    text_ += text;
    return *this;
  }
  Key hash(const KeySeed& seed) const {
    SipHasher hasher(seed);
    hasher.update(bytes_of(text_));
    return hasher.finish();
  }

 private:
  std::string text_;
};

}  // namespace

TEST_CASE("keys are the hash of exactly the documented bytes") {
  CHECK(rc::check(
      [](std::uint64_t high, std::uint64_t low, const std::string& salt, const std::string& extra) {
        const KeySeed seed{.high = high, .low = low};
        const auto tokens = *rc::gen::nonEmpty(rc::gen::arbitrary<Tokens>());
        const KeyChain<> chain(seed, static_cast<hybridmem::Tokens>(tokens.size()));
        const Key root = chain.root(bytes_of(salt), bytes_of(extra));
        Spelled spelled;
        spelled.number(tokens.size(), 4).number(1, 4);
        spelled.number(salt.size(), 8).bytes(salt).number(extra.size(), 8).bytes(extra);
        RC_ASSERT(root == spelled.hash(seed));
        Spelled link;
        link.number(tokens.size(), 4).number(2, 4).number(root.low, 8).number(root.high, 8);
        for (const std::int32_t token : tokens) link.number(static_cast<std::uint32_t>(token), 4);
        RC_ASSERT(chain.extend(root, tokens, bytes_of(extra)) == link.bytes(extra).hash(seed));
      }));
}

// These may change only with the number of the format: stored keys and other machines rely on them.
TEST_CASE("keys are the same in every release, on every platform and at compile time") {
  constexpr KeyChain<> chain(test_seed, 4);
  constexpr std::array<std::byte, 3> salt{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};
  constexpr std::array<std::int32_t, 8> prompt{0, 1, -1, 151'643, 7, 7, 7, 2'147'483'647};
  constexpr Key plain_root = chain.root();
  constexpr Key salted_root = chain.root(salt, std::span(salt).first(2));
  constexpr auto keys = [&] {
    std::array<Key, 2> filled{};
    chain.fill(plain_root, prompt, filled);
    return filled;
  }();
  constexpr Key with_extra = chain.extend(salted_root, std::span(prompt).first(4), salt);
  static_assert(plain_root == Key{.high = 0xc5e8f46b67dd1899U, .low = 0xacaa9cb07bf7f67dU});
  static_assert(salted_root == Key{.high = 0xbad6195d36950d57U, .low = 0xe397ef54a0727e5dU});
  static_assert(keys[0] == Key{.high = 0x3ec1ef30c3c4852dU, .low = 0x8c4f025bcfb90896U});
  static_assert(keys[1] == Key{.high = 0x3306bec502bb854dU, .low = 0xd156368913f50177U});
  static_assert(with_extra == Key{.high = 0xa63f591b3363fe0cU, .low = 0xb31f52eed9881571U});
  // The same at run time, where tokens are read as memory.
  std::array<Key, 2> at_run_time{};
  const Tokens tokens(prompt.begin(), prompt.end());
  CHECK(chain.fill(chain.root(), tokens, at_run_time) == 2);
  CHECK(at_run_time == keys);
  CHECK(chain.extend(salted_root, std::span(tokens).first(4), salt) == with_extra);
}

TEST_CASE("equal prefixes have equal keys, and the first difference changes all later ones") {
  CHECK(rc::check([] {
    const auto key_tokens = *rc::gen::inRange<hybridmem::Tokens>(1, 9);
    const KeyChain<> chain(test_seed, key_tokens);
    const auto prompt = *rc::gen::nonEmpty(rc::gen::arbitrary<Tokens>());
    const auto changed_at = *rc::gen::inRange<std::size_t>(0, prompt.size());
    Tokens other = prompt;
    other[changed_at] ^= 1 << *rc::gen::inRange(0, 31);
    const auto tail = *rc::gen::arbitrary<Tokens>();
    other.insert(other.end(), tail.begin(), tail.end());
    const Key root = chain.root();
    const auto keys = keys_of(chain, prompt, root);
    const auto other_keys = keys_of(chain, other, root);
    for (std::size_t i = 0; i < keys.size(); ++i)
      RC_ASSERT((keys[i] == other_keys[i]) == (i < changed_at / key_tokens));
  }));
}

TEST_CASE("a prompt has a key for each whole chunk and none for what is left over") {
  const KeyChain<> chain(test_seed, 16);
  CHECK(chain.key_tokens() == 16);
  const Tokens prompt(50, 3);
  for (const auto& [tokens, expected] :
       {std::pair<std::size_t, std::size_t>{0, 0}, {15, 0}, {16, 1}, {31, 1}, {32, 2}, {50, 3}}) {
    CAPTURE(tokens);
    std::vector<Key> keys(8, Key{.high = 1, .low = 1});
    CHECK(chain.whole_chunks(tokens) == expected);
    CHECK(chain.fill(chain.root(), std::span(prompt).first(tokens), keys) == expected);
    CHECK(std::count(keys.begin(), keys.end(), Key{.high = 1, .low = 1}) ==
          static_cast<std::ptrdiff_t>(8 - expected));
  }
  std::vector<Key> two(2);
  CHECK(chain.fill(chain.root(), prompt, two) == 2);
}

TEST_CASE("a chain can be continued from any of its keys") {
  const KeyChain<> chain(test_seed, 2);
  const Tokens prompt{1, 2, 3, 4, 5, 6};
  const auto keys = keys_of(chain, prompt, chain.root());
  CHECK(chain.extend(chain.root(), std::span(prompt).first(2)) == keys[0]);
  CHECK(chain.extend(keys[0], std::span(prompt).subspan(2, 2)) == keys[1]);
  std::array<Key, 2> rest{};
  CHECK(chain.fill(keys[0], std::span(prompt).subspan(2), rest) == 2);
  CHECK(rest[1] == keys[2]);
}

TEST_CASE("tokens may be signed or unsigned") {
  const KeyChain<> chain(test_seed, 3);
  const Tokens prompt{1, -2, 3};
  const std::vector<std::uint32_t> same{1, 0xfffffffeU, 3};
  std::array<Key, 1> keys{};
  CHECK(chain.fill(chain.root(), same, keys) == 1);
  CHECK(keys[0] == chain.extend(chain.root(), prompt));
  CHECK(keys[0] == chain.extend(chain.root(), same));
}

TEST_CASE("another seed changes every key") {
  const Tokens prompt(8, 5);
  const KeyChain<> chain(test_seed, 2);
  for (unsigned bit = 0; bit < 128; ++bit) {
    KeySeed seed = test_seed;
    (bit < 64 ? seed.low : seed.high) ^= std::uint64_t{1} << bit % 64;
    const KeyChain<> other(seed, 2);
    CHECK(chain.root() != other.root());
    // Even below one and the same root.
    const auto keys = keys_of(chain, prompt, Key{});
    const auto other_keys = keys_of(other, prompt, Key{});
    for (std::size_t i = 0; i < keys.size(); ++i) CHECK(keys[i] != other_keys[i]);
  }
}

TEST_CASE("salt and extra bytes isolate, and cannot be cut otherwise to coincide") {
  const KeyChain<> chain(test_seed, 2);
  CHECK(chain.root(bytes_of("ab"), bytes_of("c")) != chain.root(bytes_of("a"), bytes_of("bc")));
  CHECK(chain.root(bytes_of("ab")) != chain.root({}, bytes_of("ab")));
  const std::string eight_zeros(8, '\0');
  CHECK(chain.root() != chain.root(bytes_of(eight_zeros)));
  CHECK(chain.root() != chain.root({}, bytes_of(eight_zeros)));
  CHECK(rc::check([&](const std::string& salt, const std::string& extra, const std::string& salt2,
                      const std::string& extra2) {
    RC_ASSERT((chain.root(bytes_of(salt), bytes_of(extra)) ==
               chain.root(bytes_of(salt2), bytes_of(extra2))) ==
              (salt == salt2 && extra == extra2));
  }));
  const Tokens prompt{1, 2, 3, 4};
  const auto keys = keys_of(chain, prompt, chain.root(bytes_of("user 1")));
  const auto others = keys_of(chain, prompt, chain.root(bytes_of("user 2")));
  CHECK(keys[0] != others[0]);
  CHECK(keys[1] != others[1]);
}

TEST_CASE("extra bytes of a chunk change its key and all later ones, not the earlier") {
  const KeyChain<> chain(test_seed, 2);
  const Tokens prompt{1, 2, 3, 4, 5, 6};
  const std::string image = "digest";
  std::array<Key, 3> with_image{};
  const auto in_second = [&](std::size_t chunk) { return chunk == 1 ? bytes_of(image) : Bytes{}; };
  CHECK(chain.fill(chain.root(), prompt, with_image, in_second) == 3);
  const auto plain = keys_of(chain, prompt, chain.root());
  CHECK(with_image[0] == plain[0]);
  CHECK(with_image[1] != plain[1]);
  CHECK(with_image[2] != plain[2]);
  CHECK(with_image[1] == chain.extend(plain[0], std::span(prompt).subspan(2, 2), bytes_of(image)));
}

TEST_CASE("tokens, extra bytes, roots, links and grids do not imitate one another") {
  const KeyChain<> two(test_seed, 2);
  const KeyChain<> three(test_seed, 3);
  const Tokens prompt{1, 2, 3};
  std::string third(4, '\0');
  third[0] = 3;  // the token 3 as extra bytes
  std::set<Key> distinct{
      two.root(), three.root(), two.extend(Key{}, std::span(prompt).first(2)),
      two.extend(Key{}, std::span(prompt).first(2), bytes_of(third)), three.extend(Key{}, prompt),
      // A root whose salt spells what a link hashes after its header.
      two.root(bytes_of(std::string(16, '\0')), bytes_of(std::string("\1\0\0\0\2\0\0\0", 8)))};
  CHECK(distinct.size() == 6);
}

TEST_CASE("a chunk of another size is a breach and gets a key that no whole chunk has") {
  const KeyChain<> chain(test_seed, 2);
  const Tokens prompt{1, 2, 3};
  const CountViolations guard;
  const Key key = chain.extend(Key{}, prompt);
  CHECK(violations == checked);
  CHECK(key != chain.extend(Key{}, std::span(prompt).first(2)));
  CHECK(KeyChain<>(test_seed, 0).key_tokens() == 1);
  CHECK(violations == 2 * checked);
}

namespace {

// Another hasher, with no more than the concept asks for.
class SumHasher {
 public:
  explicit constexpr SumHasher(const KeySeed& seed) noexcept : sum_(seed.low) {}
  SumHasher(const SumHasher&) = default;
  SumHasher& operator=(const SumHasher&) = delete;
  constexpr void update(Bytes bytes) noexcept {
    for (const std::byte each : bytes) sum_ = sum_ * 31 + std::to_integer<std::uint64_t>(each);
  }
  constexpr Key finish() const noexcept { return {.high = ~sum_, .low = sum_}; }

 private:
  std::uint64_t sum_;
};

}  // namespace

TEST_CASE("the hasher is a policy") {
  const KeyChain<SumHasher> chain(test_seed, 2);
  const Tokens prompt{1, 2, 3, 4};
  std::array<Key, 2> keys{};
  CHECK(chain.fill(chain.root(), prompt, keys) == 2);
  CHECK(keys[0].high == ~keys[0].low);
  CHECK(keys[0] != keys[1]);
  CHECK(keys[0] != KeyChain<>(test_seed, 2).extend(chain.root(), std::span(prompt).first(2)));
  static_assert(std::is_same_v<KeyChain<>::hasher_type, SipHasher>);
}
