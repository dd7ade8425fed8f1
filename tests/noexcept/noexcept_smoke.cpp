// The library without exceptions and without RTTI: outcomes are values, misuse goes to the handler.
#include <array>
#include <cstdio>

#include "hybridmem/core/bytes.hpp"
#include "hybridmem/core/ids.hpp"
#include "hybridmem/core/index_list.hpp"
#include "hybridmem/core/version.hpp"

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "this program must be compiled without exceptions and without RTTI"
#endif

const char* cache_failure();

namespace {

using hybridmem::Error;
using hybridmem::PageId;

int failures = 0;
int violations = 0;

void expect(bool condition, const char* what) {
  if (condition) return;
  ++failures;
  std::fprintf(stderr, "failed: %s\n", what);
}

void count(const hybridmem::ContractViolation& /*violation*/) {
  ++violations;
}

void lists() {
  std::array<hybridmem::ListLink, 4> links{};
  hybridmem::IndexList<PageId> list;
  list.push_back(links, PageId{0});
  list.push_back(links, PageId{3});
  list.push_front(links, PageId{2});
  expect(list.size() == 3 && list.front() == PageId{2}, "a list of three");
  list.remove(links, PageId{0});
  expect(list.pop_front(links) == PageId{2}, "the oldest leaves first");
  expect(list.pop_front(links) == PageId{3}, "then the next");
  expect(!list.pop_front(links).present(), "an empty list pops nothing");
}

void results() {
  const auto parsed = hybridmem::parse_bytes("512 KiB");
  expect(parsed.has_value() && parsed.value() == 524'288, "bytes are read");
  const auto refused = hybridmem::parse_bytes("512 potatoes");
  expect(!refused && refused.error() == Error::unknown_name, "an unknown unit is an error value");
  expect(hybridmem::format_bytes(524'288) == "512 KiB", "bytes are printed");
}

void contracts() {
  const auto previous = hybridmem::set_contract_handler(&count);
  const hybridmem::Result<int> refused = Error::capacity;
  expect(refused.value() == 0, "the fallback of a missing value");
  hybridmem::set_contract_handler(previous);
  expect(violations == (HYBRIDMEM_CHECK_LEVEL >= 1 ? 1 : 0), "the handler was told");
}

}  // namespace

int main() {
  lists();
  results();
  contracts();
  const char* const failure = cache_failure();
  expect(failure == nullptr, failure == nullptr ? "" : failure);
  std::printf("hybridmem %s without exceptions: %d failures\n", hybridmem::library_version_text,
              failures);
  return failures == 0 ? 0 : 1;
}
