// zero_units on a GPU: what is listed is cleared, and nothing else.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hybridmem/kernels/zero_units.hpp"
#include "skip.hpp"

namespace {

using hybridmem::kernels::LaunchStatus;
using hybridmem::kernels::zero_units;
using hybridmem::kernels::ZeroUnits;

// Why no kernel can run here; empty when one can.
std::string reason_without_gpu() {
  int devices = 0;
  const cudaError_t outcome = cudaGetDeviceCount(&devices);
  if (outcome != cudaSuccess) return std::string("no CUDA device: ") + cudaGetErrorString(outcome);
  return devices == 0 ? "no CUDA device" : "";
}

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size) {
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&data_), size * sizeof(T)) == cudaSuccess);
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

}  // namespace

TEST_CASE("zero_units clears the listed pages and no byte beside them (GPU)") {
  const std::string reason = reason_without_gpu();
  if (!reason.empty()) return hybridmem_test::skip_test(reason.c_str());

  for (const std::uint64_t page_bytes : {256U, 16'384U, 16'640U, 49'408U}) {
    CAPTURE(page_bytes);
    constexpr std::size_t pages = 7;
    const std::vector<std::int32_t> ids{0, -1, 6, 3, -2};
    DeviceArray<unsigned char> pool(pages * page_bytes);
    DeviceArray<std::int32_t> list(ids.size());
    REQUIRE(cudaMemset(pool.data(), 0xA5, pages * page_bytes) == cudaSuccess);
    REQUIRE(cudaMemcpy(list.data(), ids.data(), ids.size() * sizeof(std::int32_t),
                       cudaMemcpyHostToDevice) == cudaSuccess);
    const LaunchStatus status = zero_units(
        {pool.data(), page_bytes, list.data(), static_cast<std::int32_t>(ids.size())}, nullptr);
    REQUIRE(status.has_value());
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);

    std::vector<unsigned char> bytes(pages * page_bytes);
    REQUIRE(cudaMemcpy(bytes.data(), pool.data(), bytes.size(), cudaMemcpyDeviceToHost) ==
            cudaSuccess);
    for (std::size_t page = 0; page < pages; ++page) {
      CAPTURE(page);
      const bool listed = page == 0 || page == 3 || page == 6;
      const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(page * page_bytes);
      CHECK(std::all_of(first, first + static_cast<std::ptrdiff_t>(page_bytes),
                        [&](unsigned char byte) { return byte == (listed ? 0 : 0xA5); }));
    }
  }
}

TEST_CASE("without a GPU a valid launch comes back as the runtime's error") {
  if (reason_without_gpu().empty())
    return hybridmem_test::skip_test("this machine has a GPU: the launch would succeed");
  const LaunchStatus status =
      zero_units({.pool = reinterpret_cast<void*>(std::uintptr_t{4096}),
                  .page_bytes = 512,
                  .page_ids = reinterpret_cast<const std::int32_t*>(std::uintptr_t{4096}),
                  .count = 1},
                 nullptr);
  REQUIRE_FALSE(status.has_value());
  CHECK(status.error().input.code == hybridmem::Error::none);
  CHECK(status.error().cuda_error != 0);
}
