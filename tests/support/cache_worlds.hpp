// Layouts, options and texts for random caches: small, of every form, and often short of units.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hybridmem/cache/cache_options.hpp"
#include "hybridmem/core/arithmetic.hpp"
#include "hybridmem/prefix/key.hpp"
#include "support/organization_steps.hpp"

namespace hybridmem_test {

struct CacheWorld {
  hybridmem::OrganizationLayout layout;
  hybridmem::CacheOptions options;
};

/// A layout of one or several stacks, with and without attention, members and convolution, and
/// options that a cache accepts with it.
inline CacheWorld any_cache_world(hybridmem::OrganizationKind kind, Choices& choices) {
  CacheWorld world;
  hybridmem::OrganizationLayout& layout = world.layout;
  layout = any_organization_layout(kind, choices);
  const bool dual = layout.pools == 2;
  const bool attention = layout.units_per_block > 0;
  layout.block_tokens = choices.once_in(3) ? 8 : 4;
  layout.checkpoint_interval_tokens = layout.block_tokens * (1 + choices.below(3));
  if (!attention) layout.block_tokens = layout.checkpoint_interval_tokens;
  layout.stack_layers = 1;
  layout.token_bytes_layer = attention ? 256 / layout.block_tokens : 0;
  layout.attention_stacks = attention ? layout.units_per_block : 0;
  layout.recurrent_stacks = std::max(layout.lines_per_checkpoint, 1U);
  if (layout.member_units % layout.recurrent_stacks != 0) layout.recurrent_stacks = 1;

  hybridmem::CacheOptions& options = world.options;
  options.key_tokens = choices.once_in(3) ? layout.block_tokens : 2;
  options.max_sequences = choices.once_in(6) ? 1 : 2 + choices.below(7);
  options.max_steps_in_flight = 1 + choices.below(3);
  options.max_sequence_tokens = 8 * (4 + choices.below(8)) + choices.below(2);
  options.max_chunk_tokens = choices.once_in(2) ? 64 : 5 + choices.below(20);
  if (choices.once_in(2)) options.reuse = hybridmem::Reuse::ticket;
  if (choices.once_in(3)) {
    options.interior =
        choices.once_in(2) ? hybridmem::Interior::none : hybridmem::Interior::from_chunk_start;
    options.kernel_chunk_tokens = choices.below(3) * 2;
  }
  options.checkpoints_yield = !choices.once_in(5);
  options.prompt_anchors = choices.once_in(3);
  options.reserve_prompt = choices.once_in(5);
  options.keep_tail = !choices.once_in(3);
  if (choices.once_in(4)) options.headroom = 0.125 * (1 + choices.below(4));
  if (choices.once_in(3)) options.retention = 1 + choices.below(2);
  if (choices.once_in(3)) options.preemption_pinning = 1 + choices.below(2);
  const std::uint64_t own = std::max(layout.units_per_checkpoint(), 1U);
  if (choices.once_in(4)) options.pinned_units = own * (1 + choices.below(2));
  if (choices.once_in(5)) options.checkpoint_units = own * (1 + choices.below(6));
  options.organization = any_organization_options(choices);

  // Room for one sequence at least; usually for a few, seldom for all.
  const std::uint64_t one = layout.units_per_checkpoint() + layout.least_slabs(1);
  const std::uint64_t whole =
      layout.units_per_block *
      hybridmem::divide_up(options.max_sequence_tokens, layout.block_tokens);
  const std::uint32_t tight = choices.below(4);
  const std::uint64_t states = one * (1 + choices.below(tight == 0 ? 3 : 10));
  const std::uint64_t blocks = tight == 0
                                   ? layout.units_per_block * (1 + choices.below(6))
                                   : whole * (1 + choices.below(3)) / 2 + layout.units_per_block;
  options.units = dual ? hybridmem::PoolUnits{blocks, states}
                       : hybridmem::PoolUnits{blocks + states + choices.below(3), 0};
  if (choices.once_in(24)) options.units[0] += 200;
  return world;
}

inline std::string describe(const CacheWorld& world) {
  const auto& l = world.layout;
  const auto& o = world.options;
  const auto text = [](auto number) { return std::to_string(number); };
  return std::string(name_of(l.kind)) + " " + text(o.units[0]) + "/" + text(o.units[1]) +
         " units, block " + text(l.block_tokens) + "x" + text(l.units_per_block) + ", interval " +
         text(l.checkpoint_interval_tokens) + ", members " + text(l.member_units) + "+" +
         text(l.conv_units) + ", slots " + text(l.slots_per_checkpoint) + " of " +
         text(l.slots_per_slab) + ", keys " + text(o.key_tokens) + ", sequences " +
         text(o.max_sequences) + " of " + text(o.max_sequence_tokens) + ", steps " +
         text(o.max_steps_in_flight) + ", chunk " + text(o.max_chunk_tokens) +
         (o.reuse == hybridmem::Reuse::ticket ? ", ticket" : ", stream") + ", interior " +
         text(static_cast<int>(o.interior)) + "/" + text(o.kernel_chunk_tokens) +
         (o.checkpoints_yield ? "" : ", required") + (o.prompt_anchors ? ", anchors" : "") +
         (o.reserve_prompt ? ", reserve" : "") + (o.keep_tail ? ", tail" : "") + ", headroom " +
         text(o.headroom) + ", retention " + text(o.retention) + ", pins " +
         text(o.preemption_pinning) + "/" + text(o.pinned_units) + ", budget " +
         text(o.checkpoint_units) + ", " + name_of(o.organization.free_order) + ", " +
         name_of(o.organization.slab_order) + ", " + name_of(o.organization.slot_placement);
}

/// Texts that often begin alike, and their keys.
class Texts {
 public:
  explicit Texts(const hybridmem::CacheOptions& options)
      : key_tokens_(options.key_tokens), length_(options.max_sequence_tokens + 2) {
    texts_.push_back(std::vector<std::uint32_t>(length_, 7));
  }

  std::vector<std::uint32_t> any_text(Choices& choices) {
    if (texts_.size() < 6) renew(choices);
    return texts_[choices.below(static_cast<std::uint32_t>(texts_.size()))];
  }
  hybridmem::Key any_root(Choices& choices) const {
    return choices.once_in(10) ? hybridmem::Key{3, 4} : hybridmem::Key{1, 2};
  }

  /// One more text, the same as an old one up to somewhere.
  void renew(Choices& choices) {
    std::vector<std::uint32_t> text =
        texts_[choices.below(static_cast<std::uint32_t>(texts_.size()))];
    change(text, choices.below(length_), choices);
    if (texts_.size() < 6)
      texts_.push_back(std::move(text));
    else
      texts_[choices.below(6)] = std::move(text);
  }
  void change(std::vector<std::uint32_t>& text, std::uint32_t from, Choices& choices) const {
    const std::uint32_t word = choices.below(4);
    for (std::uint32_t at = from; at < text.size(); ++at) text[at] = word;
  }

  /// A key for every whole chunk, each naming what comes before it too.
  std::vector<hybridmem::Key> keys_of(const hybridmem::Key& root,
                                      std::span<const std::uint32_t> text) const {
    std::vector<hybridmem::Key> keys;
    hybridmem::Key key = root;
    for (std::size_t at = 0; at + key_tokens_ <= text.size(); at += key_tokens_) {
      for (std::size_t i = at; i < at + key_tokens_; ++i) {
        key.high = (key.high ^ text[i]) * 0xd6e8feb86659fd93U + 0x9e3779b97f4a7c15U;
        key.low = (key.low ^ key.high >> 29U ^ text[i]) * 0x94d049bb133111ebU + 1;
      }
      keys.push_back(key);
    }
    return keys;
  }

 private:
  std::uint32_t key_tokens_;
  std::uint32_t length_;
  std::vector<std::vector<std::uint32_t>> texts_;
};

}  // namespace hybridmem_test
