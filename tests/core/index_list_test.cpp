#include "hybridmem/core/index_list.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <tuple>
#include <type_traits>
#include <vector>

#include "hybridmem/core/ids.hpp"
#include "violations.hpp"

using hybridmem::ListLink;
using hybridmem_test::violation_of;

namespace {

using Id = hybridmem::StrongId<struct ItemTag>;
using List = hybridmem::IndexList<Id>;
using Links = std::vector<ListLink>;

std::vector<std::int32_t> contents(const List& list, const Links& links) {
  std::vector<std::int32_t> ids;
  list.for_each(links, [&](Id id) { ids.push_back(id.value()); });
  return ids;
}

}  // namespace

TEST_CASE("an empty list has no ends and pops nothing") {
  Links links(2);
  List list;
  CHECK(list.empty());
  CHECK(list.size() == 0);
  CHECK_FALSE(list.front().present());
  CHECK_FALSE(list.back().present());
  CHECK_FALSE(list.pop_front(links).present());
  CHECK(contents(list, links).empty());
  CHECK_FALSE(links[0].linked());
}

TEST_CASE("a list over no links at all is usable while empty") {
  Links links;
  List list;
  CHECK_FALSE(list.pop_front(links).present());
  CHECK(contents(list, links).empty());
}

TEST_CASE("a list of one has it at both ends, and empties again") {
  Links links(1);
  for (const bool at_front : {false, true}) {
    List list;
    if (at_front)
      list.push_front(links, Id{0});
    else
      list.push_back(links, Id{0});
    CHECK(list.size() == 1);
    CHECK(list.front() == Id{0});
    CHECK(list.back() == Id{0});
    CHECK_FALSE(list.next(links, Id{0}).present());
    CHECK(links[0].linked());
    CHECK(list.pop_front(links) == Id{0});
    CHECK(list.empty());
    CHECK_FALSE(links[0].linked());
  }
}

TEST_CASE("ids are visited from the oldest to the newest") {
  Links links(5);
  List list;
  list.push_back(links, Id{2});
  list.push_back(links, Id{0});
  list.push_front(links, Id{4});
  CHECK(contents(list, links) == std::vector<std::int32_t>{4, 2, 0});
  CHECK(list.next(links, Id{4}) == Id{2});
  list.insert_before(links, Id{0}, Id{1});
  list.insert_before(links, Id{4}, Id{3});
  CHECK(contents(list, links) == std::vector<std::int32_t>{3, 4, 2, 1, 0});
  CHECK(list.size() == links.size());
}

TEST_CASE("inserting before an absent position appends") {
  Links links(3);
  List list;
  list.insert_before(links, Id::absent(), Id{1});
  list.insert_before(links, Id{-7}, Id{2});
  CHECK(contents(list, links) == std::vector<std::int32_t>{1, 2});
}

TEST_CASE("an id can be removed from the front, the middle and the back") {
  Links links(4);
  List list;
  for (std::int32_t id = 0; id < 4; ++id) list.push_back(links, Id{id});
  list.remove(links, Id{1});
  CHECK(contents(list, links) == std::vector<std::int32_t>{0, 2, 3});
  list.remove(links, Id{0});
  CHECK(list.front() == Id{2});
  list.remove(links, Id{3});
  CHECK(list.back() == Id{2});
  list.remove(links, Id{2});
  CHECK(list.empty());
  list.push_back(links, Id{1});
  CHECK(contents(list, links) == std::vector<std::int32_t>{1});
}

TEST_CASE("lists over one array do not disturb each other") {
  Links links(4);
  List even;
  List odd;
  for (std::int32_t id = 0; id < 4; ++id) (id % 2 == 0 ? even : odd).push_back(links, Id{id});
  even.remove(links, Id{0});
  odd.push_front(links, Id{0});
  CHECK(contents(even, links) == std::vector<std::int32_t>{2});
  CHECK(contents(odd, links) == std::vector<std::int32_t>{0, 1, 3});
}

TEST_CASE("a list works in constant expressions and is plain data") {
  static_assert(std::is_trivially_copyable_v<List>);
  constexpr std::size_t left = [] {
    std::array<ListLink, 3> links{};
    List list;
    list.push_back(links, Id{2});
    list.push_back(links, Id{1});
    list.remove(links, Id{2});
    return list.size();
  }();
  static_assert(left == 1);
  CHECK(left == 1);
}

#if HYBRIDMEM_CHECK_LEVEL >= 1
TEST_CASE("an id beyond the links, or an absent one, is a contract violation") {
  Links links(2);
  List list;
  list.push_back(links, Id{1});
  CHECK(violation_of([&] { list.push_back(links, Id{2}); }).has_value());
  CHECK(violation_of([&] { list.push_front(links, Id::absent()); }).has_value());
  CHECK(violation_of([&] { list.remove(links, Id{2}); }).has_value());
  CHECK(violation_of([&] { list.remove(links, Id::absent()); }).has_value());
  CHECK(violation_of([&] { list.push_back({}, Id{0}); }).has_value());
  CHECK(contents(list, links) == std::vector<std::int32_t>{1});
  CHECK(list.size() == 1);
}

TEST_CASE("linking an id twice, or removing one that is not linked, is a contract violation") {
  Links links(3);
  List list;
  List other;
  list.push_back(links, Id{0});
  CHECK(violation_of([&] { list.push_back(links, Id{0}); }).has_value());
  CHECK(violation_of([&] { other.push_front(links, Id{0}); }).has_value());
  CHECK(violation_of([&] { list.insert_before(links, Id{0}, Id{0}); }).has_value());
  CHECK(violation_of([&] { list.remove(links, Id{1}); }).has_value());
  list.remove(links, Id{0});
  CHECK(violation_of([&] { list.remove(links, Id{0}); }).has_value());
  CHECK(list.empty());
  CHECK(other.empty());
}
#endif

namespace {

// Two lists over one array, beside two std::list that say what they should hold.
struct Beside {
  static constexpr std::int32_t ids = 8;
  Links links{static_cast<std::size_t>(ids)};
  std::array<List, 2> lists;
  std::array<std::list<std::int32_t>, 2> models;

  bool linked(std::int32_t id) const {
    return std::any_of(models.begin(), models.end(), [&](const std::list<std::int32_t>& model) {
      return std::find(model.begin(), model.end(), id) != model.end();
    });
  }

  void apply(std::size_t which, int operation, std::int32_t id, std::int32_t position) {
    List& list = lists[which];
    std::list<std::int32_t>& model = models[which];
    const auto at = std::find(model.begin(), model.end(), position);
    const auto found = std::find(model.begin(), model.end(), id);
    switch (operation) {
      case 0:
        if (linked(id)) return;
        list.push_back(links, Id{id});
        model.push_back(id);
        return;
      case 1:
        if (linked(id)) return;
        list.push_front(links, Id{id});
        model.push_front(id);
        return;
      case 2:  // at the end where the position is not in this list
        if (linked(id)) return;
        list.insert_before(links, at == model.end() ? Id::absent() : Id{position}, Id{id});
        model.insert(at, id);
        return;
      case 3:
        if (found == model.end()) return;
        list.remove(links, Id{id});
        model.erase(found);
        return;
      default:
        const Id popped = list.pop_front(links);
        RC_ASSERT(popped.present() == !model.empty());
        if (model.empty()) return;
        RC_ASSERT(popped.value() == model.front());
        model.pop_front();
    }
  }

  void compare() const {
    for (std::size_t which = 0; which < lists.size(); ++which) {
      const List& list = lists[which];
      const std::list<std::int32_t>& model = models[which];
      RC_ASSERT(list.size() == model.size());
      RC_ASSERT(list.empty() == model.empty());
      RC_ASSERT(list.front() == (model.empty() ? Id::absent() : Id{model.front()}));
      RC_ASSERT(list.back() == (model.empty() ? Id::absent() : Id{model.back()}));
      RC_ASSERT(contents(list, links) == std::vector<std::int32_t>(model.begin(), model.end()));
      // Backwards too: the previous links mirror the next links.
      std::vector<std::int32_t> backwards;
      for (std::int32_t id = list.back().value(); id >= 0;
           id = links[static_cast<std::size_t>(id)].previous)
        backwards.push_back(id);
      RC_ASSERT(backwards == std::vector<std::int32_t>(model.rbegin(), model.rend()));
      for (auto id = model.begin(); id != model.end(); ++id) {
        const Id next = std::next(id) == model.end() ? Id::absent() : Id{*std::next(id)};
        RC_ASSERT(list.next(links, Id{*id}) == next);
      }
    }
    for (std::int32_t id = 0; id < ids; ++id)
      RC_ASSERT(links[static_cast<std::size_t>(id)].linked() == linked(id));
  }
};

}  // namespace

TEST_CASE("after any operations two lists hold what two std::list would") {
  CHECK(rc::check("two lists over one array", [] {
    using Operation = std::tuple<std::size_t, int, std::int32_t, std::int32_t>;
    const auto operations = *rc::gen::container<std::vector<Operation>>(
        rc::gen::tuple(rc::gen::inRange<std::size_t>(0, 2), rc::gen::inRange(0, 5),
                       rc::gen::inRange(0, Beside::ids), rc::gen::inRange(0, Beside::ids)));
    Beside beside;
    for (const auto& [which, operation, id, position] : operations) {
      beside.apply(which, operation, id, position);
      beside.compare();
    }
  }));
}
