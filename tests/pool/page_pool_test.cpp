#include "hybridmem/pool/page_pool.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory_resource>
#include <vector>

#include "support/frozen_memory.hpp"
#include "violations.hpp"

using namespace hybridmem;
using hybridmem_test::FrozenMemory;
using hybridmem_test::violation_of;

namespace {

using Pages = std::vector<std::int32_t>;

/// A pool whose objects' pages the test remembers, as an owner must.
struct Owner {
  explicit Owner(const PagePoolOptions& options)
      : pool(options, std::pmr::get_default_resource()) {}

  bool take(std::int32_t id, std::size_t count) {
    Pages out(count, -1);
    const bool taken = pool.take(ObjectId{id}, out, [this](ObjectId victim) {
      victims.push_back(victim.value());
      give_back(victim.value());
    });
    if (taken) pages[id] = out;
    return taken;
  }
  Released release(std::int32_t id, bool discoverable = true, std::uint64_t stamp = 0) {
    return pool.release(ObjectId{id}, discoverable, stamp);
  }
  void give_back(std::int32_t id) {
    pool.give_back(ObjectId{id}, pages.at(id));
    pages.erase(id);
  }
  Pages order() const {
    Pages ids;
    pool.for_each_cached([&](ObjectId id) { ids.push_back(id.value()); });
    return ids;
  }

  PagePool pool;
  std::map<std::int32_t, Pages> pages;
  Pages victims;
};

}  // namespace

TEST_CASE("an empty pool gives nothing, but zero pages") {
  Owner owner({.pages = 0, .objects = 2});
  CHECK(owner.pool.counts() == PoolCounts{});
  CHECK_FALSE(owner.pool.next_victim().present());
  CHECK_FALSE(owner.take(0, 1));
  CHECK(owner.pool.absent(ObjectId{0}));
  CHECK(owner.take(0, 0));
  CHECK(owner.pool.references(ObjectId{0}) == 1);
  CHECK(owner.release(0) == Released::cached);
  CHECK_FALSE(owner.pool.next_victim().present());
  owner.give_back(0);
  CHECK(owner.pool.absent(ObjectId{0}));
}

TEST_CASE("a fresh pool hands out its pages from zero on (P4, P10)") {
  Owner owner({.pages = 3, .objects = 3});
  REQUIRE(owner.take(2, 1));
  CHECK(owner.pages[2] == Pages{0});
  REQUIRE(owner.take(0, 2));
  CHECK(owner.pages[0] == Pages{1, 2});
  CHECK(owner.pool.counts() == PoolCounts{3, 0, 0, 3});
  CHECK(owner.pool.pages_of(ObjectId{0}) == 2);
}

TEST_CASE("one page over what is available changes nothing (P5)") {
  Owner owner({.pages = 4, .objects = 4});
  REQUIRE(owner.take(0, 2));
  REQUIRE(owner.take(1, 1));
  owner.release(1);
  CHECK(owner.pool.available() == 2);
  CHECK_FALSE(owner.take(2, 3));
  CHECK(owner.victims.empty());
  CHECK(owner.pool.counts() == PoolCounts{4, 1, 1, 2});
  CHECK(owner.pool.cached(ObjectId{1}));
  REQUIRE(owner.take(2, 2));
  CHECK(owner.victims == Pages{1});
  CHECK(owner.pool.available() == 0);
}

TEST_CASE("objects are evicted in the order of their last release (P7)") {
  Owner owner({.pages = 4, .objects = 5});
  for (std::int32_t id = 0; id < 4; ++id) REQUIRE(owner.take(id, 1));
  for (const std::int32_t id : {2, 0, 3, 1}) owner.release(id);
  CHECK(owner.order() == Pages{2, 0, 3, 1});
  owner.pool.reference(ObjectId{2});
  CHECK(owner.order() == Pages{0, 3, 1});
  owner.release(2);
  CHECK(owner.order() == Pages{0, 3, 1, 2});
  REQUIRE(owner.take(4, 3));
  CHECK(owner.victims == Pages{0, 3, 1});
  CHECK(owner.pool.next_victim() == ObjectId{2});
}

TEST_CASE("what an eviction frees beyond the need goes to the front of the free list (P7)") {
  Owner owner({.pages = 5, .objects = 4});
  REQUIRE(owner.take(0, 3));  // pages 0, 1, 2
  REQUIRE(owner.take(1, 1));  // page 3
  owner.release(0);
  REQUIRE(owner.take(2, 2));  // page 4 is free, one page short
  CHECK(owner.victims == Pages{0});
  CHECK(owner.pages[2] == Pages{0, 1});
  CHECK(Pages(owner.pool.free_list().begin(), owner.pool.free_list().end()) == Pages{4, 2});
  REQUIRE(owner.take(3, 2));
  CHECK(owner.pages[3] == Pages{2, 4});
}

TEST_CASE("an object with several references is cached with the last") {
  Owner owner({.pages = 1, .objects = 1});
  REQUIRE(owner.take(0, 1));
  owner.pool.reference(ObjectId{0});
  CHECK(owner.pool.references(ObjectId{0}) == 2);
  CHECK(owner.release(0) == Released::still_referenced);
  CHECK_FALSE(owner.pool.cached(ObjectId{0}));
  CHECK(owner.pool.available() == 0);
  CHECK(owner.release(0) == Released::cached);
  CHECK(owner.pool.cached(ObjectId{0}));
  CHECK(owner.pool.references(ObjectId{0}) == 0);
  CHECK(owner.pool.available() == 1);
}

TEST_CASE("unpublished pages go before any cached object, or in one queue with them (P8)") {
  for (const FreeOrder order : {FreeOrder::unpublished_first, FreeOrder::release_order}) {
    CAPTURE(name_of(order));
    Owner owner({.pages = 3, .objects = 4, .free_order = order});
    CHECK(owner.pool.free_order() == order);
    for (std::int32_t id = 0; id < 3; ++id) REQUIRE(owner.take(id, 1));
    CHECK(owner.release(0, true) == Released::cached);
    const Released outcome = owner.release(1, false);
    const bool first = order == FreeOrder::unpublished_first;
    CHECK(outcome == (first ? Released::dropped : Released::cached));
    if (outcome == Released::dropped) owner.give_back(1);
    REQUIRE(owner.take(3, 1));
    CHECK(owner.pages[3] == (first ? Pages{1} : Pages{0}));
    CHECK(owner.victims == (first ? Pages{} : Pages{0}));
  }
}

TEST_CASE("a stamped object is cached where it stood, and returns there each time") {
  Owner owner({.pages = 6, .objects = 6, .stamped = 2});
  REQUIRE(owner.take(4, 1));
  const std::uint64_t early = owner.pool.next_stamp();
  for (std::int32_t id = 0; id < 2; ++id) REQUIRE(owner.take(id, 1));
  owner.release(0);
  REQUIRE(owner.take(5, 1));
  const std::uint64_t middle = owner.pool.next_stamp();
  owner.release(1);
  owner.release(5, true, middle);
  CHECK(owner.pool.next_victim() == ObjectId{0});
  owner.release(4, true, early);
  CHECK(owner.pool.next_victim() == ObjectId{4});
  owner.pool.reference(ObjectId{4});
  CHECK(owner.pool.next_victim() == ObjectId{0});
  owner.release(4, true, early);
  REQUIRE(owner.take(2, 5));  // order: 4 by its stamp, 0, then 5 by its stamp, 1
  CHECK(owner.victims == Pages{4, 0, 5});
  REQUIRE(owner.take(3, 1));
  CHECK(owner.victims == Pages{4, 0, 5, 1});
}

TEST_CASE("a stamped object may also be cached without a stamp, in the order by release") {
  Owner owner({.pages = 2, .objects = 2, .stamped = 2});
  REQUIRE(owner.take(0, 1));
  REQUIRE(owner.take(1, 1));
  owner.release(1);
  owner.release(0);
  CHECK(owner.order() == Pages{1, 0});
  CHECK(owner.pool.next_victim() == ObjectId{1});
  owner.give_back(1);
  CHECK(owner.pool.next_victim() == ObjectId{0});
}

TEST_CASE("a generation tells a reused id from the old one") {
  Owner owner({.pages = 2, .objects = 1});
  const std::uint32_t before = owner.pool.generation(ObjectId{0});
  REQUIRE(owner.take(0, 1));
  CHECK(owner.pool.generation(ObjectId{0}) == before);
  owner.release(0);
  owner.pool.reference(ObjectId{0});
  owner.release(0);
  CHECK(owner.pool.generation(ObjectId{0}) == before);
  owner.give_back(0);
  CHECK(owner.pool.generation(ObjectId{0}) == before + 1);
  REQUIRE(owner.take(0, 2));
  CHECK(owner.pool.generation(ObjectId{0}) == before + 1);
  owner.pool.reset();
  CHECK(owner.pool.generation(ObjectId{0}) == before + 2);
  owner.pool.reset();
  CHECK(owner.pool.generation(ObjectId{0}) == before + 2);
}

TEST_CASE("a reset pool is as constructed") {
  const PagePoolOptions options{.pages = 4, .objects = 4, .stamped = 1};
  Owner owner(options);
  for (std::int32_t id = 0; id < 4; ++id) REQUIRE(owner.take(id, 1));
  owner.release(1);
  owner.release(2, false);
  owner.release(3, true, owner.pool.next_stamp());
  owner.pool.reset();
  owner.pages.clear();
  CHECK(owner.pool.counts() == PoolCounts{4, 4, 0, 0});
  CHECK_FALSE(owner.pool.next_victim().present());
  CHECK(owner.pool.next_stamp() ==
        PagePool(options, std::pmr::get_default_resource()).next_stamp());
  for (std::int32_t id = 0; id < 4; ++id) CHECK(owner.pool.absent(ObjectId{id}));
  REQUIRE(owner.take(0, 4));
  CHECK(owner.pages[0] == Pages{0, 1, 2, 3});
}

TEST_CASE("misuse of a pool is a breach of contract") {
  Owner owner({.pages = 3, .objects = 3, .stamped = 1});
  REQUIRE(owner.take(0, 2));
  const auto breach = [&](auto&& body) { return violation_of(body).has_value(); };
  CHECK(breach([&] { owner.take(0, 1); }));                                   // taken twice
  CHECK(breach([&] { owner.pool.reference(ObjectId{1}); }));                  // absent
  CHECK(breach([&] { owner.pool.release(ObjectId{1}, true); }));              // absent
  CHECK(breach([&] { owner.pool.give_back(ObjectId{0}, owner.pages[0]); }));  // referenced
  CHECK(breach([&] { static_cast<void>(owner.pool.cached(ObjectId{3})); }));  // out of range
  CHECK(breach([&] { static_cast<void>(owner.pool.absent(ObjectId{})); }));   // no id
  CHECK(breach([&] { static_cast<void>(owner.pool.references(ObjectId{9})); }));
  owner.release(0);
  CHECK(breach([&] { owner.pool.release(ObjectId{0}, true); }));        // released twice
  CHECK(breach([&] { owner.pool.give_back(ObjectId{0}, Pages{0}); }));  // not all pages
  owner.give_back(0);
  CHECK(breach([&] { owner.pool.give_back(ObjectId{0}, Pages{}); }));  // given back twice
  CHECK(owner.pool.counts() == PoolCounts{3, 3, 0, 0});
}

TEST_CASE("an eviction that does not evict is a breach of contract, not an endless loop") {
  Owner owner({.pages = 1, .objects = 2});
  REQUIRE(owner.take(0, 1));
  owner.release(0);
  Pages out(1);
  const auto nothing = [](ObjectId) {};
  CHECK(violation_of([&] { owner.pool.take(ObjectId{1}, out, nothing); }));
  // A handler that returns: the take is refused and the victim stays whole.
  const ContractHandler previous = set_contract_handler([](const ContractViolation&) {});
  CHECK_FALSE(owner.pool.take(ObjectId{1}, out, nothing));
  set_contract_handler(previous);
  CHECK(owner.pool.cached(ObjectId{0}));
  CHECK(owner.pool.absent(ObjectId{1}));
}

TEST_CASE("a page pool does not allocate after construction") {
  FrozenMemory memory;
  PagePool pool({.pages = 8, .objects = 8, .stamped = 4}, &memory);
  memory.freeze();
  for (int round = 0; round < 3; ++round) {
    std::array<std::array<std::int32_t, 2>, 4> pages{};
    for (std::size_t i = 0; i < 4; ++i)
      REQUIRE(pool.take(ObjectId{static_cast<std::int32_t>(i) + 2}, pages[i], [](ObjectId) {}));
    for (std::size_t i = 0; i < 4; ++i)
      pool.release(ObjectId{static_cast<std::int32_t>(i) + 2}, true, i < 2 ? 0 : pool.next_stamp());
    pool.reference(ObjectId{5});
    pool.reset();
  }
}

TEST_CASE("the pool agrees with a deque, a map and a scan under any operations") {
  struct Naive {
    Pages pages;
    std::uint32_t references = 0;
    std::uint64_t place = 0;
  };
  CHECK(rc::check("take, reference, release, give back", [](const std::vector<std::uint16_t>& in) {
    constexpr std::uint32_t pages = 9;
    constexpr std::int32_t objects = 8;  // the last three may be stamped
    const FreeOrder free_order =
        in.size() % 2 == 0 ? FreeOrder::unpublished_first : FreeOrder::release_order;
    Owner owner({pages, objects, 3, free_order});
    std::map<std::int32_t, Naive> naive;
    std::map<std::int32_t, std::uint64_t> stamps;
    std::deque<std::int32_t> free;
    for (std::uint32_t page = 0; page < pages; ++page)
      free.push_back(static_cast<std::int32_t>(page));
    std::uint64_t clock = 0;
    const auto give_back = [&](std::int32_t id) {
      free.insert(free.begin(), naive[id].pages.begin(), naive[id].pages.end());
      naive.erase(id);
    };
    const auto oldest = [&] {
      std::int32_t victim = -1;
      for (const auto& [id, object] : naive)
        if (object.references == 0 && !object.pages.empty() &&
            (victim < 0 || object.place < naive[victim].place))
          victim = id;
      return victim;
    };
    for (const std::uint16_t choice : in) {
      const std::int32_t id = choice % objects;
      const std::uint32_t action = choice / objects % 4;
      const auto count = static_cast<std::size_t>(choice / objects / 4 % 5);
      owner.victims.clear();
      if (!naive.contains(id)) {
        std::size_t available = free.size();
        for (const auto& [other, object] : naive)
          if (object.references == 0) available += object.pages.size();
        RC_ASSERT(owner.pool.available() == available);
        const bool taken = owner.take(id, count);
        RC_ASSERT(taken == (count <= available));
        if (!taken) continue;
        Pages victims;
        while (free.size() < count) {
          victims.push_back(oldest());
          give_back(victims.back());
        }
        RC_ASSERT(owner.victims == victims);
        naive[id] = {Pages(free.begin(), free.begin() + static_cast<std::ptrdiff_t>(count)), 1, 0};
        free.erase(free.begin(), free.begin() + static_cast<std::ptrdiff_t>(count));
        if (id >= objects - 3 && count % 2 == 1) {
          stamps[id] = owner.pool.next_stamp();
          RC_ASSERT(stamps[id] == ++clock);
        } else {
          stamps[id] = 0;
        }
        RC_ASSERT(owner.pages[id] == naive[id].pages);
      } else if (action == 0 || naive[id].references == 0) {
        if (naive[id].references == 0 && action == 3) {
          owner.give_back(id);
          give_back(id);
        } else {
          owner.pool.reference(ObjectId{id});
          ++naive[id].references;
        }
      } else {
        const bool discoverable = count != 0;
        const Released outcome = owner.release(id, discoverable, stamps[id]);
        if (--naive[id].references > 0) {
          RC_ASSERT(outcome == Released::still_referenced);
        } else {
          naive[id].place = stamps[id] != 0 ? stamps[id] : ++clock;
          const bool kept = discoverable || free_order == FreeOrder::release_order;
          RC_ASSERT(outcome == (kept ? Released::cached : Released::dropped));
          if (!kept) {
            owner.give_back(id);
            give_back(id);
          }
        }
      }
      RC_ASSERT(owner.pool.next_victim().value() == oldest());
      PoolCounts counts{pages, static_cast<std::uint32_t>(free.size()), 0, 0};
      for (const auto& [one, object] : naive)
        (object.references > 0 ? counts.referenced : counts.cached) +=
            static_cast<std::uint32_t>(object.pages.size());
      RC_ASSERT(owner.pool.counts() == counts);
      for (std::int32_t one = 0; one < objects; ++one) {
        RC_ASSERT(owner.pool.absent(ObjectId{one}) == !naive.contains(one));
        if (!naive.contains(one)) continue;
        RC_ASSERT(owner.pool.references(ObjectId{one}) == naive[one].references);
        RC_ASSERT(owner.pool.cached(ObjectId{one}) == (naive[one].references == 0));
      }
    }
  }));
}
