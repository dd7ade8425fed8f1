// Random or given choices drive an organization and its model side by side; any difference throws.
// One body for the tests and for libFuzzer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "hybridmem/organization/pooled_organization.hpp"
#include "support/organization_audit.hpp"
#include "support/organization_model.hpp"

namespace hybridmem_test {

/// Numbers from a seed (splitmix64, endless), or from bytes until they are used up.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : state_(seed) {}
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes), from_bytes_(true) {}

  bool done() const { return from_bytes_ && bytes_.empty(); }

  /// One of 0 to count - 1; 0 when the bytes are used up.
  std::uint32_t below(std::uint32_t count) {
    if (from_bytes_) {
      if (bytes_.empty()) return 0;
      const std::uint8_t byte = bytes_.front();
      bytes_ = bytes_.subspan(1);
      return byte % count;
    }
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = (state_ ^ (state_ >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return static_cast<std::uint32_t>((mixed >> 33U) % count);
  }
  bool once_in(std::uint32_t count) { return below(count) == 0; }

 private:
  std::uint64_t state_ = 0;
  std::span<const std::uint8_t> bytes_;
  bool from_bytes_ = false;
};

/// A layout that the organization could be given: any small numbers that suit its kind.
inline hybridmem::OrganizationLayout any_organization_layout(hybridmem::OrganizationKind kind,
                                                             Choices& choices) {
  using hybridmem::OrganizationKind;
  hybridmem::OrganizationLayout layout;
  layout.kind = kind;
  layout.unit_bytes = {256, 256};
  layout.block_tokens = 16;
  layout.units_per_block = choices.once_in(8) ? 0 : choices.once_in(2) ? 1 : 1 + choices.below(4);
  const bool convolution = !choices.once_in(6);
  layout.member_units = choices.once_in(2) ? 1 + choices.below(2) : 1 + choices.below(6);
  switch (kind) {
    case OrganizationKind::static_dual_pool:
      layout.pools = 2;
      [[fallthrough]];
    case OrganizationKind::coarse_pages:
      layout.lines_per_checkpoint = convolution ? layout.member_units : 0;
      break;
    case OrganizationKind::paged_recurrent:
      layout.conv_units = convolution ? 1 + choices.below(3) : 0;
      layout.lines_per_checkpoint = layout.conv_units;
      if (convolution && choices.once_in(5)) layout.member_units = 0;
      break;
    case OrganizationKind::slab_packed:
      if (!convolution) break;
      layout.slots_per_checkpoint = choices.once_in(2) ? 1 : 1 + choices.below(8);
      layout.lines_per_checkpoint = layout.slots_per_checkpoint;
      layout.slots_per_slab = choices.once_in(16) ? 60 + choices.below(80) : 1 + choices.below(9);
      if (choices.once_in(4)) layout.member_units = 0;
      break;
  }
  return layout;
}

inline hybridmem::OrganizationOptions any_organization_options(Choices& choices) {
  hybridmem::OrganizationOptions options;
  if (choices.once_in(2)) options.free_order = hybridmem::FreeOrder::release_order;
  if (choices.once_in(2)) options.slab_order = hybridmem::SlabOrder::creation;
  if (choices.once_in(2)) options.slot_placement = hybridmem::SlotPlacement::fifo;
  return options;
}

/// An organization of 1 to 128 units a pool beside its model.
template <class O>
class OrganizationSteps {
 public:
  explicit OrganizationSteps(Choices& choices)
      : choices_(choices),
        layout_(any_organization_layout(O::kind, choices)),
        options_(any_organization_options(choices)),
        units_{1 + choices.below(choices.once_in(8) ? 128 : 24),
               layout_.pools == 2 ? 1 + choices.below(24) : 0U},
        real_(layout_, units_, options_, std::pmr::get_default_resource()),
        model_(layout_, units_, options_) {
    // How full the pools are kept: the share of references that are released again.
    pressure_ = choices.below(6);
  }

  /// One operation and all comparisons.
  void step() {
    try {
      operate();
      compare();
    } catch (const std::exception& error) {
      fail(error.what());
    }
    ++steps_;
  }

 private:
  struct Handle {
    bool block = true;
    std::int32_t id = -1;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(
        std::string(name_of(O::kind)) + " " + std::to_string(units_[0]) + "/" +
        std::to_string(units_[1]) + " units, block " + std::to_string(layout_.units_per_block) +
        ", members " + std::to_string(layout_.member_units) + "+" +
        std::to_string(layout_.conv_units) + ", slots " +
        std::to_string(layout_.slots_per_checkpoint) + " of " +
        std::to_string(layout_.slots_per_slab) + ", " + name_of(options_.free_order) + ", " +
        name_of(options_.slab_order) + ", " + name_of(options_.slot_placement) + ", step " +
        std::to_string(steps_) + " (" + operation_ + "): " + what);
  }
  void expect(bool holds, const char* what) const {
    if (!holds) throw std::runtime_error(what);
  }

  /// An object of the model that is referenced, or one that is cached.
  Handle pick(bool referenced) {
    std::vector<Handle> found;
    for (const auto& [id, state] : model_.blocks())
      if ((state.references > 0) == referenced) found.push_back({true, id});
    for (const auto& [id, state] : model_.checkpoints())
      if ((state.references > 0) == referenced) found.push_back({false, id});
    return found.empty() ? Handle{}
                         : found[choices_.below(static_cast<std::uint32_t>(found.size()))];
  }

  void operate() {
    const std::uint32_t kind = choices_.below(16);
    if (kind < 3) return allocate_block();
    if (kind < 7) return allocate_checkpoint();
    if (kind < 8 + pressure_ / 2) return release();
    if (kind < 12) return choices_.once_in(3) ? reference(true) : release();
    if (kind < 13) return reference(false);
    if (kind < 14) return choices_.once_in(4) ? invalidate() : release();
    if (kind < 15 || !choices_.once_in(64)) return need();
    operation_ = "reset";
    real_.reset();
    model_ = OrganizationModel(layout_, units_, options_);
  }

  /// Records an eviction; the object must still be whole when it is told of (rule P3).
  auto record() {
    return [this](const hybridmem::Eviction& eviction) {
      const bool whole = eviction.kind == hybridmem::StateKind::attention
                             ? real_.cached(hybridmem::BlockId{eviction.index})
                             : real_.cached(hybridmem::CheckpointId{eviction.index});
      expect(whole, "told of an eviction too late");
      evictions_.push_back(eviction);
    };
  }

  void expect_same_evictions() {
    const auto same = [](const hybridmem::Eviction& a, const hybridmem::Eviction& b) {
      return a.kind == b.kind && a.index == b.index && a.cross_invalidated == b.cross_invalidated;
    };
    expect(std::equal(evictions_.begin(), evictions_.end(), model_.evictions.begin(),
                      model_.evictions.end(), same),
           "victims differ");
  }

  void allocate_block() {
    operation_ = "allocate_block";
    evictions_.clear();
    const hybridmem::PoolUnits units = real_.needed({1, 0}, no_blocks, {});
    const bool predicted = layout_.units_per_block > 0 && fits(units);
    const std::int32_t expected = model_.allocate_block();
    const hybridmem::BlockId id = real_.allocate_block(record());
    expect(id.value() == expected, "another block id");
    expect(id.present() == predicted, "needed() was wrong about a block");
    expect_same_evictions();
  }

  void allocate_checkpoint() {
    operation_ = "allocate_checkpoint";
    evictions_.clear();
    const bool predicted = fits(real_.needed({0, 1}, no_blocks, {}));
    const std::int32_t expected = model_.allocate_checkpoint();
    const hybridmem::CheckpointId id = real_.allocate_checkpoint(record());
    expect(id.value() == expected, "another checkpoint id");
    expect(id.present() == predicted, "needed() was wrong about a checkpoint");
    expect_same_evictions();
  }

  void reference(bool cached) {
    operation_ = "reference";
    const Handle handle = pick(!cached);
    if (handle.id < 0) return;
    if (handle.block) {
      model_.reference_block(handle.id);
      real_.reference(hybridmem::BlockId{handle.id});
    } else {
      model_.reference_checkpoint(handle.id);
      real_.reference(hybridmem::CheckpointId{handle.id});
    }
  }

  void release() {
    operation_ = "release";
    const Handle handle = pick(true);
    if (handle.id < 0) return;
    const bool discoverable = !choices_.once_in(4);
    if (handle.block)
      expect(model_.release_block(handle.id, discoverable) ==
                 real_.release(hybridmem::BlockId{handle.id}, discoverable),
             "another outcome");
    else
      expect(model_.release_checkpoint(handle.id, discoverable) ==
                 real_.release(hybridmem::CheckpointId{handle.id}, discoverable),
             "another outcome");
  }

  void invalidate() {
    operation_ = "invalidate";
    const Handle handle = pick(false);
    if (handle.id < 0) return;
    if (handle.block) {
      model_.invalidate_block(handle.id);
      real_.invalidate(hybridmem::BlockId{handle.id});
    } else {
      model_.invalidate_checkpoint(handle.id);
      real_.invalidate(hybridmem::CheckpointId{handle.id});
    }
  }

  bool fits(const hybridmem::PoolUnits& units) const {
    for (std::uint8_t i = 0; i < layout_.pools; ++i)
      if (units[i] > real_.page_pool(i).available()) return false;
    return true;
  }

  /// Asks what adopting and allocating would take, and every other time does it.
  void need() {
    operation_ = "needed";
    hybridmem::StateDemand demand{choices_.below(4), choices_.below(4)};
    if (layout_.units_per_block == 0) demand.blocks = 0;
    std::vector<hybridmem::BlockId> adopted;
    std::vector<std::int32_t> bare;
    for (const auto& [id, block] : model_.blocks())
      if (choices_.once_in(4)) {
        adopted.emplace_back(id);
        bare.push_back(id);
      }
    std::int32_t state = -1;
    if (!model_.checkpoints().empty() && !choices_.once_in(3)) {
      auto one = model_.checkpoints().begin();
      std::advance(one, choices_.below(static_cast<std::uint32_t>(model_.checkpoints().size())));
      state = one->first;
    }
    const hybridmem::PoolUnits units =
        real_.needed(demand, adopted, hybridmem::CheckpointId{state});
    expect(units == model_.needed(demand, bare, state), "needed() differs");
    if (choices_.once_in(2)) return;
    const bool predicted = fits(units);
    operation_ = "needed, then all of it";
    for (const std::int32_t id : bare) model_.reference_block(id);
    for (const hybridmem::BlockId id : adopted) real_.reference(id);
    if (state >= 0) {
      model_.reference_checkpoint(state);
      real_.reference(hybridmem::CheckpointId{state});
    }
    bool all = true;
    const auto blocks = [&] {
      for (std::uint32_t i = 0; i < demand.blocks && all; ++i) {
        evictions_.clear();
        const std::int32_t expected = model_.allocate_block();
        all = real_.allocate_block(record()).present();
        expect(all == (expected >= 0), "another block id");
        expect_same_evictions();
      }
    };
    const bool blocks_first = choices_.once_in(2);
    if (blocks_first) blocks();
    for (std::uint32_t i = 0; i < demand.checkpoints && all; ++i) {
      evictions_.clear();
      const hybridmem::StateDemand later{blocks_first ? 0 : demand.blocks,
                                         demand.checkpoints - i - 1};
      const std::int32_t expected = model_.allocate_checkpoint(later.checkpoints, later.blocks);
      all = real_.allocate_checkpoint(record(), later).present();
      expect(all == (expected >= 0), "another checkpoint id");
      expect_same_evictions();
    }
    if (!blocks_first) blocks();
    // Cached states without members keep their slots until their whole slab goes, and take other
    // states with them then: what several allocations free or miss on the way is not foreseen.
    const bool foreseen = layout_.slots_per_checkpoint == 0 || layout_.units_per_checkpoint() > 0;
    if (foreseen || demand.checkpoints < 2) expect(all || !predicted, "needed() promised too much");
    if (foreseen) expect(!all || predicted, "needed() asked for too much");
  }

  void compare() {
    for (std::uint8_t i = 0; i < layout_.pools; ++i) {
      expect(real_.counts(i) == model_.counts(i), "counts differ");
      const auto free = real_.page_pool(i).free_list();
      expect(std::equal(free.rbegin(), free.rend(), model_.free(i).begin(), model_.free(i).end()),
             "free lists differ");
      expect(same_victim(i), "next victims differ");
    }
    for (const auto& [id, block] : model_.blocks()) same_object(hybridmem::BlockId{id}, block);
    for (const auto& [id, checkpoint] : model_.checkpoints()) {
      same_object(hybridmem::CheckpointId{id}, checkpoint);
      const auto lines = real_.lines(hybridmem::CheckpointId{id});
      expect(
          std::equal(lines.begin(), lines.end(), checkpoint.lines.begin(), checkpoint.lines.end()),
          "lines differ");
    }
    if (units_[0] > 24 && steps_ % 8 != 0) return;
    const std::string finding = audit(real_);
    expect(finding.empty(), finding.c_str());
  }

  template <class Id>
  void same_object(Id id, const OrganizationModel::State& state) const {
    expect(real_.references(id) == state.references, "references differ");
    expect(real_.cached(id) == (state.references == 0), "cached differs");
    const auto pages = real_.pages(id);
    expect(std::equal(pages.begin(), pages.end(), state.pages.begin(), state.pages.end()),
           "pages differ");
  }

  bool same_victim(std::uint8_t pool) const {
    using Kind = OrganizationModel::Kind;
    const auto blocks = static_cast<std::int32_t>(real_.block_capacity());
    const auto checkpoints = static_cast<std::int32_t>(real_.checkpoint_capacity());
    const hybridmem::ObjectId victim = real_.page_pool(pool).next_victim();
    const auto [kind, id] = model_.next_victim(pool);
    switch (kind) {
      case Kind::none:
        return !victim.present();
      case Kind::block:
        return victim.value() == id;
      case Kind::checkpoint:
        return victim.value() == blocks + id;
      case Kind::slab:
        return victim.value() >= blocks + checkpoints && real_.slab_pool()->page_of(victim) == id;
    }
    return false;
  }

  static constexpr std::span<const hybridmem::BlockId> no_blocks{};

  Choices& choices_;
  hybridmem::OrganizationLayout layout_;
  hybridmem::OrganizationOptions options_;
  hybridmem::PoolUnits units_;
  O real_;
  OrganizationModel model_;
  std::uint32_t pressure_ = 0;
  std::vector<hybridmem::Eviction> evictions_;
  const char* operation_ = "";
  std::uint64_t steps_ = 0;
};

}  // namespace hybridmem_test
