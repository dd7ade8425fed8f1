// Every organization beside the naive model: long random sequences over many sizes and options.
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
#include "support/organization_steps.hpp"
#include "violations.hpp"

using namespace hybridmem;
using namespace hybridmem_test;

namespace {

/// `count` operations, `each` on one organization after another; what went wrong, or nothing.
template <class O>
std::string run(std::uint64_t first_seed, std::uint64_t count, std::uint64_t each) {
  const ThrowOnViolation guard;
  for (std::uint64_t seed = first_seed; seed < first_seed + count / each; ++seed) {
    try {
      Choices choices(seed);
      OrganizationSteps<O> steps(choices);
      for (std::uint64_t i = 0; i < each; ++i) steps.step();
    } catch (const ContractViolation& violation) {
      return "seed " + std::to_string(seed) + ": " + violation.message;
    } catch (const std::exception& error) {
      return "seed " + std::to_string(seed) + ": " + error.what();
    }
  }
  return {};
}

/// Operations of each organization; HYBRIDMEM_MODEL_OPERATIONS asks for more.
std::uint64_t operations() {
  const char* asked = std::getenv("HYBRIDMEM_MODEL_OPERATIONS");
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : 100'000;
}

}  // namespace

TEST_CASE_TEMPLATE("an organization does what its model does, operation by operation", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  const std::string difference = run<O>(1, operations(), 200);
  CHECK_MESSAGE(difference.empty(), difference);
}

TEST_CASE_TEMPLATE("any short sequence of choices does what the model does", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  const ThrowOnViolation guard;
  CHECK(rc::check("bytes as the fuzzer gives them", [](const std::vector<std::uint8_t>& bytes) {
    Choices choices{std::span<const std::uint8_t>(bytes)};
    OrganizationSteps<O> steps(choices);
    while (!choices.done()) steps.step();
  }));
}
