// Quickstart: the life of three requests in one small budget, on each of the four organizations.
// No GPU is needed: the cache decides where state lives, and an engine's kernels would follow it.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "hybridmem/cache/state_cache.hpp"
#include "hybridmem/model/layout_solver.hpp"
#include "hybridmem/model/make_geometry.hpp"
#include "hybridmem/model/preset.hpp"
#include "hybridmem/organization/budget.hpp"
#include "hybridmem/organization/coarse_pages.hpp"
#include "hybridmem/organization/paged_recurrent.hpp"
#include "hybridmem/organization/slab_packed.hpp"
#include "hybridmem/organization/static_dual_pool.hpp"
#include "hybridmem/prefix/key_chain.hpp"

using namespace hybridmem;

/// A prompt: `common` tokens that many send, then `own` tokens of one user.
struct Text {
  std::vector<std::int32_t> tokens;
  std::vector<Key> keys;
  Prompt prompt;

  Text(const KeyChain<>& chain, std::size_t common, std::size_t own, std::int32_t user)
      : tokens(common, 1) {
    tokens.insert(tokens.end(), own, user);
    keys.resize(chain.whole_chunks(tokens.size()));
    chain.fill(chain.root(), std::span<const std::int32_t>(tokens), keys);
    prompt.keys = keys;
    prompt.root = chain.root();
    prompt.tokens = prompt.max_tokens = static_cast<Tokens>(tokens.size());
  }
};

/// One line of output; two pools are printed as "attention+recurrent".
void print(const char* name, const PoolUnits& units, Tokens matched, const PoolUnits& freed,
           Tokens resumed, const Metrics& before, const Metrics& after, std::size_t findings) {
  const auto both = [&](const PoolUnits& of) {
    return std::to_string(of[0]) + (units[1] > 0 ? "+" + std::to_string(of[1]) : "");
  };
  std::printf(
      "%-17s %8s %7u %7s %8u %5llu %8llu %9zu\n", name, both(units).c_str(), matched,
      both(freed).c_str(), resumed,
      static_cast<unsigned long long>(after.checkpoints_evicted - before.checkpoints_evicted),
      static_cast<unsigned long long>(after.cross_invalidations), findings);
}

template <class Organization>
void show(const PageLayout& pages, const Budget& budget) {
  const OrganizationLayout layout = organization_layout(pages, Organization::kind);
  const PoolUnits units = plan_units(layout, budget)->units;
  const OrganizationOptions orders{.slab_order = SlabOrder::creation};
  StateCache<Organization> cache(layout, {.units = units, .organization = orders});

  const auto run = [&](Sequence sequence, const Text& text) {  // a whole prompt in one step
    const Ticket ticket = cache.open_step().value();
    const Chunk chunk{sequence, text.prompt.tokens - cache.position(sequence)->placed};
    Advanced advanced;
    cache.advance({&chunk, 1}, {&advanced, 1});
    cache.publish(sequence, advanced.to, text.keys).value();
    cache.close_step().value();  // what to zero, copy and write: an engine launches its kernels
    cache.complete(ticket).value();
  };

  const KeyChain<> chain({0x0123, 0x4567}, pages.key_tokens);  // a secret seed, and the key grid
  const Text alice(chain, 7168, 1024, 2), bob(chain, 7168, 600, 3), carol(chain, 0, 8192, 4);

  const Sequence first = cache.commit(alice.prompt).value();  // nothing to reuse yet
  run(first, alice);
  cache.finish(first, alice.prompt.tokens, alice.keys).value();

  const Match match = cache.match(bob.prompt);  // as far as Alice's prompt is also Bob's
  const Sequence second = cache.commit(bob.prompt).value();
  run(second, bob);
  const PoolUnits freed = cache.releasable(second);
  cache.preempt(second).value();
  cache.resume(second, bob.prompt).value();  // finds what Bob himself has left
  const Tokens resumed = cache.position(second)->placed;
  run(second, bob);
  cache.finish(second, bob.prompt.tokens, bob.keys).value();

  const Metrics before = cache.metrics();
  const Sequence third = cache.commit(carol.prompt).value();  // shares nothing: others make room
  run(third, carol);
  print(name_of(layout.kind), units, match.joint_depth, freed, resumed, before, cache.metrics(),
        cache.audit({}));
}

int main() {
  const StateGeometry geometry = make_geometry(find_preset("falcon-h1-7b")->architecture).value();
  const PageLayout pages = solve_layout(geometry).value();
  const Budget budget = parse_budget("2GiB").value();
  std::puts("Falcon-H1-7B in 2 GiB. Bob's prompt begins like Alice's, Carol's does not.\n");
  std::puts("organization         units  reused   freed  resumed  lost  by slab  findings");
  show<CoarsePages>(pages, budget);
  show<PagedRecurrent>(pages, budget);
  show<SlabPacked>(pages, budget);
  show<StaticDualPool>(pages, budget);
  std::puts("\nreused    tokens that Bob need not compute again, thanks to Alice");
  std::puts("freed     units that Bob gives up when he is preempted");
  std::puts("resumed   tokens that he finds again when he comes back");
  std::puts("lost      checkpoints that make room for Carol");
  std::puts("by slab   those of them that lose their convolution state with a shared slab: only");
  std::puts("          slab_packed shares pages, and SlabOrder::creation lets old slabs go first");
  std::puts("findings  contradictions that an audit of the cache found");
}
