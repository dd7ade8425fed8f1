// Catalog: what can be found, since which step, and what a step takes back.
#include "hybridmem/cache/catalog.hpp"

#include <doctest/doctest.h>

#include "hybridmem/organization/memory_organization.hpp"

using namespace hybridmem;

namespace {

constexpr Key key(std::uint64_t n) {
  return {n, n * 3};
}

Catalog<BlockId> small() {
  return Catalog<BlockId>(8, 2, std::pmr::get_default_resource());
}

}  // namespace

TEST_CASE("an entry remembers its step and where its tokens end") {
  auto catalog = small();
  catalog.publish(BlockId{3}, key(1), key(0), 1, 48, 7, true);
  CHECK(catalog.published(BlockId{3}));
  CHECK(catalog.ticket(BlockId{3}) == 7);
  CHECK(catalog.end(BlockId{3}) == 48);
  CHECK(catalog.pending(BlockId{3}));
  CHECK(catalog.pending_count() == 1);
  CHECK(catalog.index().find(key(1), key(0), 1) == BlockId{3});
  catalog.publish(BlockId{4}, key(2), key(1), 1, 64, 6, false);
  CHECK(!catalog.pending(BlockId{4}));
  CHECK(catalog.pending_count() == 1);
}

TEST_CASE("settling a step keeps its publications and no others'") {
  auto catalog = small();
  catalog.publish(BlockId{0}, key(1), key(0), 1, 16, 7, true);
  catalog.publish(BlockId{1}, key(2), key(0), 1, 16, 8, true);
  catalog.settle(7);
  CHECK(!catalog.pending(BlockId{0}));
  CHECK(catalog.published(BlockId{0}));
  CHECK(catalog.pending(BlockId{1}));
  CHECK(catalog.pending_count() == 1);
}

TEST_CASE("revoking a step names its publications, oldest first") {
  auto catalog = small();
  for (const std::int32_t id : {5, 2, 6})
    catalog.publish(BlockId{id}, key(static_cast<std::uint64_t>(id)), key(0), 1, 16, 8, true);
  catalog.publish(BlockId{1}, key(9), key(0), 1, 16, 7, true);
  std::vector<std::int32_t> order;
  catalog.revoke(8, [&](BlockId id) {
    order.push_back(id.value());
    catalog.forget(id);
  });
  CHECK(order == std::vector<std::int32_t>{5, 2, 6});
  CHECK(catalog.index().size() == 1);
  CHECK(catalog.pending_count() == 1);
  CHECK(catalog.index().audit() == 0);
}

TEST_CASE("forgetting a pending entry takes it out of its step") {
  auto catalog = small();
  catalog.publish(BlockId{0}, key(1), key(0), 1, 16, 7, true);
  catalog.forget(BlockId{0});
  CHECK(catalog.pending_count() == 0);
  catalog.publish(BlockId{0}, key(2), key(0), 1, 16, 8, true);
  catalog.settle(7);
  CHECK(catalog.pending(BlockId{0}));
  catalog.clear();
  CHECK(catalog.pending_count() == 0);
  CHECK(!catalog.pending(BlockId{0}));
  CHECK(!catalog.published(BlockId{0}));
}
