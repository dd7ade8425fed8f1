// The audit of a cache: an intact one has no finding, and every kind of finding has a corruption
// that brings it out.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "support/cache_driver.hpp"

/// Reaches into an index, as it lets tests do.
struct hybridmem::detail::PrefixIndexAccess {
  template <class Index>
  static std::size_t& size(Index& index) {
    return index.size_;
  }
};

/// Reaches into a cache, as it lets tests do.
struct hybridmem::detail::StateCacheAccess {
  template <class Cache>
  static auto& organization(Cache& cache) {
    return cache.organization_;
  }
  template <class Cache>
  static auto& blocks(Cache& cache) {
    return cache.blocks_;
  }
  template <class Cache>
  static auto& states(Cache& cache) {
    return cache.states_;
  }
  template <class Cache>
  static auto& rows(Cache& cache) {
    return cache.rows_;
  }
  template <class Cache>
  static auto& steps(Cache& cache) {
    return cache.steps_;
  }
  template <class Cache>
  static auto& live_states(Cache& cache) {
    return cache.live_states_;
  }
  template <class Cache>
  static auto& running(Cache& cache) {
    return cache.running_;
  }
  template <class Cache>
  static auto& pinned_units(Cache& cache) {
    return cache.pinned_units_;
  }
  template <class Cache>
  static auto& off_grid(Cache& cache) {
    return cache.off_grid_states_;
  }
  template <class Cache>
  static auto& kept(Cache& cache) {
    return cache.kept_;
  }
  template <class Cache>
  static auto& kept_links(Cache& cache) {
    return cache.kept_links_;
  }
};

using namespace hybridmem_test;
using Access = hybridmem::detail::StateCacheAccess;

namespace {

/// A cache with something of everything: a sequence in flight that holds checkpoints, a fork of it,
/// cached blocks and checkpoints, publications that wait.
template <class O>
class Busy : public CacheDriver<O> {
 public:
  using Driver = CacheDriver<O>;
  using typename Driver::Cache;

  Busy() : Driver(small_layout<O>(), options()) {
    REQUIRE(this->serve(Text(1), 100));
    REQUIRE(this->serve(Text(4), 100));
    running = this->begin(Text(2), 200);
    REQUIRE(this->step(running, 70));
    this->publish(running);
    this->open();
    REQUIRE(this->advance(running, 100));
    child = this->fork(this->begin(Text(1), 100), 3);
    this->close();
    this->publish(running);
  }

  static CacheOptions options() {
    CacheOptions options = room_for(small_layout<O>(), 40, 12);
    options.reuse = Reuse::ticket;
    options.checkpoint_units = 100;
    return options;
  }

  std::int32_t row() { return Access::rows(this->cache).find(running.sequence); }

  typename Driver::Request running;
  typename Driver::Request child;
};

/// The kinds that an audit finds after `corrupt`.
template <class O>
std::vector<FindingKind> found_after(const std::function<void(Busy<O>&)>& corrupt) {
  Busy<O> busy;
  REQUIRE(busy.cache.audit({}) == 0);
  corrupt(busy);
  std::vector<Finding> findings(64);
  const std::size_t count = busy.cache.audit(findings);
  std::vector<FindingKind> kinds;
  for (std::size_t i = 0; i < std::min(count, findings.size()); ++i)
    kinds.push_back(findings[i].kind);
  return kinds;
}

bool contains(const std::vector<FindingKind>& kinds, FindingKind kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

template <class Cache>
CheckpointId cached_state(const Cache& cache) {
  CheckpointId id{0};
  while (!cache.organization().cached(id)) id = CheckpointId{id.value() + 1};
  return id;
}
template <class Cache>
BlockId cached_block(const Cache& cache) {
  BlockId id{0};
  while (!cache.organization().cached(id)) id = BlockId{id.value() + 1};
  return id;
}
/// A unit or line of an object, to be changed.
std::int32_t& writable(std::span<const std::int32_t> ids, std::size_t index = 0) {
  return const_cast<std::int32_t&>(ids[index]);
}

}  // namespace

TEST_CASE_TEMPLATE("an intact cache has no finding", O, CoarsePages, PagedRecurrent, SlabPacked,
                   StaticDualPool) {
  Busy<O> busy;
  std::array<Finding, 4> findings;
  CHECK(busy.cache.audit(findings) == 0);
  CHECK(busy.cache.audit({}) == 0);
}

TEST_CASE_TEMPLATE("each way of corrupting a cache is found", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  using Corrupt = std::function<void(Busy<O>&)>;
  const std::vector<std::tuple<FindingKind, const char*, Corrupt>> corruptions{
      {FindingKind::unit_sum, "checkpoints miscounted",
       [](Busy<O>& busy) { ++Access::live_states(busy.cache); }},
      {FindingKind::unit_sum, "pins miscounted",
       [](Busy<O>& busy) { ++Access::pinned_units(busy.cache); }},
      {FindingKind::unit_sum, "a cached checkpoint without a place in the budget's order",
       [](Busy<O>& busy) { Access::kept(busy.cache).pop_front(Access::kept_links(busy.cache)); }},
      {FindingKind::unit_owners, "two blocks share a unit",
       [](Busy<O>& busy) {
         const auto blocks = busy.cache.blocks_of(busy.running.sequence);
         const O& organization = busy.cache.organization();
         writable(organization.pages(blocks[0])) = organization.pages(blocks[1])[0];
       }},
      {FindingKind::unit_owners, "a checkpoint names no unit",
       [](Busy<O>& busy) {
         const O& organization = busy.cache.organization();
         writable(organization.pages(busy.cache.state_of(busy.running.sequence))) = -1;
       }},
      {FindingKind::reference_count, "a block is referenced once too often",
       [](Busy<O>& busy) {
         Access::organization(busy.cache).reference(busy.cache.blocks_of(busy.running.sequence)[0]);
       }},
      {FindingKind::reference_count, "a sequence holds a state that is not referenced",
       [](Busy<O>& busy) {
         Access::rows(busy.cache)[busy.row()].current = cached_state(busy.cache);
       }},
      {FindingKind::unheld_reference, "a cached block is referenced by nobody",
       [](Busy<O>& busy) { Access::organization(busy.cache).reference(cached_block(busy.cache)); }},
      {FindingKind::unheld_reference, "a sequence forgets its state",
       [](Busy<O>& busy) {
         Access::rows(busy.cache)[busy.row()].current = CheckpointId::absent();
       }},
      {FindingKind::stale_publication, "a published block is gone",
       [](Busy<O>& busy) {
         Access::organization(busy.cache).invalidate(cached_block(busy.cache));
       }},
      {FindingKind::stale_publication, "a published checkpoint is gone",
       [](Busy<O>& busy) {
         Access::organization(busy.cache).invalidate(cached_state(busy.cache));
       }},
      {FindingKind::index, "the index miscounts its objects",
       [](Busy<O>& busy) {
         auto& index = const_cast<PrefixIndex<BlockId>&>(Access::blocks(busy.cache).index());
         ++hybridmem::detail::PrefixIndexAccess::size(index);
       }},
      {FindingKind::index, "checkpoints off the grid miscounted",
       [](Busy<O>& busy) { ++Access::off_grid(busy.cache); }},
      {FindingKind::position, "a sequence is farther than its blocks",
       [](Busy<O>& busy) { Access::rows(busy.cache)[busy.row()].placed += 100; }},
      {FindingKind::position, "more is settled than placed",
       [](Busy<O>& busy) { Access::rows(busy.cache)[busy.row()].settled += 1'000; }},
      {FindingKind::position, "a running sequence is not counted",
       [](Busy<O>& busy) { --Access::running(busy.cache); }},
      {FindingKind::held_order, "held checkpoints out of order",
       [](Busy<O>& busy) {
         const auto held = Access::rows(busy.cache).held(busy.row());
         REQUIRE(held.size() >= 2);
         std::swap(held[0].position, held[1].position);
       }},
      {FindingKind::pending_order, "a publication waits for a step that is not in flight",
       [](Busy<O>& busy) {
         auto& states = Access::states(busy.cache);
         const CheckpointId id = cached_state(busy.cache);
         const Key key = states.index().key_of(id);
         const Key parent = states.index().parent_of(id);
         const Tokens end = states.end(id);
         states.forget(id);
         states.publish(id, key, parent, busy.cache.epoch(), end, 77, true);
       }},
      {FindingKind::step_order, "a step in flight has another number",
       [](Busy<O>& busy) {
         auto& steps = Access::steps(busy.cache);
         ++steps.at(steps.last()).ticket;
       }},
      {FindingKind::step_order, "more is complete than was opened",
       [](Busy<O>& busy) {
         Access::steps(busy.cache).complete_oldest();
         Access::steps(busy.cache).complete_oldest();
       }},
  };
  for (const auto& [kind, name, corrupt] : corruptions) {
    CAPTURE(name);
    CAPTURE(name_of(kind));
    CHECK(contains(found_after<O>(corrupt), kind));
  }
}

TEST_CASE("a slot that belongs to another checkpoint is found") {
  CHECK(contains(found_after<SlabPacked>([](Busy<SlabPacked>& busy) {
                   const SlabPacked& organization = busy.cache.organization();
                   const auto mine = organization.lines(busy.cache.state_of(busy.running.sequence));
                   const auto other = organization.lines(cached_state(busy.cache));
                   std::swap(writable(mine), writable(other));
                 }),
                 FindingKind::slab));
}

TEST_CASE("findings beyond the room for them are counted") {
  Busy<SlabPacked> busy;
  ++Access::live_states(busy.cache);
  --Access::running(busy.cache);
  std::array<Finding, 1> one;
  CHECK(busy.cache.audit(one) == 2);
  CHECK(one[0].kind == FindingKind::unit_sum);
  CHECK(one[0].found == one[0].expected + 1);
}
