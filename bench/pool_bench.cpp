// What the pools and organizations cost: free-list allocation, evict and release, a checkpoint of
// many members, and how much of SlabPacked's bytes stays useful under random victims.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <random>
#include <utility>
#include <vector>

#include "hybridmem/organization/slab_packed.hpp"
#include "hybridmem/organization/storage_cost.hpp"

namespace {

using namespace hybridmem;

/// The paper's model: three members of 512 KiB, sixteen slots a slab, of one layer.
OrganizationLayout layout_of(std::uint32_t members, std::uint32_t slots) {
  OrganizationLayout layout;
  layout.kind = OrganizationKind::slab_packed;
  layout.unit_bytes = {524'288, 524'288};
  layout.block_tokens = 512;
  layout.units_per_block = 1;
  layout.member_units = members;
  layout.slots_per_checkpoint = slots;
  layout.lines_per_checkpoint = slots;
  layout.slots_per_slab = 16;
  layout.block_payload_bytes = 524'288;
  layout.checkpoint_payload_bytes =
      std::uint64_t{members} * 524'288 + std::uint64_t{slots} * 21'504;
  return layout;
}

SlabPacked make(std::uint64_t pages, std::uint32_t members = 3, std::uint32_t slots = 1,
                const OrganizationOptions& options = {}) {
  return {layout_of(members, slots), {pages, 0}, options, std::pmr::get_default_resource()};
}

template <class Id>
std::vector<Id> shuffled(std::vector<Id> ids) {
  std::mt19937_64 random(1);
  for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[random() % i]);
  return ids;
}

struct Nothing {
  void operator()(const Eviction& eviction) const { benchmark::DoNotOptimize(eviction.index); }
};

// Half the pool is taken at random; a block is freed to and taken from the free list.
void block_allocate_free(benchmark::State& state) {
  auto organization = make(static_cast<std::uint64_t>(state.range(0)));
  std::vector<BlockId> blocks;
  for (std::int64_t i = 0; i < state.range(0); ++i)
    blocks.push_back(organization.allocate_block(Nothing{}));
  blocks = shuffled(std::move(blocks));
  std::size_t i = 0;
  for (auto _ : state) {
    organization.release(blocks[i], false);
    blocks[i] = organization.allocate_block(Nothing{});
    i = i + 1 == blocks.size() ? 0 : i + 1;
  }
  state.counters["per_operation"] = benchmark::Counter(
      2, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(block_allocate_free)->Arg(10'000)->Arg(1'000'000);

// A full pool of cached blocks in random order: the oldest is evicted, its page is taken, and the
// new block is cached.
void block_evict_release(benchmark::State& state) {
  auto organization = make(static_cast<std::uint64_t>(state.range(0)));
  std::vector<BlockId> blocks;
  for (std::int64_t i = 0; i < state.range(0); ++i)
    blocks.push_back(organization.allocate_block(Nothing{}));
  for (const BlockId id : shuffled(std::move(blocks))) organization.release(id, true);
  for (auto _ : state) organization.release(organization.allocate_block(Nothing{}), true);
}
BENCHMARK(block_evict_release)->Arg(10'000)->Arg(1'000'000);

// A checkpoint is freed to and taken from the free list; the others stay referenced.
void checkpoint_allocate_free(benchmark::State& state) {
  const auto members = static_cast<std::uint32_t>(state.range(1));
  auto organization = make(static_cast<std::uint64_t>(state.range(0)), members,
                           static_cast<std::uint32_t>(state.range(2)));
  std::vector<CheckpointId> states;
  for (auto id = organization.allocate_checkpoint(Nothing{}); id.present();
       id = organization.allocate_checkpoint(Nothing{}))
    states.push_back(id);
  states = shuffled(std::move(states));
  std::size_t i = 0;
  for (auto _ : state) {
    organization.release(states[i], false);
    states[i] = organization.allocate_checkpoint(Nothing{});
    i = i + 1 == states.size() ? 0 : i + 1;
  }
}
BENCHMARK(checkpoint_allocate_free)
    ->ArgNames({"pages", "members", "slots"})
    ->Args({10'000, 3, 1})
    ->Args({10'000, 48, 1})
    ->Args({10'000, 92, 23})
    ->Args({1'000'000, 3, 1})
    ->Args({1'000'000, 48, 1});

// A full pool of cached checkpoints: one is evicted for each that is allocated and cached.
void checkpoint_evict_release(benchmark::State& state) {
  const auto members = static_cast<std::uint32_t>(state.range(1));
  auto organization = make(static_cast<std::uint64_t>(state.range(0)), members);
  std::vector<CheckpointId> states;
  for (auto id = organization.allocate_checkpoint(Nothing{}); id.present();
       id = organization.allocate_checkpoint(Nothing{}))
    states.push_back(id);
  for (const CheckpointId id : shuffled(std::move(states))) organization.release(id, true);
  for (auto _ : state) organization.release(organization.allocate_checkpoint(Nothing{}), true);
}
BENCHMARK(checkpoint_evict_release)
    ->ArgNames({"pages", "members"})
    ->Args({10'000, 3})
    ->Args({10'000, 48})
    ->Args({1'000'000, 3});

// What an admission asks: a match's 128 blocks and state, and a prompt's blocks beyond it.
void needed(benchmark::State& state) {
  auto organization = make(static_cast<std::uint64_t>(state.range(0)));
  std::vector<BlockId> blocks;
  for (int i = 0; i < 128; ++i) blocks.push_back(organization.allocate_block(Nothing{}));
  for (const BlockId id : blocks) organization.release(id, true);
  const CheckpointId held = organization.allocate_checkpoint(Nothing{});
  organization.release(held, true);
  for (auto _ : state) benchmark::DoNotOptimize(organization.needed({8, 2}, blocks, held));
}
BENCHMARK(needed)->Arg(10'000);

// Random victims in a full pool whose mix swings between mostly checkpoints and mostly blocks, so
// that slabs are thinned out at random: the fraction of the bytes in use that are payload, at its
// lowest and on average.
void useful_fraction(benchmark::State& state) {
  const auto placement = static_cast<SlotPlacement>(state.range(0));
  double lowest = 1;
  double sum = 0;
  std::uint64_t samples = 0;
  for (auto _ : state) {
    auto organization = make(10'000, 3, 1, {.slot_placement = placement});
    std::mt19937_64 random(7);
    std::vector<BlockId> blocks;
    std::vector<CheckpointId> states;
    std::uint64_t checkpoints_of_16 = 8;
    const auto fill = [&] {
      for (;;) {
        const bool block = random() % 16 >= checkpoints_of_16;
        const PoolCounts counts = organization.counts(0);
        if (counts.free < 4) return;
        if (block)
          blocks.push_back(organization.allocate_block(Nothing{}));
        else
          states.push_back(organization.allocate_checkpoint(Nothing{}));
        if (block)
          organization.release(blocks.back(), true);
        else
          organization.release(states.back(), true);
      }
    };
    const auto drop = [&](auto& ids) {
      const std::size_t i = random() % ids.size();
      organization.invalidate(ids[i]);
      ids[i] = ids.back();
      ids.pop_back();
    };
    fill();
    for (int round = 0; round < 60'000; ++round) {
      if (round % 10'000 == 0) checkpoints_of_16 = round % 20'000 == 0 ? 14 : 1;
      if (random() % (blocks.size() + states.size()) < blocks.size())
        drop(blocks);
      else
        drop(states);
      fill();
      if (round % 100 != 0) continue;
      const StorageCost cost = storage_cost(
          organization.layout(), {blocks.size(), states.size(), organization.slab_pool()->slabs()});
      const double useful = 1 - cost.unused_fraction();
      lowest = std::min(lowest, useful);
      sum += useful;
      ++samples;
    }
  }
  state.counters["lowest"] = lowest;
  state.counters["mean"] = sum / static_cast<double>(samples);
}
BENCHMARK(useful_fraction)
    ->ArgName("placement")
    ->Arg(static_cast<int>(SlotPlacement::fullest))
    ->Arg(static_cast<int>(SlotPlacement::fifo))
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
