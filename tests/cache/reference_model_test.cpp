// Every organization's cache beside the naive model and the memory it hands out: long random
// sequences of every call, over many geometries and options.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "hybridmem/organization/coarse_pages.hpp"
#include "hybridmem/organization/paged_recurrent.hpp"
#include "hybridmem/organization/slab_packed.hpp"
#include "hybridmem/organization/static_dual_pool.hpp"
#include "support/cache_steps.hpp"
#include "violations.hpp"

using namespace hybridmem;
using namespace hybridmem_test;

namespace {

/// `count` calls, `each` on one cache after another; what went wrong, or nothing.
template <class O>
std::string run(std::uint64_t first_seed, std::uint64_t count, std::uint64_t each) {
  const ThrowOnViolation guard;
  for (std::uint64_t seed = first_seed; seed < first_seed + count / each; ++seed) {
    try {
      Choices choices(seed);
      CacheSteps<O> steps(choices);
      for (std::uint64_t i = 0; i < each; ++i) steps.step();
    } catch (const std::exception& error) {
      return "seed " + std::to_string(seed) + ": " + error.what();
    }
  }
  return {};
}

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* asked = std::getenv(variable);
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : otherwise;
}

}  // namespace

// HYBRIDMEM_RANDOM_OPERATIONS asks for more calls, HYBRIDMEM_RANDOM_SEED for other ones.
TEST_CASE_TEMPLATE("a cache does what its model does, call by call", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  const std::string difference = run<O>(number_from("HYBRIDMEM_RANDOM_SEED", 1),
                                        number_from("HYBRIDMEM_RANDOM_OPERATIONS", 50'000), 250);
  CHECK_MESSAGE(difference.empty(), difference);
}

TEST_CASE_TEMPLATE("any short sequence of choices does what the model does", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  const ThrowOnViolation guard;
  CHECK(rc::check("bytes as the fuzzer gives them", [](const std::vector<std::uint8_t>& bytes) {
    Choices choices{std::span<const std::uint8_t>(bytes)};
    CacheSteps<O> steps(choices);
    while (!choices.done()) steps.step();
  }));
}
