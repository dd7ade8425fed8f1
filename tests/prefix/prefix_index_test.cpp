#include "hybridmem/prefix/prefix_index.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "hybridmem/core/contract.hpp"
#include "hybridmem/core/ids.hpp"
#include "hybridmem/prefix/key_chain.hpp"

using hybridmem::Epoch;
using hybridmem::IndexFault;
using hybridmem::IndexFinding;
using hybridmem::Key;
using hybridmem::ObjectId;
using hybridmem::PrefixIndex;

using Index = PrefixIndex<ObjectId>;

struct hybridmem::detail::PrefixIndexAccess {
  static IndexEntry& entry(Index& index, std::int32_t number) { return index.entry(number); }
  static std::size_t& size(Index& index) { return index.size_; }
  static SlotTable& table(Index& index) { return index.table_; }
  static std::uint64_t hash(const Index& index, std::int32_t number) {
    return index.hash_of(number);
  }
};

namespace {

using Access = hybridmem::detail::PrefixIndexAccess;

constexpr Key key_a{.high = 1, .low = 2};
constexpr Key key_b{.high = 3, .low = 4};
constexpr Key parent_a{.high = 5, .low = 6};
constexpr Key parent_b{.high = 7, .low = 8};

constexpr ObjectId id(std::int32_t number) {
  return ObjectId{number};
}

std::vector<ObjectId> objects_of(const Index& index, const Key& key) {
  std::vector<ObjectId> objects;
  index.for_each_with_key(key, [&](ObjectId object) { objects.push_back(object); });
  return objects;
}

int violations = 0;
struct CountViolations {
  CountViolations() : before(hybridmem::set_contract_handler(&count)) { violations = 0; }
  ~CountViolations() { hybridmem::set_contract_handler(before); }
  static void count(const hybridmem::ContractViolation&) { ++violations; }
  hybridmem::ContractHandler before;
};
constexpr int checked = HYBRIDMEM_CHECK_LEVEL >= 1 ? 1 : 0;

// Counts, and refuses once told to.
struct Frozen : std::pmr::memory_resource {
  bool frozen = false;
  std::size_t bytes = 0;

  void* do_allocate(std::size_t count, std::size_t alignment) override {
    if (frozen) throw std::bad_alloc();
    bytes += count;
    return std::pmr::new_delete_resource()->allocate(count, alignment);
  }
  void do_deallocate(void* memory, std::size_t count, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(memory, count, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

TEST_CASE("an object is found under its key, parent and epoch until it is forgotten") {
  Index index(4);
  CHECK(index.capacity() == 4);
  CHECK(index.find(key_a, parent_a, 1) == ObjectId::absent());
  index.publish(id(2), key_a, parent_a, 1);
  CHECK(index.size() == 1);
  CHECK(index.published(id(2)));
  CHECK_FALSE(index.published(id(0)));
  CHECK_FALSE(index.published(id(4)));
  CHECK_FALSE(index.published(ObjectId::absent()));
  CHECK(index.find(key_a, parent_a, 1) == id(2));
  CHECK(index.find(key_b, parent_a, 1) == ObjectId::absent());
  CHECK(index.key_of(id(2)) == key_a);
  CHECK(index.parent_of(id(2)) == parent_a);
  CHECK(index.epoch_of(id(2)) == 1);
  CHECK(index.next_same_key(id(2)) == ObjectId::absent());
  index.forget(id(2));
  CHECK(index.size() == 0);
  CHECK_FALSE(index.published(id(2)));
  CHECK(index.find(key_a, parent_a, 1) == ObjectId::absent());
}

TEST_CASE("object 0, the zero key and the zero parent are like all others") {
  Index index(1);
  index.publish(id(0), Key{}, Key{}, 0);
  CHECK(index.find(Key{}, Key{}, 0) == id(0));
  CHECK(index.find(key_a, Key{}, 0) == ObjectId::absent());
}

TEST_CASE("of several objects the oldest is found, and its loss exposes the next") {
  Index index(8);
  for (const std::int32_t number : {5, 1, 7, 3}) index.publish(id(number), key_a, parent_a, 0);
  CHECK(objects_of(index, key_a) == std::vector{id(5), id(1), id(7), id(3)});
  CHECK(index.next_same_key(id(1)) == id(7));
  CHECK(index.find(key_a, parent_a, 0) == id(5));
  index.forget(id(7));  // from the middle
  CHECK(objects_of(index, key_a) == std::vector{id(5), id(1), id(3)});
  index.forget(id(5));  // the oldest
  CHECK(index.find(key_a, parent_a, 0) == id(1));
  index.forget(id(3));  // the newest
  index.publish(id(5), key_a, parent_a, 0);
  CHECK(objects_of(index, key_a) == std::vector{id(1), id(5)});
  index.forget(id(1));
  index.forget(id(5));
  CHECK(objects_of(index, key_a).empty());
  CHECK(index.audit() == 0);
}

TEST_CASE("the caller decides which objects are valid, and is asked from the oldest on") {
  Index index(4);
  for (const std::int32_t number : {3, 0, 2}) index.publish(id(number), key_a, parent_a, 0);
  std::vector<ObjectId> asked;
  const auto only = [&](std::int32_t number) {
    asked.clear();
    return index.find(key_a, parent_a, 0, [&](ObjectId object) {
      asked.push_back(object);
      return object == id(number);
    });
  };
  CHECK(only(0) == id(0));
  CHECK(asked == std::vector{id(3), id(0)});
  CHECK(only(1) == ObjectId::absent());
  CHECK(asked == std::vector{id(3), id(0), id(2)});
}

TEST_CASE("two keys equal in hash but different in parent do not match across") {
  Index index(4);
  index.publish(id(0), key_a, parent_a, 0);
  CHECK(index.find(key_a, parent_b, 0) == ObjectId::absent());
  index.publish(id(1), key_a, parent_b, 0);
  // Neither hides the other, though they share a list.
  CHECK(index.find(key_a, parent_a, 0) == id(0));
  CHECK(index.find(key_a, parent_b, 0) == id(1));
  CHECK(objects_of(index, key_a) == std::vector{id(0), id(1)});
  // Every half of the parent counts.
  for (unsigned bit = 0; bit < 128; ++bit) {
    Key parent = parent_a;
    (bit < 64 ? parent.low : parent.high) ^= std::uint64_t{1} << bit % 64;
    CHECK(index.find(key_a, parent, 0) == ObjectId::absent());
  }
}

TEST_CASE("an entry of another epoch is a miss and hides nothing") {
  Index index(4);
  index.publish(id(0), key_a, parent_a, 1);
  CHECK(index.find(key_a, parent_a, 2) == ObjectId::absent());
  index.publish(id(1), key_a, parent_a, 2);
  CHECK(index.find(key_a, parent_a, 1) == id(0));
  CHECK(index.find(key_a, parent_a, 2) == id(1));
  CHECK(index.find(key_a, parent_a, 0) == ObjectId::absent());
}

TEST_CASE("an index holds as many objects as its capacity, and one more is a breach") {
  for (const std::int32_t capacity : {1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 341, 342}) {
    Index index(static_cast<std::size_t>(capacity));
    for (std::int32_t i = 0; i < capacity; ++i)
      index.publish(id(i), Key{.high = 0, .low = static_cast<std::uint64_t>(i)}, Key{}, 0);
    CHECK(index.size() == index.capacity());
    const CountViolations guard;
    index.publish(id(capacity), key_a, parent_a, 0);
    CHECK(violations == checked);
    CHECK(index.size() == index.capacity());
    CHECK(index.audit() == 0);
    for (std::int32_t i = 0; i < capacity; ++i)
      CHECK(index.find(Key{.high = 0, .low = static_cast<std::uint64_t>(i)}, Key{}, 0) == id(i));
  }
}

TEST_CASE("an index without room answers, and refuses to publish") {
  Index index(0);
  CHECK(index.find(key_a, parent_a, 0) == ObjectId::absent());
  const CountViolations guard;
  index.publish(id(0), key_a, parent_a, 0);
  CHECK(violations == checked);
  CHECK(index.audit() == 0);
}

TEST_CASE("misuse is a breach that changes nothing") {
  Index index(2);
  index.publish(id(0), key_a, parent_a, 3);
  const CountViolations guard;
  index.publish(id(0), key_b, parent_b, 4);
  CHECK(violations == 1 * checked);
  index.publish(ObjectId::absent(), key_b, parent_b, 4);
  CHECK(violations == 2 * checked);
  index.forget(id(1));
  index.forget(id(2));
  index.forget(ObjectId::absent());
  CHECK(violations == 5 * checked);
  CHECK(index.key_of(id(1)) == Key{});
  CHECK(index.parent_of(id(1)) == Key{});
  CHECK(index.epoch_of(id(-3)) == 0);
  CHECK(index.next_same_key(id(1)) == ObjectId::absent());
  CHECK(violations == 9 * checked);
  CHECK(index.size() == 1);
  CHECK(index.key_of(id(0)) == key_a);
  CHECK(index.epoch_of(id(0)) == 3);
  CHECK(index.audit() == 0);
}

TEST_CASE("a capacity beyond int32 is a breach, and gives an index without room") {
  const CountViolations guard;
  const Index index(std::size_t{1} << 31U);
  CHECK(violations == checked);
  CHECK(index.capacity() == 0);
}

TEST_CASE("all memory is taken at construction, and is as much as promised") {
  for (const std::size_t capacity : {0U, 1U, 100U, 10'000U}) {
    Frozen memory;
    Index index(capacity, &memory);
    CHECK(memory.bytes == Index::metadata_bytes(capacity));
    memory.frozen = true;
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < capacity; ++i) {
        const Key key{.high = i / 3, .low = 0};
        index.publish(id(static_cast<std::int32_t>(i)), key, Key{}, 0);
      }
      CHECK(index.find(Key{}, Key{}, 0).present() == (capacity != 0));
      CHECK(index.audit() == 0);
      for (std::size_t i = 0; i < capacity / 2; ++i) index.forget(id(static_cast<std::int32_t>(i)));
      index.clear();
      CHECK(index.size() == 0);
    }
  }
  CHECK(Index::metadata_bytes(10'000) <= 51 * 10'000);
  CHECK(Index::metadata_bytes(1'000'000) <= 53 * 1'000'000);
  for (std::size_t capacity = 100; capacity < 1'000'000; capacity = capacity * 9 / 8)
    CHECK(Index::metadata_bytes(capacity) <= 57 * capacity);
}

TEST_CASE("clear forgets everything and the index goes on") {
  Index index(10);
  for (std::int32_t i = 0; i < 10; ++i) index.publish(id(i), i < 5 ? key_a : key_b, parent_a, 0);
  index.clear();
  CHECK(index.size() == 0);
  CHECK(index.find(key_a, parent_a, 0) == ObjectId::absent());
  for (std::int32_t i = 0; i < 10; ++i) CHECK_FALSE(index.published(id(i)));
  index.publish(id(9), key_b, parent_b, 1);
  CHECK(objects_of(index, key_b) == std::vector{id(9)});
  CHECK(index.audit() == 0);
}

namespace {

// What the index should do, with no cleverness.
struct Model {
  struct Object {
    std::int32_t number;
    Key parent;
    Epoch epoch;
  };
  std::map<Key, std::vector<Object>> by_key;
  std::map<std::int32_t, Key> key_of;

  void publish(std::int32_t number, const Key& key, const Key& parent, Epoch epoch) {
    by_key[key].push_back({number, parent, epoch});
    key_of[number] = key;
  }
  void forget(std::int32_t number) {
    std::erase_if(by_key[key_of[number]], [&](const Object& o) { return o.number == number; });
    key_of.erase(number);
  }
};

// A few keys of which many agree in some part.
Key key_number(unsigned number) {
  switch (number % 4) {
    case 0:
      return {.high = number, .low = 0};
    case 1:
      return {.high = 0, .low = number};
    case 2:
      return {.high = std::uint64_t{number} << 60U, .low = 1};
    default:
      return {.high = 1, .low = std::uint64_t{number} << 56U};
  }
}

void compare(const Index& index, const Model& model, unsigned keys) {
  RC_ASSERT(index.audit() == 0U);
  RC_ASSERT(index.size() == model.key_of.size());
  for (std::size_t i = 0; i < index.capacity(); ++i) {
    const auto number = static_cast<std::int32_t>(i);
    RC_ASSERT(index.published(id(number)) == (model.key_of.count(number) == 1));
  }
  for (unsigned k = 0; k < keys; ++k) {
    const Key key = key_number(k);
    const auto found = model.by_key.find(key);
    const std::vector<Model::Object> none;
    const auto& expected = found == model.by_key.end() ? none : found->second;
    std::vector<ObjectId> numbers;
    numbers.reserve(expected.size());
    for (const auto& object : expected) numbers.push_back(id(object.number));
    RC_ASSERT(objects_of(index, key) == numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      RC_ASSERT(index.key_of(numbers[i]) == key);
      RC_ASSERT(index.parent_of(numbers[i]) == expected[i].parent);
      RC_ASSERT(index.epoch_of(numbers[i]) == expected[i].epoch);
      RC_ASSERT(index.next_same_key(numbers[i]) ==
                (i + 1 < numbers.size() ? numbers[i + 1] : ObjectId::absent()));
    }
    for (unsigned parent = 0; parent < 3; ++parent)
      for (Epoch epoch = 0; epoch < 2; ++epoch)
        for (std::int32_t modulus = 1; modulus < 3; ++modulus) {
          const auto accept = [&](ObjectId object) { return object.value() % modulus == 0; };
          const auto first = std::find_if(expected.begin(), expected.end(), [&](const auto& o) {
            return o.parent == key_number(parent) && o.epoch == epoch && accept(id(o.number));
          });
          RC_ASSERT(index.find(key, key_number(parent), epoch, accept) ==
                    (first == expected.end() ? ObjectId::absent() : id(first->number)));
        }
  }
}

}  // namespace

TEST_CASE("random sequences agree with a naive model") {
  CHECK(rc::check([] {
    const auto capacity = *rc::gen::inRange<std::int32_t>(1, 40);
    const auto keys = *rc::gen::inRange<unsigned>(1, 30);
    Index index(static_cast<std::size_t>(capacity));
    Model model;
    const auto steps = *rc::gen::container<std::vector<std::array<unsigned, 4>>>(
        rc::gen::container<std::array<unsigned, 4>>(rc::gen::inRange<unsigned>(0, 1U << 20U)));
    for (const auto& [which, k, parent, epoch] : steps) {
      const auto number = static_cast<std::int32_t>(which % static_cast<unsigned>(capacity));
      if (which % 97 == 96) {
        index.clear();
        model = Model{};
      } else if (model.key_of.count(number) == 1) {
        index.forget(id(number));
        model.forget(number);
      } else {
        index.publish(id(number), key_number(k % keys), key_number(parent % 3), epoch % 2);
        model.publish(number, key_number(k % keys), key_number(parent % 3), epoch % 2);
      }
      compare(index, model, keys);
    }
  }));
}

TEST_CASE("a long churn agrees with a naive model") {
  constexpr unsigned keys = 24;
  Index index(50);
  Model model;
  std::mt19937_64 random(7);
  for (int step = 0; step < 20'000; ++step) {
    const auto number = static_cast<std::int32_t>(random() % 50);
    if (model.key_of.count(number) == 1) {
      index.forget(id(number));
      model.forget(number);
    } else {
      const Key key = key_number(static_cast<unsigned>(random() % keys));
      const Key parent = key_number(static_cast<unsigned>(random() % 3));
      const auto epoch = static_cast<Epoch>(random() % 2);
      index.publish(id(number), key, parent, epoch);
      model.publish(number, key, parent, epoch);
    }
    if (step % 100 == 0) compare(index, model, keys);
  }
}

TEST_CASE("identical calls give identical indices") {
  const auto run = [](Index& index) {
    for (std::uint64_t i = 0; i < 500; ++i) {
      const auto number = static_cast<std::int32_t>(i * 37 % 60);
      if (index.published(id(number))) index.forget(id(number));
      index.publish(id(number), key_number(static_cast<unsigned>(i % 20)), Key{}, 0);
    }
  };
  Index first(60);
  Index second(60);
  run(first);
  run(second);
  for (std::size_t slot = 0; slot < Access::table(first).slots(); ++slot)
    CHECK(Access::table(first).at(slot) == Access::table(second).at(slot));
}

TEST_CASE("probes stay short through millions of operations in a full index") {
  constexpr std::int32_t capacity = 10'922;  // two thirds of 16384 slots, the most there can be
  Index index(capacity);
  REQUIRE(Access::table(index).slots() == 16'384);
  std::mt19937_64 random(11);
  const auto fresh = [&] { return Key{.high = random(), .low = random()}; };
  for (std::int32_t i = 0; i < capacity; ++i) index.publish(id(i), fresh(), Key{}, 0);
  std::size_t longest = index.longest_probe();
  constexpr int steps = HYBRIDMEM_CHECK_LEVEL >= 3 ? 10 : 100'000;  // each of linear cost there
  for (int round = 0; round < 20; ++round) {
    for (int step = 0; step < steps; ++step) {
      const ObjectId object = id(static_cast<std::int32_t>(random() % capacity));
      index.forget(object);
      index.publish(object, fresh(), Key{}, 0);
    }
    longest = std::max(longest, index.longest_probe());
  }
  CHECK(longest <= 32);
  CHECK(index.audit() == 0);
}

TEST_CASE("probes stay short for keys that a seedless chooser would pick") {
  constexpr std::int32_t capacity = 8'000;
  const auto longest = [](auto key_of) {
    Index index(capacity);
    for (std::int32_t i = 0; i < capacity; ++i)
      index.publish(id(i), key_of(static_cast<std::uint64_t>(i)), Key{}, 0);
    CHECK(index.audit() == 0);
    for (std::int32_t i = 0; i < capacity; ++i)
      CHECK(index.find(key_of(static_cast<std::uint64_t>(i)), Key{}, 0) == id(i));
    return index.longest_probe();
  };
  CHECK(longest([](std::uint64_t i) { return Key{.high = 0, .low = i}; }) < 64);
  CHECK(longest([](std::uint64_t i) { return Key{.high = i, .low = 0}; }) < 64);
  CHECK(longest([](std::uint64_t i) { return Key{.high = 0, .low = i << 51U}; }) < 64);
  CHECK(longest([](std::uint64_t i) { return Key{.high = i << 51U, .low = 0}; }) < 64);
  CHECK(longest([](std::uint64_t i) { return Key{.high = i << 32U, .low = 5}; }) < 64);
  CHECK(longest([](std::uint64_t i) { return Key{.high = i << 20U, .low = i << 20U}; }) < 64);
}

TEST_CASE("a thousand objects of one key cost as much as one") {
  Index index(1000);
  for (std::int32_t i = 0; i < 1000; ++i) index.publish(id(i), key_a, parent_a, 0);
  CHECK(index.longest_probe() == 0);
  for (std::int32_t i = 0; i < 999; ++i) {
    index.forget(id(i));
    CHECK(index.find(key_a, parent_a, 0) == id(i + 1));
  }
  CHECK(index.audit() == 0);
}

TEST_CASE("the keys of a prompt lead to its objects, as deep as it was published") {
  const hybridmem::KeyChain<> chain(hybridmem::KeySeed{.high = 1, .low = 2}, 4);
  std::vector<std::int32_t> prompt(64, 9);
  std::vector<Key> keys(16);
  const Key root = chain.root();
  REQUIRE(chain.fill(root, prompt, keys) == 16);
  Index index(16);
  for (std::int32_t i = 0; i < 10; ++i)
    index.publish(id(i), keys[static_cast<std::size_t>(i)],
                  i == 0 ? root : keys[static_cast<std::size_t>(i) - 1], 0);
  std::size_t depth = 0;
  while (depth < 16 && index.find(keys[depth], depth == 0 ? root : keys[depth - 1], 0).present())
    ++depth;
  CHECK(depth == 10);
}

namespace {

// Corrupts a sound index and gives back the kinds of fault that an audit finds.
template <class Corrupt>
std::vector<IndexFault> faults_after(Corrupt corrupt) {
  Index index(8);
  index.publish(id(0), key_a, parent_a, 0);
  index.publish(id(1), key_a, parent_a, 0);
  index.publish(id(2), key_a, parent_a, 0);
  index.publish(id(3), key_b, parent_a, 0);
  CHECK(index.audit() == 0);
  corrupt(index);
  std::vector<IndexFault> faults;
  const std::size_t count = index.audit([&](const IndexFinding& finding) {
    if (faults.empty() || faults.back() != finding.fault) faults.push_back(finding.fault);
  });
  CHECK((count > 0) == !faults.empty());
  return faults;
}

bool contains(const std::vector<IndexFault>& faults, IndexFault fault) {
  return std::find(faults.begin(), faults.end(), fault) != faults.end();
}

// Puts another number in the slot of an object.
void redirect(Index& index, std::int32_t from, std::int32_t to) {
  Access::table(index).replace(Access::hash(index, from), from, to);
}

}  // namespace

TEST_CASE("an audit names each kind of inconsistency") {
  CHECK(contains(faults_after([](Index& index) { redirect(index, 3, 12); }),
                 IndexFault::slot_number));
  CHECK(
      contains(faults_after([](Index& index) { redirect(index, 3, 5); }), IndexFault::slot_object));
  CHECK(
      contains(faults_after([](Index& index) { redirect(index, 0, 1); }), IndexFault::slot_newer));
  CHECK(contains(faults_after([](Index& index) {
                   // Every other key but a few has another home.
                   for (auto& word : Access::entry(index, 3).key) word ^= 0x5bd1e995U;
                 }),
                 IndexFault::slot_place));
  CHECK(contains(faults_after([](Index& index) {
                   Access::table(index).erase(Access::hash(index, 3), 3, [&](std::int32_t number) {
                     return Access::hash(index, number);
                   });
                 }),
                 IndexFault::hidden_object));
  CHECK(contains(faults_after([](Index& index) { Access::entry(index, 2).older = 0; }),
                 IndexFault::broken_link));
  CHECK(contains(faults_after([](Index& index) { Access::entry(index, 1).older = 99; }),
                 IndexFault::broken_link));
  CHECK(contains(faults_after([](Index& index) { Access::entry(index, 1).newer = 3; }),
                 IndexFault::broken_link));
  CHECK(contains(faults_after([](Index& index) { Access::entry(index, 0).older = 3; }),
                 IndexFault::broken_link));
  CHECK(contains(faults_after([](Index& index) { Access::entry(index, 1).key[2] ^= 1U; }),
                 IndexFault::mixed_keys));
  CHECK(faults_after([](Index& index) { ++Access::size(index); }) ==
        std::vector{IndexFault::count});
  // Lists that turn in circles do not keep the audit from ending.
  CHECK(contains(faults_after([](Index& index) { Access::entry(index, 2).newer = 1; }),
                 IndexFault::broken_link));
}

TEST_CASE("a finding says which object and slot, and faults have names") {
  Index index(8);
  index.publish(id(3), key_a, parent_a, 0);
  redirect(index, 3, 5);
  std::vector<IndexFinding> findings;
  const std::size_t count =
      index.audit([&](const IndexFinding& finding) { findings.push_back(finding); });
  CHECK(count == findings.size());
  REQUIRE(findings.size() == 3);
  CHECK(findings[0].fault == IndexFault::slot_object);
  CHECK(findings[0].object == 5);
  CHECK(Access::table(index).at(static_cast<std::size_t>(findings[0].slot)) == 5);
  CHECK(findings[1] == IndexFinding{IndexFault::hidden_object, 3, -1});
  CHECK(findings[2] == IndexFinding{IndexFault::count, -1, -1});
  std::vector<std::string> names;
  for (const IndexFault fault :
       {IndexFault::slot_number, IndexFault::slot_object, IndexFault::slot_newer,
        IndexFault::slot_place, IndexFault::hidden_object, IndexFault::broken_link,
        IndexFault::mixed_keys, IndexFault::count})
    names.emplace_back(name_of(fault));
  CHECK(names == std::vector<std::string>{"slot_number", "slot_object", "slot_newer", "slot_place",
                                          "hidden_object", "broken_link", "mixed_keys", "count"});
}
