// A trace record is plain data whose default stands for no call's effect.
#include "hybridmem/observe/trace_record.hpp"

#include <doctest/doctest.h>

#include <type_traits>

using hybridmem::Error;
using hybridmem::TraceOp;
using hybridmem::TraceRecord;

TEST_CASE("a trace record is small plain data") {
  static_assert(std::is_trivially_copyable_v<TraceRecord>);
  static_assert(sizeof(TraceRecord) <= 48);
  const TraceRecord record;
  CHECK(record.op == TraceOp::key);
  CHECK(record.outcome == Error::none);
  CHECK(record.tokens == 0);
}
