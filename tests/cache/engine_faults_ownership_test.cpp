// Faults that engines shipped in ownership and counts, as small cases. The name in brackets is
// where each was reported.
#include <map>

#include "support/cache_driver.hpp"

using namespace hybridmem_test;

namespace {

template <class Driver>
std::uint32_t referenced_states(const Driver& driver) {
  const auto& organization = driver.cache.organization();
  std::uint32_t count = 0;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(organization.checkpoint_capacity()); ++i)
    count += organization.references(CheckpointId{i}) > 0 ? 1U : 0U;
  return count;
}

/// An engine that admits one request and runs it to its end, preempting it when it is refused and
/// nothing is in flight. What went wrong, or nothing. `deep` steps are kept in flight.
template <class Driver>
std::string run_alone(Driver& driver, const Text& text, Tokens prompt, Tokens max_tokens,
                      bool publishing, std::uint32_t deep) {
  auto request = driver.begin(text, prompt, max_tokens);
  int tries = 0;
  while (driver.error == Error::shortfall) {  // only what is in flight may stand in the way
    if (!driver.complete()) return "ready, yet refused with nothing in flight";
    request = driver.begin(text, prompt, max_tokens);
  }
  if (driver.error != Error::none) return std::string("commit: ") + name_of(driver.error);
  std::uint32_t in_flight = 0;
  const auto settle = [&](std::uint32_t left) {
    while (in_flight > left && driver.complete()) --in_flight;
  };
  while (driver.placed(request) < max_tokens) {
    if (++tries > 6'000) return "tries for ever";
    settle(deep - 1);
    driver.open();
    const Tokens at = driver.placed(request);
    const Tokens chunk = at < prompt ? prompt - at : 1;
    const bool done = driver.advance(request, std::min(chunk, 64U));
    const auto batch = driver.batch;
    driver.close();
    ++in_flight;
    if (done) {
      if (publishing) driver.publish(request);
      continue;
    }
    if (driver.error != Error::shortfall) return std::string("advance: ") + name_of(driver.error);
    if (batch.wait_for != Ticket::none) {
      settle(0);
      continue;
    }
    if (!driver.cache.preempt(request.sequence)) return "preempt refused";
    prompt = std::max(prompt, at + 1);
    while (true) {
      const auto resumed = driver.resume(request, prompt);
      if (resumed) break;
      if (resumed.error() != Error::shortfall)
        return std::string("resume: ") + name_of(resumed.error());
      if (in_flight == 0) return "alone, yet it waits for units";
      settle(in_flight - 1);
    }
  }
  settle(0);
  if (!driver.finish(request)) return "finish refused";
  return driver.fault;
}

}  // namespace

TEST_CASE_TEMPLATE("allocation eats the fresh hit (vllm 33775, 44409): wait, never two owners", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(6, 2);
  const Text text(1);
  REQUIRE(driver.serve(text, 64, 64));
  const auto holder = driver.begin(Text(2), 1, 16);
  REQUIRE(driver.step(holder, 1));
  // All that is available is what the next one matches, and it needs more.
  for (Tokens tokens = 65; tokens <= 96; ++tokens) {
    CAPTURE(tokens);
    const Text other(text, 64, 3);
    const auto before = driver.counts();
    const Admission plan = driver.plan(other, tokens);
    const auto request = driver.begin(other, tokens);
    CHECK((driver.error == Error::none) == (plan.verdict == Verdict::ready));
    CHECK(driver.cache.audit({}) == 0);
    if (driver.error != Error::none) {
      CHECK(driver.error == Error::shortfall);
      CHECK(driver.counts() == before);
      continue;
    }
    const Tokens adopted = driver.placed(request);
    CHECK(adopted == plan.match.joint_depth);
    driver.step(request, tokens - adopted);
    CHECK(driver.fault.empty());
    REQUIRE(driver.cache.abort(request.sequence));
  }
}

TEST_CASE_TEMPLATE("admit means completes (vllm 52520, 39734)", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  for (std::uint64_t pages = 1; pages <= 80; pages += pages < 12 ? 1 : 9) {
    const OrganizationLayout layout = small_layout<O>();
    CacheOptions options = room_for(layout, 1, 1);
    options.units = layout.pools == 1 ? PoolUnits{pages, 0} : PoolUnits{pages, 1 + pages / 8};
    options.max_sequence_tokens = 1'024;
    options.max_sequences = 4;
    if (StateCache<O>::check(layout, options).code != Error::none) continue;
    for (const Tokens length : {1U, 15U, 16U, 17U, 33U, 65U, 100U, 160U, 333U, 512U, 1'024U}) {
      CacheDriver<O> probe(layout, options);
      const Prompt prompt = probe.prompt_of({{}, Text(1), std::min(length, 40U), length, 0});
      const Verdict verdict = probe.cache.plan(probe.cache.match(prompt), prompt).verdict;
      CHECK((verdict == Verdict::ready || verdict == Verdict::unservable));
      if (verdict == Verdict::unservable) {
        CHECK(probe.cache.commit(prompt).error() == Error::capacity);
        continue;
      }
      if (length > 200 && pages % 2 != 0) continue;  // enough of the long ones
      for (const int mode : {0, 1, 2}) {
        CAPTURE(pages);
        CAPTURE(length);
        CAPTURE(mode);
        options.reuse = mode == 1 ? Reuse::ticket : Reuse::stream;
        CacheDriver<O> driver(layout, options);
        // What others left behind is in the way, all of it reclaimable.
        driver.serve(Text(8), std::min<Tokens>(length, 30), 32);
        const std::string fault =
            run_alone(driver, Text(1), std::min(length, 40U), length, mode != 2, mode == 1 ? 2 : 1);
        CHECK_MESSAGE(fault.empty(), fault);
      }
      options.reuse = Reuse::stream;
    }
  }
}

TEST_CASE("admit means completes: states in several stacks and slabs that others broke up") {
  for (std::uint64_t pages = 30; pages <= 80; pages += 5) {
    CAPTURE(pages);
    const OrganizationLayout layout = small_layout<SlabPacked>(Shape{16, 32, 4, 8});
    CacheOptions options = room_for(layout, 1, 1);
    options.units = {pages, 0};
    options.max_sequence_tokens = 1'024;
    options.max_sequences = 8;
    CacheDriver<SlabPacked> driver(layout, options);
    for (std::uint64_t salt = 1; salt <= 6; ++salt) {
      const auto one = driver.begin(Text(salt), 20);
      if (driver.error != Error::none) continue;
      driver.step(one, 20);
      if (salt % 2 == 0)
        driver.finish(one);
      else
        static_cast<void>(driver.cache.abort(one.sequence));
    }
    const Tokens length = 16 * static_cast<Tokens>((pages - 15 - 1) / 4);
    const std::string fault = run_alone(driver, Text(9), 40, length, true, 1);
    CHECK_MESSAGE(fault.empty(), fault);
  }
}

TEST_CASE_TEMPLATE("abort leaks (sglang 20182, 21404, 23496, 26941): counts equal the start", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    for (const bool reserve : {false, true}) {
      auto driver = make_driver<O>(40, 12, [&](CacheOptions& o) {
        o.reuse = reuse;
        o.reserve_prompt = reserve;
      });
      const Text text(1);
      REQUIRE(driver.serve(text, 64, 32));
      const auto start = driver.counts();
      for (int how = 0; how < 5; ++how) {
        CAPTURE(how);
        const Match match = driver.match(text, 100);
        CHECK(match.joint_depth == 64);
        if (how == 0) {  // refused
          driver.begin(Text(text, 64, 2), 100, 4'097);
          CHECK(driver.error == Error::capacity);
        } else {
          auto request = driver.begin(Text(text, 64, 2), 100);
          REQUIRE(driver.error == Error::none);
          if (how >= 2) driver.open();
          if (how >= 2) REQUIRE(driver.advance(request, 30));
          if (how >= 3) driver.close();
          if (how == 4) REQUIRE(driver.cache.preempt(request.sequence));
          REQUIRE(driver.cache.abort(request.sequence));
          CHECK(driver.cache.abort(request.sequence).error() == Error::stale_handle);
          if (how == 2) driver.close();
          while (driver.complete()) {
          }
        }
        CHECK(driver.counts() == start);
        CHECK(driver.match(text, 100).joint_depth == 64);
      }
      CHECK(driver.fault.empty());
    }
  }
}

TEST_CASE_TEMPLATE("states retire (vllm 55450): two and one step's boundaries per step in flight",
                   O, CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    const std::uint32_t deep = reuse == Reuse::stream ? 1 : 2;
    auto driver = make_driver<O>(260, 60, [&](CacheOptions& o) {
      o.reuse = reuse;
      o.max_chunk_tokens = 128;
      o.max_steps_in_flight = 2;
    });
    const auto request = driver.begin(Text(1), 4'096);
    std::uint32_t most = 0;
    std::uint32_t in_flight = 0;
    while (driver.placed(request) < 4'096) {
      driver.open();
      REQUIRE(driver.advance(request, 128));  // 4 boundaries
      driver.publish(request);
      driver.close();
      if (++in_flight == deep) {
        driver.complete();
        --in_flight;
      }
      most = std::max(most, referenced_states(driver));
    }
    CHECK(most <= 2 + 4 * (deep + 1));
    while (driver.complete()) {
    }
    CHECK(driver.fault.empty());
  }
}

TEST_CASE_TEMPLATE("boundary state outlives its attention, or not (vllm 57253)", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(40, 8);
  const Text text(1);
  const auto owner = driver.begin(text, 64, 200);
  REQUIRE(driver.prefill(owner, 64, 32));
  REQUIRE(driver.prefill(owner, 64 + 3 * 16, 1));  // decodes three blocks
  const auto churn = driver.begin(Text(2), 1, 16 * 28);
  REQUIRE(squeeze(driver, churn, [&] {
    const auto counts = driver.counts()[0];
    return counts.free + counts.cached <= counts.units / 10 || driver.placed(churn) >= 16 * 28;
  }));
  const Match match = driver.match(Text(text, 64, 3), 80);
  CHECK(match.attention_depth == 64);  // the owner holds them
  CHECK(match.joint_depth == std::min(match.recurrent_depth, 64U));
  REQUIRE(driver.cache.abort(churn.sequence));
  const auto adopts = driver.begin(Text(text, 64, 3), 80);
  CHECK(driver.placed(adopts) == match.joint_depth);
  CHECK(driver.cache.metrics().hits == (match.joint_depth > 0 ? 1 : 0));
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("off by one at the exact boundary (vllm-fork 201)", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    auto driver = make_driver<O>(20, 1, [&](CacheOptions& o) { o.reuse = reuse; });
    const auto request = driver.begin(Text(1), 16, 320);
    for (int i = 0; i < 20; ++i) {
      REQUIRE(driver.step(request, 16));
      driver.publish(request);
    }
    CHECK(driver.placed(request) == 320);
    CHECK(driver.cache.metrics().refusals == 0);
    CHECK(driver.fault.empty());
  }
}

TEST_CASE_TEMPLATE("everything pinned (sglang 36770): no checkpoint kept, the forward unaffected",
                   O, CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  const OrganizationLayout layout = small_layout<O>();
  auto driver = make_driver<O>(20, 3, [&](CacheOptions& o) {
    o.checkpoint_units = layout.units_per_checkpoint();
    o.max_chunk_tokens = 32;
  });
  // Both running states and the one checkpoint are held.
  const Text text(1);
  const auto first = driver.begin(text, 100);
  REQUIRE(driver.prefill(first, 33, 32));
  const auto second = driver.begin(Text(2), 100);
  while (driver.placed(second) < 100) REQUIRE(driver.step(second, 20));
  CHECK(driver.cache.metrics().checkpoints_skipped > 0);
  CHECK(driver.cache.metrics().refusals == 0);
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("kinds share one budget (sglang 34441): attention makes way for a state", O,
                   CoarsePages, PagedRecurrent, SlabPacked) {
  auto driver = make_driver<O>(20, 0, [](CacheOptions& o) { o.keep_tail = false; });
  const Text text(1);
  const auto fills = driver.begin(text, 16 * 14);
  REQUIRE(driver.error == Error::none);
  REQUIRE(driver.step(fills, 16 * 14));
  driver.publish(fills);
  REQUIRE(driver.cache.abort(fills.sequence));
  const auto other = driver.begin(Text(2), 31);
  REQUIRE(driver.step(other, 31));
  const auto third = driver.begin(Text(3), 31);
  REQUIRE(driver.step(third, 31));
  CHECK(driver.cache.metrics().blocks_evicted + driver.cache.metrics().checkpoints_evicted > 0);
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("lock on a lost state (sglang 27147): counts stay exact", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  auto driver = make_driver<O>(40, 12);
  const Text text(1);
  const auto holder = driver.begin(text, 64);
  REQUIRE(driver.prefill(holder, 64, 32));
  driver.cache.clear();  // what it published is lost, it holds on
  CHECK(driver.match(text, 65).joint_depth == 0);
  const auto other = driver.begin(text, 64);
  CHECK(driver.placed(other) == 0);
  REQUIRE(driver.prefill(other, 64, 32));
  CHECK(driver.match(text, 65).joint_depth == 64);
  REQUIRE(driver.finish(holder));
  CHECK(driver.cache.audit({}) == 0);
  REQUIRE(driver.finish(other));
  CHECK(driver.referenced() == 0);
  CHECK(driver.match(text, 65).joint_depth == 64);
}

TEST_CASE_TEMPLATE("only the used state is refreshed (sglang 31648)", O, CoarsePages,
                   PagedRecurrent, StaticDualPool, SlabPacked) {
  // A@96 A@192 A@288, then B@96; a hit on A@288; two victims are A@96 and A@192.
  const OrganizationLayout layout = small_layout<O>(Shape{96, 96, 1, 16});
  CacheOptions options = room_for(layout, 12, 6);
  options.key_tokens = 16;
  options.checkpoint_units = 5 * layout.units_per_checkpoint();
  options.units[0] += 40;
  CacheDriver<O> driver(layout, options);
  const Text a(1);
  const Text b(2);
  REQUIRE(driver.serve(a, 288, 96));
  REQUIRE(driver.serve(b, 96, 96));
  const auto hit = driver.begin(Text(a, 288, 3), 289);
  CHECK(driver.placed(hit) == 288);
  REQUIRE(driver.cache.abort(hit.sequence));
  const auto kept = [&](const Text& text, Tokens at) {
    const auto keys = text.keys(at + 1, 16);
    Prompt prompt = driver.prompt_of({{}, text, at + 1, at + 1, 0});
    return driver.cache.match(prompt).recurrent_depth == at;
  };
  CHECK((kept(a, 96) && kept(a, 192) && kept(a, 288) && kept(b, 96)));
  // A stranger saves until two of the four are gone.
  const auto stranger = driver.begin(Text(5), 1, 800);
  int lost = 0;
  for (int i = 0; i < 8 && lost < 2; ++i) {
    REQUIRE(driver.step(stranger, 96));
    driver.publish(stranger);
    lost = 4 - (kept(a, 96) + kept(a, 192) + kept(a, 288) + kept(b, 96));
    if (lost >= 1) CHECK(!kept(a, 96));
  }
  CHECK(lost == 2);
  CHECK(!kept(a, 192));
  CHECK(kept(a, 288));
  CHECK(kept(b, 96));
}

TEST_CASE_TEMPLATE("unhashed first (vllm 42656): sessions in turn keep their hits", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  // Four sessions fill a quarter of the pool with what can be found; what cannot goes first.
  auto driver = make_driver<O>(64, 24, [](CacheOptions& o) { o.keep_tail = false; });
  std::vector<Text> sessions;
  for (std::uint64_t salt = 1; salt <= 4; ++salt) {
    sessions.emplace_back(salt);
    REQUIRE(driver.serve(sessions.back(), 65, 32));
  }
  for (int round = 0; round < 24; ++round) {
    const Text& session = sessions[static_cast<std::size_t>(round) % 4];
    const auto request =
        driver.begin(Text(session, 64, 100 + static_cast<std::uint64_t>(round)), 150);
    CHECK(driver.placed(request) == 64);
    REQUIRE(driver.prefill(request, 150, 40, false));  // nothing new is published
    REQUIRE(driver.cache.abort(request.sequence));
  }
  CHECK(driver.cache.metrics().blocks_evicted == 0);
  CHECK(driver.fault.empty());
}

TEST_CASE_TEMPLATE("checkpoints do not flush attention (vllm 42948): a byte budget", O, CoarsePages,
                   PagedRecurrent, SlabPacked) {
  const OrganizationLayout layout = small_layout<O>();
  const auto attention_hits = [&](bool checkpoints) {
    CacheOptions options = room_for(layout, 40, 3);
    options.interior = checkpoints ? Interior::on_grid : Interior::none;
    options.keep_tail = false;
    if (checkpoints) options.checkpoint_units = 1;  // none besides the running states
    CacheDriver<O> driver(layout, options);
    std::uint64_t hits = 0;
    for (int round = 0; round < 40; ++round) {
      // About four times the pool, half of it for one of them.
      const Text text(static_cast<std::uint64_t>(round % 2 == 0 ? 0 : 1 + round * 7 % 15));
      hits += driver.match(text, 150).attention_depth;
      driver.serve(text, 150, 150);
    }
    return hits;
  };
  CHECK(attention_hits(true) >= attention_hits(false));
  CHECK(attention_hits(false) > 0);
}

TEST_CASE_TEMPLATE("capacity told is capacity had (vllm 37121)", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  for (const auto& [length, sharing] :
       {std::pair{40U, 0U}, std::pair{100U, 0U}, std::pair{100U, 64U}, std::pair{100U, 50U},
        std::pair{96U, 96U}, std::pair{160U, 128U}}) {
    CAPTURE(length);
    CAPTURE(sharing);
    auto driver = make_driver<O>(40, 7, [](CacheOptions& o) { o.max_sequences = 40; });
    const std::uint64_t told = driver.cache.capacity(length, sharing);
    REQUIRE(told > 0);
    REQUIRE(told < 40);
    // A replay: one more than told grow together; the common part is adopted.
    const Text stem(1);
    std::vector<typename CacheDriver<O>::Request> running;
    for (std::uint64_t i = 0; i <= told; ++i) {
      const auto one = driver.begin(Text(stem, sharing, 10 + i),
                                    std::max(1U, std::min(sharing + 1, length)), length);
      if (driver.error != Error::none) break;
      if (i == 0 && sharing > 0) REQUIRE(driver.prefill(one, std::min(sharing, length - 1), 32));
      if (driver.placed(one) == 0 && !driver.step(one, 1)) {
        static_cast<void>(driver.cache.abort(one.sequence));
        break;
      }
      running.push_back(one);
    }
    // As many as told reach the end; the last ones make way.
    std::uint64_t had = 0;
    for (bool refused = false;;) {
      bool moved = false;
      driver.open();
      for (const auto& one : running)
        if (driver.placed(one) < length) {
          if (driver.advance(one, 1))
            moved = true;
          else
            refused = true;
        }
      driver.close();
      driver.complete();
      if (refused && running.size() > told) {
        REQUIRE(driver.cache.abort(running.back().sequence));
        running.pop_back();
        refused = false;
        continue;
      }
      if (!moved) break;
    }
    for (const auto& one : running) had += driver.placed(one) == length ? 1U : 0U;
    CHECK(had == told);
    CHECK(driver.fault.empty());
  }
}

TEST_CASE_TEMPLATE("start-up (vllm 49064): fewer states than sequences is no crash", O, CoarsePages,
                   PagedRecurrent, SlabPacked, StaticDualPool) {
  const OrganizationLayout layout = small_layout<O>();
  CacheOptions options = room_for(layout, 600, 512);
  options.max_sequences = 1'024;
  const auto cache = StateCache<O>::create(layout, options);
  REQUIRE(cache);
  CHECK((*cache)->capacity(1, 0) >= 512);
  CHECK((*cache)->capacity(1, 0) < 1'024);
  options.units = {0, 0};
  const auto none = StateCache<O>::create(layout, options);
  REQUIRE(!none);
  CHECK(none.error().code == Error::capacity);
  CHECK(std::string(none.error().field) == "units");
}

TEST_CASE_TEMPLATE("optional checkpoints give way (openvino 4047)", O, CoarsePages, PagedRecurrent,
                   SlabPacked, StaticDualPool) {
  // A prompt with more boundaries than there is room for states.
  auto driver = make_driver<O>(130, 6);
  const Text text(1);
  const auto request = driver.begin(text, 2'000);
  REQUIRE(driver.error == Error::none);
  REQUIRE(driver.prefill(request, 2'000, 512));
  CHECK(driver.cache.metrics().checkpoints_skipped > 0);
  CHECK(driver.match(text, 2'000).recurrent_depth > 0);
  CHECK(driver.fault.empty());
  CHECK(driver.plan(Text(2), 4'000).verdict == Verdict::unservable);
}

namespace {

/// A replica built from events alone.
struct Replica {
  static constexpr bool enabled = true;
  struct Entry {
    Event event;
    std::uint64_t order = 0;
  };
  struct State {
    std::map<std::pair<int, std::int32_t>, Entry> entries;
    std::uint64_t last = 0, completed = 0, number = 0, order = 0;
    bool open = false, gap = false, ended = false;
    std::uint32_t epoch = 1;
  };
  std::shared_ptr<State> state = std::make_shared<State>();

  void operator()(const Event& event) const noexcept {
    State& s = *state;
    s.gap = s.gap || event.number != ++s.number;
    const std::pair key{static_cast<int>(event.object_kind), event.object};
    switch (event.kind) {
      case EventKind::step_opened:
        s.last = event.ticket;
        s.open = true;
        break;
      case EventKind::step_closed:
        s.open = false;
        break;
      case EventKind::step_dropped:
        s.last = event.ticket - 1;
        s.open = false;
        break;
      case EventKind::step_completed:
        s.completed = event.ticket;
        break;
      case EventKind::steps_failed:
        s.open = false;
        break;
      case EventKind::published:
        s.entries[key] = {event, ++s.order};
        break;
      case EventKind::lost:
        s.entries.erase(key);
        break;
      case EventKind::epoch:
        s.epoch = event.epoch;
        break;
      case EventKind::end_of_stream:
        s.ended = true;
        break;
      default:
        break;
    }
  }
  /// The joint depth of a text, without attention beyond `tokens` - 1.
  Tokens match(const Text& text, Tokens tokens, bool stream, Tokens block) const {
    const State& s = *state;
    const std::uint64_t now = s.open ? s.last : s.last + 1;
    const auto found = [&](EventObject kind, Tokens end) {
      for (const auto& [key, entry] : s.entries) {
        const Event& e = entry.event;
        if (e.object_kind != kind || e.end != end || e.epoch != s.epoch) continue;
        if (e.key_high != text.tag(end)) continue;
        if (stream ? e.ticket < now : e.ticket <= s.completed) return true;
      }
      return false;
    };
    Tokens attention = 0;
    while (attention + block <= tokens - 1 &&
           found(EventObject::attention_block, attention + block))
      attention += block;
    while (attention > 0 && !found(EventObject::checkpoint, attention)) attention -= block;
    return attention;
  }
};

}  // namespace

TEST_CASE_TEMPLATE("events can be replayed (vllm 44451): a replica answers every match the same", O,
                   CoarsePages, PagedRecurrent, SlabPacked, StaticDualPool) {
  for (const Reuse reuse : {Reuse::stream, Reuse::ticket}) {
    CAPTURE(static_cast<int>(reuse));
    const OrganizationLayout layout = small_layout<O>();
    CacheOptions options = room_for(layout, 20, 6);
    options.reuse = reuse;
    const Replica replica;
    CacheDriver<O, Replica> driver(layout, options, replica);
    const Text stem(1);
    std::vector<Text> texts;
    for (std::uint64_t i = 0; i < 6; ++i)
      texts.emplace_back(stem, static_cast<Tokens>(i * 23), 10 + i);
    const auto agree = [&] {
      for (const Text& text : texts)
        CHECK(driver.match(text, 150).joint_depth ==
              replica.match(text, 150, reuse == Reuse::stream, 16));
    };
    std::uint32_t random = 99;
    const auto below = [&](std::uint32_t limit) {
      random = random * 1'664'525U + 1'013'904'223U;
      return (random >> 8U) % limit;
    };
    for (int round = 0; round < 60; ++round) {
      CAPTURE(round);
      const auto request = driver.begin(texts[below(6)], 20 + below(120));
      if (driver.error != Error::none) continue;
      for (int i = 0; i < 3; ++i) {
        const Ticket ticket = driver.open();
        driver.advance(request, 1 + below(60));
        driver.publish(request);
        agree();
        if (below(4) != 0) driver.close();
        agree();
        if (below(5) == 0) {
          driver.drop();
        } else if (below(8) == 0) {
          driver.fail(ticket);
        } else {
          driver.close();
          driver.complete();
        }
        agree();
      }
      static_cast<void>(below(3) == 0 ? driver.cache.abort(request.sequence)
                                      : driver.finish(request));
      agree();
      if (round == 40) driver.cache.advance_epoch();
    }
    driver.cache.end_events();
    CHECK(!replica.state->gap);
    CHECK(replica.state->ended);
    CHECK(replica.state->number == driver.cache.metrics().events);
    CHECK(driver.fault.empty());
    for (const auto& [key, entry] : replica.state->entries) {
      CHECK(entry.event.end > entry.event.begin);
      CHECK(entry.event.units > 0);
    }
  }
}
