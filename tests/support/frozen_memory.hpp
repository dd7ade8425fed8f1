// FrozenMemory: memory for construction only; it counts, and throws once frozen.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <new>

namespace hybridmem_test {

class FrozenMemory : public std::pmr::memory_resource {
 public:
  void freeze() { frozen_ = true; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (frozen_) throw std::bad_alloc();
    bytes_ += bytes;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* pointer, std::size_t bytes, std::size_t alignment) override {
    bytes_ -= bytes;
    std::pmr::new_delete_resource()->deallocate(pointer, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::size_t bytes_ = 0;
  bool frozen_ = false;
};

}  // namespace hybridmem_test
