// StateCache: the life of every sequence's state in one budget, from match to the last release.
//
// An engine drives it from one scheduler thread. For a request: `match` says what can be reused,
// `plan` whether it can be admitted, `commit` adopts. For a step: `open_step`, `advance` for every
// sequence in it, `close_step`, launch, and `complete` (or `drop_step` before launch, `fail`
// after). `publish` makes what was written findable; `finish`, `preempt`, `abort`, `fork` and
// `truncate` end or turn a sequence. Rules L1 to L15 of docs/architecture.md say what an engine may
// rely on.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>

#include "hybridmem/cache/cache_options.hpp"
#include "hybridmem/cache/cache_types.hpp"
#include "hybridmem/cache/catalog.hpp"
#include "hybridmem/cache/demand_table.hpp"
#include "hybridmem/cache/sequence_rows.hpp"
#include "hybridmem/cache/step_ring.hpp"
#include "hybridmem/core/result.hpp"
#include "hybridmem/device/tables.hpp"
#include "hybridmem/observe/event.hpp"
#include "hybridmem/observe/finding.hpp"
#include "hybridmem/observe/metrics.hpp"
#include "hybridmem/organization/memory_organization.hpp"

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::detail {

/// Defined by tests only: reaches into a cache to corrupt it.
struct StateCacheAccess;

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::detail

namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE {

/// The cache of one rank over one organization. Whatever request content or timing can cause is a
/// `Result` or a field; nothing allocates after construction and nothing throws. Const members may
/// overlap one another, never a mutator. Identical calls give identical ids (rule P10).
///
/// `Events` is a sink as `NoEvents` describes. Costs follow the units touched; where a function
/// costs more it says so. The tokens of a block are `layout.block_tokens`, those of a checkpoint
/// interval `layout.checkpoint_interval_tokens`.
template <MemoryOrganization Organization, class Events = NoEvents>
class StateCache {
 public:
  using organization_type = Organization;

  /// What is wrong with a layout and options, code `none` if nothing. Errors: `bad_argument`,
  /// `layout`, `capacity`, each naming its field. For builds without exceptions.
  static InputError check(const OrganizationLayout& layout, const CacheOptions& options) noexcept;

  /// A cache, or what `check` finds. `metadata` serves everything but the work lists, which
  /// `step_memory` serves; both are used at construction only. Errors: as `check`; whatever the
  /// resources throw.
  static Result<std::unique_ptr<StateCache>, InputError> create(
      const OrganizationLayout& layout, const CacheOptions& options, Events events = {},
      std::pmr::memory_resource* metadata = std::pmr::get_default_resource(),
      std::pmr::memory_resource* step_memory = std::pmr::get_default_resource());

  /// Precondition: `check` finds nothing.
  StateCache(const OrganizationLayout& layout, const CacheOptions& options, Events events = {},
             std::pmr::memory_resource* metadata = std::pmr::get_default_resource(),
             std::pmr::memory_resource* step_memory = std::pmr::get_default_resource());

  StateCache(const StateCache&) = delete;
  StateCache& operator=(const StateCache&) = delete;
  ~StateCache() = default;

  // --- Matching and admission
  // ------------------------------------------------------------------------

  /// What of a prompt can be adopted now (rules L1 and L2). No side effect. Linear in the prompt's
  /// blocks.
  Match match(const Prompt& prompt) const;

  /// Changes whenever a match or an admission may; unchanged, both still hold.
  std::uint64_t version() const noexcept { return version_; }

  /// Whether the prompt can be admitted now (rule L3): its blocks, a running state and the
  /// boundaries of one chunk (of the whole prompt where checkpoints do not yield) against what is
  /// available, headroom added while anything runs. No side effect. Linear in the prompt's blocks.
  Admission plan(const Match& match, const Prompt& prompt) const;

  /// Admits a prompt (rule L4): decides again, then adopts the tokens up to the joint depth, or
  /// changes nothing. Counts the hit and the demand. Errors: `shortfall` (not ready), `capacity`
  /// (no handle free, or the prompt could never run), `bad_argument`.
  Result<Sequence> commit(const Prompt& prompt);

  /// Admits a preempted sequence again, as `commit`; its references stand before its pin drops.
  /// Errors: also `stale_handle`, `wrong_state`.
  Status resume(Sequence sequence, const Prompt& prompt);

  // --- Steps
  // -----------------------------------------------------------------------------------------

  /// Opens the next step. Errors: `wrong_state` (one is open), `ticket_order` (as many as allowed
  /// are in flight).
  Result<Ticket> open_step();

  /// The most tokens up to `want` that a chunk can have without passing a boundary whose state the
  /// prefill kernel could not write (rule L7); 0 for a stale handle.
  Tokens next_stop(Sequence sequence, Tokens want) const;

  /// Extends sequences in the open step, in order; the first refusal ends the batch and has changed
  /// nothing (rules L7, L8, L10). `results` receives one entry for each chunk done. Errors:
  /// `no_step`, `stale_handle`, `wrong_state` (not running, or already in this step), `damaged`,
  /// `shortfall`, `capacity` (a length or a table), `bad_argument`.
  Batch advance(std::span<const Chunk> chunks, std::span<Advanced> results);

  /// Closes the open step and hands out its work, valid until the step completes, fails or is
  /// dropped. What sequences ended in the step held can be had from now on where `Reuse::stream`.
  /// Errors: `no_step`.
  Result<StepWork> close_step();

  /// The oldest step in flight is complete: what it wrote is settled, its publications stand.
  /// Errors: `ticket_order` (not the oldest, or not closed).
  Status complete(Ticket ticket);

  /// Undoes the newest step, never launched: its sequences are where they were, its publications
  /// are forgotten, its units are free, its forks are gone. Cached objects that it evicted stay
  /// evicted, checkpoints that its sequences had done with (rule L10) stay released, and whoever
  /// left it by `preempt`, `abort`, `finish` or `truncate` stays so. Damaged is a sequence that
  /// began, after the step was closed, with what it published, or whose state before the step a
  /// later one, dropped too, had let go of. Errors: `ticket_order` (not the newest).
  Status drop_step(Ticket ticket);

  /// The step and all after it failed: nothing they wrote is published, and the sequences whose
  /// running state they wrote, or that began with what they published, are damaged. Fills `damaged`
  /// as far as it goes and returns how many there are. Errors: `ticket_order` (not in flight).
  Result<std::size_t> fail(Ticket ticket, std::span<Sequence> damaged);

  // --- Publishing
  // ------------------------------------------------------------------------------------

  /// Makes whole blocks and held checkpoints up to `upto`, clamped to what is placed, findable
  /// under `keys`, which start at token 0 (rule L11). Returns the clamped position. What was
  /// published before stays. Errors: `stale_handle`, `wrong_state`, `damaged`, `old_epoch`,
  /// `keys_short`, `position_mismatch` (`upto` is a boundary behind the sequence whose exact state
  /// it neither holds nor has published). An error changes nothing.
  Result<Tokens> publish(Sequence sequence, Tokens upto, std::span<const Key> keys);

  // --- Ends and turns
  // --------------------------------------------------------------------------------

  /// Publishes up to `valid` and ends the sequence (rule L11); tokens beyond are never matched. It
  /// leaves the open step first, as nothing launches a chunk of a sequence that has ended. With
  /// `keep_tail` a running state exactly at `valid` on the block grid is published where it stands.
  /// Errors: `stale_handle`, and those of `publish`; an error changes nothing. A damaged or
  /// old sequence ends without publishing.
  Status finish(Sequence sequence, Tokens valid, std::span<const Key> keys);

  /// Ends a sequence in any state without publishing more. Errors: `stale_handle`.
  Status abort(Sequence sequence);

  /// Takes a running sequence out: it leaves the open step and keeps nothing but, by policy, a pin.
  /// Outputs of steps up to `last_ticket` are stale. Errors: `stale_handle`, `wrong_state`,
  /// `capacity`.
  Status preempt(Sequence sequence);

  /// A second sequence with the same past: whole blocks and the running state are shared, a partial
  /// last block is copied by the step (rule L12). Nothing is reserved for it. Errors:
  /// `stale_handle`, `wrong_state` (no open step, or in it already), `damaged`, `shortfall`,
  /// `capacity`.
  Result<Sequence> fork(Sequence sequence);

  /// Goes back to `to` tokens, where a state is held, or to 0; ends damage. Blocks beyond are let
  /// go, reserved ones too. Errors: `stale_handle`, `wrong_state` (not running, or in the open
  /// step), `no_state` (none there, or another sequence shares the block that it would write on
  /// in), `ticket_order` (with `Reuse::ticket`, a step in flight touches the sequence; or the open
  /// step copies from it). An error changes nothing.
  Status truncate(Sequence sequence, Tokens to);

  /// The deepest position at or below `at` that `truncate` accepts; 0 for a stale handle.
  Tokens restart_at_or_below(Sequence sequence, Tokens at) const;

  /// Nothing published so far is matched any more (new weights); pins drop. Sequences of the old
  /// epoch go on but publish nothing.
  void advance_epoch();

  /// Forgets all cached objects; running sequences go on. Linear in the capacity.
  void clear();

  /// As constructed; all handles are stale. Errors: `wrong_state` (a step is in flight). Linear.
  Status reset();

  // --- Where things are
  // ------------------------------------------------------------------------------

  Result<Position> position(Sequence sequence) const;
  /// The newest step that touches a sequence; `none` for a stale handle.
  Ticket last_ticket(Sequence sequence) const;
  /// Units that preempting a sequence would free or make reclaimable now, of each pool.
  PoolUnits releasable(Sequence sequence) const;
  std::span<const BlockId> blocks_of(Sequence sequence) const;
  CheckpointId state_of(Sequence sequence) const;

  /// Fills page tables of one stack for the sequences of a step, as they are now: before a later
  /// step, or the end of a sequence, lets go of what the step reads. Rows beyond them and columns
  /// beyond a row's pages get `out.absent`. A page is `kernel_block_tokens` cut into equal kernel
  /// blocks; 0 means one. Errors: `stale_handle`, `no_step` (the step is not in flight), `layout`
  /// (pages are not whole kernel blocks, a block is no equal share of its pages, or there is no
  /// such stack), `capacity` (too few rows or columns).
  Status fill_blocks(Ticket ticket, std::uint32_t stack, Tokens kernel_block_tokens,
                     std::span<const Sequence> rows, const TableOut& out) const;

  /// The same as compressed rows: `indptr` (rows + 1), `indices`, and the tokens in each last page.
  /// Errors: as `fill_blocks`.
  Status fill_blocks(Ticket ticket, std::uint32_t stack, std::span<const Sequence> rows,
                     const CompressedOut& out) const;

  /// Fills state tables of one stack: source and destination member pages and lines of each row,
  /// one destination for each segment, and whether the row starts from nothing. Errors: as
  /// `fill_blocks`.
  Status fill_states(Ticket ticket, std::uint32_t stack, std::span<const Sequence> rows,
                     const StateTablesOut& out) const;

  // --- Observation
  // -----------------------------------------------------------------------------------

  const OrganizationLayout& layout() const noexcept { return organization_.layout(); }
  const CacheOptions& options() const noexcept { return options_; }
  const Organization& organization() const noexcept { return organization_; }
  const Events& events() const noexcept { return events_; }
  Events& events() noexcept { return events_; }
  Epoch epoch() const noexcept { return epoch_; }

  /// How many sequences of `length` tokens, the first `sharing` of them common to all, can run at
  /// once; common are the whole intervals of `sharing` that leave one token to compute.
  std::uint64_t capacity(Tokens length, Tokens sharing) const;
  Metrics metrics() const;
  /// A digest of all calls so far and their outcomes: equal on ranks that made equal calls.
  std::uint64_t fingerprint() const noexcept { return fingerprint_; }
  /// Contradictions in what the cache knows; fills `findings` as far as it goes and returns how
  /// many. Not to overlap another audit: both use one scratch table. Linear in the capacity and in
  /// what sequences hold.
  std::size_t audit(std::span<Finding> findings) const;
  /// Ends the event stream: one event that says that nothing is missing before it.
  void end_events();

 private:
  friend struct detail::StateCacheAccess;

  struct Found {
    CheckpointId state{};
    Tokens position = 0;
  };
  /// A checkpoint that a sequence adopted or published, for pinning.
  struct Recent {
    CheckpointId state{};
    Tokens position = 0;
    Key key{};
  };
  static constexpr std::size_t recent_per_row = 16;
  /// What a chunk asks for.
  struct ChunkNeed {
    Tokens to = 0;
    bool fresh = false;         ///< starts from nothing
    bool shared = false;        ///< the running state is somebody else's too
    bool leaves = false;        ///< the running state is worth keeping where it is
    bool table_full = false;    ///< no place for a state that must be left behind
    std::uint32_t inside = 0;   ///< boundaries inside where the kernel can write a state
    std::uint32_t skipped = 0;  ///< boundaries inside where it cannot
    std::uint32_t least = 0;    ///< states without which the chunk is refused
    std::uint32_t room = 0;     ///< states that the sequence has places for
    StateDemand demand{};
  };

  // Admission.
  template <class Accept, class Visit>
  Tokens walk_blocks(const Prompt& prompt, Tokens limit, Accept&& accept, Visit&& visit) const;
  template <class Accept>
  Found deepest_state(const Prompt& prompt, Tokens limit, Accept&& accept) const;
  bool settled_for_reuse(std::uint64_t ticket) const noexcept;
  bool visible(BlockId id) const noexcept { return settled_for_reuse(blocks_.ticket(id)); }
  bool visible(CheckpointId id) const noexcept { return settled_for_reuse(states_.ticket(id)); }
  bool prompt_fits(const Prompt& prompt) const noexcept;
  bool servable(const Prompt& prompt) const;
  StateDemand admission_demand(const Prompt& prompt, Tokens depth, bool minimal) const;
  Admission plan_at(const Match& match, const Prompt& prompt, Tokens depth, bool minimal) const;
  Result<Admission> settle_admission(const Prompt& prompt);
  void admit(std::int32_t row, const Prompt& prompt, Tokens depth);
  void note_demand(const Prompt& prompt);
  PoolUnits headroom() const;
  Tokens boundaries_between(Tokens from, Tokens to) const;

  // Steps.
  Error advance_one(const Chunk& chunk, Advanced& result, Batch& batch);
  bool boundary(const Row& row, Tokens position) const noexcept;
  Tokens next_boundary(const Row& row, Tokens after) const noexcept;
  bool writable(Tokens from, Tokens position) const noexcept;
  bool done_with(const Row& row, const Held& held) const;
  bool retained(const Held& held) const;
  ChunkNeed need_of(std::int32_t index, Tokens to) const;
  void settle_need(std::int32_t index, ChunkNeed& need) const;
  Advanced place_chunk(std::int32_t index, const ChunkNeed& need);
  bool fits(const StateDemand& demand) const;
  Ticket coming_last() const;
  Ticket coming(std::uint8_t pool, std::uint64_t units, std::int32_t index) const;
  void note_shortage(std::int32_t index, const StateDemand& demand, Batch& batch) const;
  void let_go(Held& held);
  void take_back(std::int32_t index);
  void part_with(std::int32_t index);
  bool may_go(const Row& row, const Held& held) const;
  bool make_way(std::int32_t index, ChunkNeed& need);
  bool may_lend(std::int32_t index);
  void take_blocks(std::int32_t index, std::uint32_t count);
  CheckpointId take_state(const StateDemand& later);
  std::uint32_t checkpoint_room(std::uint32_t leaving) const noexcept;
  void keep_checkpoint_budget(std::uint32_t more);
  void undo_entry(StepRecord& step, StepEntry& entry);
  void revoke_step(std::uint64_t ticket);
  void recount_published();
  bool damage(std::int32_t index, std::uint64_t from);
  std::uint64_t fence(const Row& row) const noexcept;
  bool fence_passed(const Row& row) const noexcept;
  void flush_closing();

  // Publishing.
  Key key_at(const Key& root, std::span<const Key> keys, Tokens position) const noexcept;
  Error publish_error(std::int32_t index, Tokens upto, std::span<const Key> keys) const;
  void publish_state(std::int32_t index, CheckpointId state, Tokens position,
                     std::span<const Key> keys);
  void publish_as(CheckpointId state, const Key& key, const Key& parent, Tokens position,
                  std::uint64_t ticket, std::uint64_t requester);
  void publish_all(std::int32_t index, Tokens upto, std::span<const Key> keys, bool tail);
  /// The step that a publication made now belongs to: the open one, or the newest.
  std::uint64_t publication_ticket() const noexcept { return steps_.last(); }
  template <class Id>
  void lost(const Catalog<Id>& catalog, Id id, EventObject kind, LossCause cause);
  void forget_block(BlockId id, LossCause cause);
  void forget_state(CheckpointId id, LossCause cause);
  void on_evicted(const Eviction& eviction);

  // Holding and letting go.
  void reference_state(CheckpointId id);
  void release_block(BlockId id);
  void release_state(CheckpointId id);
  void settle_released(CheckpointId id);
  void unkeep(CheckpointId id);
  void remember(std::int32_t index, CheckpointId state, Tokens position);
  void forget_recent(std::int32_t index);
  void pin_rightmost(std::int32_t index);
  void drop_pin(std::int32_t index, bool for_units);
  bool drop_oldest_pin();
  void release_holdings(std::int32_t index);
  Error retire(std::int32_t index);
  void end_row(std::int32_t index);
  StepEntry* open_entry(std::int32_t index);
  void withdraw(std::int32_t index);
  void leave_steps(std::int32_t index);
  void leave_tails(std::int32_t index);
  bool tail_private(std::int32_t index, Tokens to) const;
  PoolUnits releasable_units(std::int32_t index) const;
  const StepEntry* find_entry(const StepRecord& step, Sequence sequence) const;

  void emit(Event event);
  /// Every mutation ends here: the version, the digest, and at check level 3 an audit.
  void changed(std::uint64_t what, std::uint64_t value);

  CacheOptions options_;
  Organization organization_;
  Events events_;
  Catalog<BlockId> blocks_;
  Catalog<CheckpointId> states_;
  SequenceRows rows_;
  StepRing steps_;
  DemandTable demand_;
  std::pmr::vector<std::int32_t> closing_;  ///< closing rows, oldest first
  std::pmr::vector<ListLink> kept_links_;   ///< of cached checkpoints, where they have a budget
  std::pmr::vector<Recent> recent_;         ///< of each row, newest last, while pinning is on
  mutable std::pmr::vector<std::uint32_t> audit_counts_;
  IndexList<CheckpointId> kept_;  ///< cached checkpoints, oldest release first
  Metrics counters_{};
  Epoch epoch_ = 1;
  std::uint64_t version_ = 1;
  std::uint64_t fingerprint_ = 0;
  std::uint64_t event_number_ = 0;
  std::uint64_t pin_clock_ = 0;
  std::uint64_t pinned_units_ = 0;
  std::uint32_t live_states_ = 0;      ///< checkpoints that exist, running states included
  std::uint32_t off_grid_states_ = 0;  ///< published checkpoints off the interval grid
  std::uint32_t running_ = 0;
};

}  // namespace hybridmem::inline HYBRIDMEM_VERSION_NAMESPACE::inline HYBRIDMEM_CHECK_NAMESPACE

#include "hybridmem/cache/detail/cache_admission.hpp"
#include "hybridmem/cache/detail/cache_advance.hpp"
#include "hybridmem/cache/detail/cache_create.hpp"
#include "hybridmem/cache/detail/cache_ends.hpp"
#include "hybridmem/cache/detail/cache_observe.hpp"
#include "hybridmem/cache/detail/cache_pins.hpp"
#include "hybridmem/cache/detail/cache_publish.hpp"
#include "hybridmem/cache/detail/cache_room.hpp"
#include "hybridmem/cache/detail/cache_steps.hpp"
#include "hybridmem/cache/detail/cache_tables.hpp"
