// First steps: two prompts that begin alike, in one budget, from a model's name to a hit.
#include <cstdio>
#include <vector>

#include "hybridmem/cache/state_cache.hpp"
#include "hybridmem/model/layout_solver.hpp"
#include "hybridmem/model/make_geometry.hpp"
#include "hybridmem/model/preset.hpp"
#include "hybridmem/organization/budget.hpp"
#include "hybridmem/organization/slab_packed.hpp"
#include "hybridmem/prefix/key_chain.hpp"
using namespace hybridmem;

int main() {
  const auto model = find_preset("falcon-h1-7b")->architecture;
  const auto pages = solve_layout(make_geometry(model).value()).value();
  const auto layout = organization_layout(pages, OrganizationKind::slab_packed);
  const auto budget = plan_units(layout, parse_budget("2GiB").value()).value();
  StateCache<SlabPacked> cache(layout, {.units = budget.units});

  const KeyChain<> chain({0x0123, 0x4567}, 16);  // a seed of yours; a key for every 16 tokens
  const std::vector<int> tokens(3000, 7);        // the engine's prompt
  std::vector<Key> keys(chain.whole_chunks(tokens.size()));
  chain.fill(chain.root(), std::span(tokens), keys);
  const Prompt prompt{.keys = keys, .root = chain.root(), .tokens = 3000, .max_tokens = 3200};

  const Sequence first = cache.commit(prompt).value();  // nothing is cached yet
  cache.open_step().value();
  const Chunk chunk{first, 3000};
  Advanced advanced;
  cache.advance({&chunk, 1}, {&advanced, 1});
  cache.publish(first, advanced.to, keys).value();
  const StepWork work = cache.close_step().value();  // launch: zero these pages, write these states
  cache.complete(work.ticket).value();

  const Match match = cache.match(prompt);  // the same prompt again
  std::printf("pages %u, cleared %zu, states written %zu, tokens reused %u of %u\n",
              cache.organization().counts(0).units, work.zeros.size(), work.writes.size(),
              match.joint_depth, prompt.tokens);
}
