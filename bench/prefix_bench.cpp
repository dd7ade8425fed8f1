// What the prefix floor costs: making keys, finding a chain of them, publishing and forgetting.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "hybridmem/core/ids.hpp"
#include "hybridmem/prefix/key_chain.hpp"
#include "hybridmem/prefix/prefix_index.hpp"

namespace {

using hybridmem::Key;
using hybridmem::KeyChain;
using hybridmem::KeySeed;
using hybridmem::ObjectId;
using hybridmem::PrefixIndex;

constexpr std::size_t chain_length = 128;

// Objects in a random order, so that neighbours of a chain are not neighbours in memory.
std::vector<std::int32_t> shuffled(std::size_t count) {
  std::vector<std::int32_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::int32_t>(i);
  std::mt19937_64 random(1);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

// An index filled with chains of `chain_length` keys, one root a chain.
struct Filled {
  explicit Filled(std::size_t count) : index(count), order(shuffled(count)), keys(count) {
    const KeyChain<> chain(KeySeed{.high = 1, .low = 2}, 1);
    for (std::size_t i = 0; i < count; ++i) {
      const auto token = static_cast<std::int32_t>(i);
      keys[i] = chain.extend(parent(i), std::span<const std::int32_t>(&token, 1));
      index.publish(ObjectId{order[i]}, keys[i], parent(i), 0);
    }
  }
  Key parent(std::size_t i) const {
    return i % chain_length == 0 ? Key{.high = 0, .low = i} : keys[i - 1];
  }

  PrefixIndex<ObjectId> index;
  std::vector<std::int32_t> order;
  std::vector<Key> keys;
};

void keys_of_a_prompt(benchmark::State& state) {
  const KeyChain<> chain(KeySeed{.high = 1, .low = 2}, static_cast<std::uint32_t>(state.range(0)));
  std::vector<std::int32_t> tokens(chain_length * static_cast<std::size_t>(state.range(0)), 7);
  std::vector<Key> keys(chain_length);
  for (auto _ : state) benchmark::DoNotOptimize(chain.fill(Key{}, tokens, keys));
}
BENCHMARK(keys_of_a_prompt)->Arg(16)->Arg(32);

// A hit of 128 keys; each iteration takes another chain.
void find_chain(benchmark::State& state) {
  const Filled filled(static_cast<std::size_t>(state.range(0)));
  const std::size_t chains = filled.keys.size() / chain_length;
  std::size_t chain = 0;
  for (auto _ : state) {
    const std::size_t first = chain * chain_length;
    std::size_t found = 0;
    for (std::size_t i = first; i < first + chain_length; ++i)
      found += filled.index.find(filled.keys[i], filled.parent(i), 0).present() ? 1 : 0;
    if (found != chain_length) state.SkipWithError("a key is missing");
    chain = (chain + 7919) % chains;
  }
}
BENCHMARK(find_chain)->Arg(10'000)->Arg(13'000)->Arg(1'000'000)->Arg(1'600'000);

void find_missing(benchmark::State& state) {
  const Filled filled(static_cast<std::size_t>(state.range(0)));
  std::size_t i = 0;
  for (auto _ : state) {
    const Key key{.high = filled.keys[i].low, .low = filled.keys[i].high};
    benchmark::DoNotOptimize(filled.index.find(key, Key{}, 0));
    i = (i + 7919) % filled.keys.size();
  }
}
BENCHMARK(find_missing)->Arg(10'000)->Arg(13'000)->Arg(1'000'000)->Arg(1'600'000);

// A full index loses one object and gets another under a fresh key.
void forget_and_publish(benchmark::State& state) {
  Filled filled(static_cast<std::size_t>(state.range(0)));
  std::size_t i = 0;
  Key key{.high = 1, .low = 1};
  for (auto _ : state) {
    const ObjectId id{filled.order[i]};
    filled.index.forget(id);
    key.low += 0x9e3779b97f4a7c15U;
    key.high ^= key.low >> 7U;
    filled.index.publish(id, key, Key{}, 0);
    i = i + 1 == filled.order.size() ? 0 : i + 1;
  }
  state.counters["longest_probe"] = static_cast<double>(filled.index.longest_probe());
}
BENCHMARK(forget_and_publish)->Arg(10'000)->Arg(13'000)->Arg(1'000'000)->Arg(1'600'000);

}  // namespace

BENCHMARK_MAIN();
