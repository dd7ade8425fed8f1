// PagePool: equal pages, the objects that own them, their references, and the order of reclaim.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <numeric>
#include <span>
#include <vector>

#include "hybridmem/core/ids.hpp"
#include "hybridmem/core/index_heap.hpp"
#include "hybridmem/core/index_list.hpp"
#include "hybridmem/pool/pool_options.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE {

/// The size of a pool.
struct PagePoolOptions {
  std::uint32_t pages = 0;
  std::uint32_t objects = 0;  ///< object ids are 0 to objects - 1
  std::uint32_t stamped = 0;  ///< the last so many ids may be cached at a stamp of their own
  FreeOrder free_order = FreeOrder::unpublished_first;
};

inline namespace HYBRIDMEM_CHECK_NAMESPACE {

/// A budget of equal pages. An object owns the pages it took until they are given back; which pages
/// those are its owner remembers. An object is absent, referenced (at least one reference) or
/// cached (none, and its pages may be reassigned). Nothing allocates after construction; every
/// operation costs the pages it touches, plus a logarithm for stamped objects. Identical calls give
/// identical pages.
///
/// Eviction crosses floors by a callable passed to `take`: it is told the victim, must make it
/// unfindable first (rule P3), and must `give_back` the victim's pages before it returns.
class PagePool {
 public:
  PagePool(const PagePoolOptions& options, std::pmr::memory_resource* memory)
      : options_(options),
        free_(options.pages, 0, memory),
        objects_(options.objects, Object{}, memory),
        links_(options.objects, ListLink{}, memory),
        stamped_(options.stamped, memory) {
    reset();
  }

  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;
  PagePool(PagePool&&) noexcept = default;
  PagePool& operator=(PagePool&&) = delete;
  ~PagePool() = default;

  /// Frees every page and forgets every object. Linear in the pages and objects.
  void reset() {
    for (std::size_t i = 0; i < free_.size(); ++i)
      free_[i] = static_cast<std::int32_t>(free_.size() - 1 - i);
    free_count_ = options_.pages;
    cached_pages_ = 0;
    while (!order_.empty()) order_.pop_front(links_);
    while (!stamped_.empty()) stamped_.remove(stamped_.top());
    for (Object& object : objects_)
      object = Object{0, 0, object.generation + (object.state == State::absent ? 0U : 1U),
                      State::absent, 0};
    clock_ = 0;
  }

  std::uint32_t pages() const noexcept { return options_.pages; }
  std::uint32_t free_pages() const noexcept { return free_count_; }
  FreeOrder free_order() const noexcept { return options_.free_order; }
  /// Pages that an allocation can have: free ones and those of cached objects.
  std::uint32_t available() const noexcept { return free_count_ + cached_pages_; }
  PoolCounts counts() const noexcept {
    return {options_.pages, free_count_, cached_pages_,
            options_.pages - free_count_ - cached_pages_};
  }

  bool absent(ObjectId id) const { return object(id).state == State::absent; }
  bool cached(ObjectId id) const { return object(id).state == State::cached; }
  std::uint32_t references(ObjectId id) const { return object(id).references; }
  std::uint32_t pages_of(ObjectId id) const { return object(id).pages; }
  /// How often the id has been given back; a remembered value tells a reused id from the old one.
  std::uint32_t generation(ObjectId id) const { return object(id).generation; }

  /// The next object that an allocation would evict; absent when nothing is cached.
  ObjectId next_victim() const {
    const ObjectId first = order_.front();
    if (stamped_.empty()) return first;
    const std::size_t top = stamped_.top();
    if (first.present() && object(first).stamp < stamped_.key(top)) return first;
    return stamped_id(top);
  }

  /// Gives `id` as many pages as `out` has room for, evicting cached objects oldest first while
  /// free pages are short, and references it once. All or nothing (rule P5): false, and nothing
  /// evicted, when fewer are available. Precondition: `id` is absent. Zero pages are allowed: such
  /// an object is in no order and never a victim.
  template <class Evict>
  bool take(ObjectId id, std::span<std::int32_t> out, Evict&& evict) {
    HYBRIDMEM_CHECK(1, absent(id), "an object takes pages once");
    if (out.size() > available()) return false;
    while (free_count_ < out.size()) {
      const std::uint32_t before = available();
      const ObjectId victim = next_victim();
      evict(victim);
      HYBRIDMEM_CHECK(1, absent(victim) && available() == before,
                      "an eviction gives back exactly the victim's pages");
      if (!absent(victim) || available() < out.size()) return false;
    }
    for (std::int32_t& page : out) page = free_[--free_count_];
    Object& object = mutable_object(id);
    object.pages = static_cast<std::uint32_t>(out.size());
    object.references = 1;
    object.state = State::referenced;
    return true;
  }

  /// Adds a reference; a cached object leaves the reclaim order. Precondition: not absent.
  void reference(ObjectId id) {
    Object& object = mutable_object(id);
    HYBRIDMEM_CHECK(1, object.state != State::absent,
                    "only an object with pages can be referenced");
    if (object.state == State::cached) uncache(id);
    object.state = State::referenced;
    ++object.references;
  }

  /// Drops a reference. The last one caches the object at the end of the reclaim order (at `stamp`
  /// if it is a stamped object and the stamp is not zero) when it is discoverable, or when the pool
  /// keeps one queue for all; otherwise the caller gives its pages back now. Precondition:
  /// referenced.
  Released release(ObjectId id, bool discoverable, std::uint64_t stamp = 0) {
    Object& object = mutable_object(id);
    HYBRIDMEM_CHECK(1, object.state == State::referenced, "only a reference held can be dropped");
    if (object.references > 1) {
      --object.references;
      return Released::still_referenced;
    }
    object.references = 0;
    object.state = State::cached;
    cached_pages_ += object.pages;
    object.stamp = stamp != 0 ? stamp : ++clock_;
    if (object.pages > 0) {
      if (stamp != 0)
        stamped_.put(stamped_index(id), stamp);
      else
        order_.push_back(links_, id);
    }
    return discoverable || options_.free_order == FreeOrder::release_order ? Released::cached
                                                                           : Released::dropped;
  }

  /// Returns the pages of a cached object to the front of the free list, the first of them
  /// foremost, and makes the object absent. Preconditions: `id` is cached, and `pages` are all it
  /// took.
  void give_back(ObjectId id, std::span<const std::int32_t> pages) {
    Object& object = mutable_object(id);
    HYBRIDMEM_CHECK(1, object.state == State::cached, "a referenced object keeps its pages");
    HYBRIDMEM_CHECK(1, object.pages == pages.size(), "an object gives back all its pages");
    uncache(id);
    for (std::size_t i = pages.size(); i-- > 0;) free_[free_count_++] = pages[i];
    object = Object{0, 0, object.generation + 1, State::absent, 0};
  }

  /// A stamp for an object that will be cached where it stands now, never refreshed.
  std::uint64_t next_stamp() noexcept { return ++clock_; }

  /// The free pages, the next to be handed out last. For audits.
  std::span<const std::int32_t> free_list() const noexcept { return {free_.data(), free_count_}; }

  /// Calls `visit(id)` for each cached object with pages that is in the order by release, oldest
  /// first. For audits; linear.
  template <class Visit>
  void for_each_cached(Visit&& visit) const {
    order_.for_each(links_, visit);
  }

 private:
  enum class State : std::uint8_t { absent, referenced, cached };

  struct Object {
    std::uint32_t references = 0;
    std::uint32_t pages = 0;
    std::uint32_t generation = 0;
    State state = State::absent;
    std::uint64_t stamp = 0;  ///< place in the reclaim order while cached
  };

  const Object& object(ObjectId id) const {
    HYBRIDMEM_CHECK(1, id.present() && id.index() < objects_.size(), "the object id is in range");
    return objects_[id.index()];
  }
  Object& mutable_object(ObjectId id) {
    HYBRIDMEM_CHECK(1, id.present() && id.index() < objects_.size(), "the object id is in range");
    return objects_[id.index()];
  }

  std::size_t stamped_index(ObjectId id) const {
    HYBRIDMEM_CHECK(1, id.index() + options_.stamped >= options_.objects,
                    "only the last ids are cached at a stamp");
    return id.index() + options_.stamped - options_.objects;
  }
  ObjectId stamped_id(std::size_t index) const noexcept {
    return ObjectId{static_cast<std::int32_t>(index + options_.objects - options_.stamped)};
  }

  void uncache(ObjectId id) {
    cached_pages_ -= objects_[id.index()].pages;
    if (objects_[id.index()].pages == 0) return;
    if (links_[id.index()].linked())
      order_.remove(links_, id);
    else
      stamped_.remove(stamped_index(id));
  }

  PagePoolOptions options_;
  std::pmr::vector<std::int32_t> free_;  ///< a stack; the first free_count_ are free
  std::pmr::vector<Object> objects_;
  std::pmr::vector<ListLink> links_;
  IndexHeap stamped_;
  IndexList<ObjectId> order_;
  std::uint32_t free_count_ = 0;
  std::uint32_t cached_pages_ = 0;
  std::uint64_t clock_ = 0;
};

}  // namespace HYBRIDMEM_CHECK_NAMESPACE
}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE
