// StateCache, construction: what a layout and options must satisfy, and the sizes that follow.
#pragma once

#include "hybridmem/cache/state_cache.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::detail {

constexpr std::uint32_t sequence_blocks(const OrganizationLayout& layout,
                                        const CacheOptions& options) noexcept {
  return layout.units_per_block == 0 ? 0
                                     : divide_up(options.max_sequence_tokens, layout.block_tokens);
}

/// Boundaries that one chunk can meet, prompt anchors and both ends included.
constexpr std::uint32_t chunk_states(const OrganizationLayout& layout,
                                     const CacheOptions& options) noexcept {
  return options.max_chunk_tokens / layout.checkpoint_interval_tokens + 4;
}

constexpr std::uint32_t held_states(const OrganizationLayout& layout,
                                    const CacheOptions& options) noexcept {
  const std::uint32_t moving = chunk_states(layout, options) * (options.max_steps_in_flight + 2);
  return options.retention == 0
             ? moving
             : moving + options.max_sequence_tokens / layout.checkpoint_interval_tokens + 1;
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::detail

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

template <MemoryOrganization Organization, class Events>
InputError StateCache<Organization, Events>::check(const OrganizationLayout& layout,
                                                   const CacheOptions& options) noexcept {
  constexpr std::uint64_t most_ids = std::uint64_t{1} << 31U;
  const auto bad = [](const char* field, std::uint64_t value, const char* expected) {
    return InputError{Error::bad_argument, field, static_cast<std::int64_t>(value), expected};
  };
  if (layout.kind != Organization::kind)
    return {Error::layout, "layout.kind", static_cast<std::int64_t>(layout.kind),
            "the organization of this cache"};
  if (options.max_sequences == 0 || options.max_sequences > (1U << 20U))
    return bad("max_sequences", options.max_sequences, "1 to 1048576");
  if (options.max_steps_in_flight == 0 || options.max_steps_in_flight > 64)
    return bad("max_steps_in_flight", options.max_steps_in_flight, "1 to 64");
  if (options.max_sequence_tokens == 0 || options.max_sequence_tokens > (1U << 30U))
    return bad("max_sequence_tokens", options.max_sequence_tokens, "1 to 2^30");
  if (options.max_chunk_tokens == 0 || options.max_chunk_tokens > (1U << 30U))
    return bad("max_chunk_tokens", options.max_chunk_tokens, "1 to 2^30");
  if (!(options.headroom >= 0.0 && options.headroom < 1.0))
    return bad("headroom", 0, "a fraction from 0 to less than 1");
  if (layout.checkpoint_interval_tokens == 0 || layout.block_tokens == 0)
    return {Error::layout, "checkpoint_interval_tokens", 0, "a solved layout"};
  if (options.key_tokens == 0 || layout.block_tokens % options.key_tokens != 0 ||
      layout.checkpoint_interval_tokens % layout.block_tokens != 0)
    return {Error::layout, "key_tokens", options.key_tokens,
            "a divisor of the block, and a block that divides the interval"};
  for (std::uint8_t pool = 0; pool < layout.pools; ++pool)
    if (options.units[pool] >= most_ids / std::max(layout.slots_per_slab, 1U))
      return bad("units", options.units[pool], "pages and lines that fit 31 bits");
  if (!hybridmem::fits(layout, {layout.units_per_block > 0 ? 1U : 0U, 1}, 1, options.units))
    return {Error::capacity, "units", static_cast<std::int64_t>(options.units[0]),
            "room for one attention block and one running state"};
  return {};
}

template <MemoryOrganization Organization, class Events>
auto StateCache<Organization, Events>::create(const OrganizationLayout& layout,
                                              const CacheOptions& options, Events events,
                                              std::pmr::memory_resource* metadata,
                                              std::pmr::memory_resource* step_memory)
    -> Result<std::unique_ptr<StateCache>, InputError> {
  const InputError found = check(layout, options);
  if (found.code != Error::none) return found;
  return std::make_unique<StateCache>(layout, options, std::move(events), metadata, step_memory);
}

template <MemoryOrganization Organization, class Events>
StateCache<Organization, Events>::StateCache(const OrganizationLayout& layout,
                                             const CacheOptions& options, Events events,
                                             std::pmr::memory_resource* metadata,
                                             std::pmr::memory_resource* step_memory)
    : options_(options),
      organization_(layout, options.units, options.organization, metadata),
      events_(std::move(events)),
      blocks_(organization_.block_capacity(), options.max_steps_in_flight, metadata),
      states_(organization_.checkpoint_capacity(), options.max_steps_in_flight, metadata),
      rows_(options.max_sequences, detail::sequence_blocks(layout, options),
            detail::held_states(layout, options), metadata),
      steps_(options.max_steps_in_flight,
             StepSizes{options.max_sequences,
                       options.max_sequences * detail::chunk_states(layout, options),
                       options.max_sequences * layout.units_per_block,
                       organization_.block_capacity() * layout.units_per_block},
             step_memory),
      demand_(options.retention > 0 || options.preemption_pinning > 0
                  ? std::max(1024U, 4 * organization_.checkpoint_capacity())
                  : 0,
              std::max(options.retention, options.preemption_pinning), metadata),
      closing_(metadata),
      kept_links_(options.checkpoint_units > 0 ? organization_.checkpoint_capacity() : 0,
                  ListLink{}, metadata),
      recent_(options.preemption_pinning > 0 ? rows_.size() * recent_per_row : 0, Recent{},
              metadata),
      audit_counts_(std::max({organization_.block_capacity(), organization_.checkpoint_capacity(),
                              static_cast<std::uint32_t>(options.units[0]),
                              static_cast<std::uint32_t>(options.units[1])}),
                    0, metadata) {
  HYBRIDMEM_CHECK(1, check(layout, options).code == Error::none, "check finds nothing");
  closing_.reserve(rows_.size());
}

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE
