// A reproduction problem: find a total order of events (evaluator.h says what an order means) under which all
// constraints of the trace hold and the failure happens (CLAP section 3.2).
//
// An order has what was carried out up to the failure; events behind it are left out. It is an answer only if
// evaluate() says that it holds: engines find orders, the evaluator judges them.
//
// Order facts restrict which orders are looked for. Those of the recorded run are true of it and so may be used
// to find it; an answer without them would do as well. So a problem that is impossible with facts is not
// impossible: it is tried again without (D6).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/schedule.h"
#include "trace/trace.h"

namespace heddle {

struct EventRef {
  uint32_t thread = 0, event = 0;

  friend auto operator<=>(const EventRef&, const EventRef&) = default;
};

// `before` is carried out before `after`: under TSO and PSO a write is carried out when it enters the buffer.
struct OrderFact {
  enum class Origin : uint8_t { synchronisation, core, flow, window };
  EventRef before, after;
  Origin origin = Origin::synchronisation;

  friend bool operator==(const OrderFact&, const OrderFact&) = default;
};

// What bytes of a read, from this address on, are read from; without a write: what was there before.
struct ReadSource {
  EventRef read;
  uint64_t address = 0;
  std::optional<EventRef> write;

  friend bool operator==(const ReadSource&, const ReadSource&) = default;
};
using ReadsFrom = std::vector<ReadSource>;

// Ticks by which a stamp may miss what was done beside it. A processor reads its clock ahead of loads that
// still wait for their data, and what it stores is seen by others only when it leaves the store buffer: a few
// hundred ticks, seldom more. So stamps are taken to be right but for that.
inline constexpr uint64_t kClockSlack = 1024;

// A limit (Event::tsc_low or tsc_high) of the events of a thread.
struct ClockBound {
  uint64_t time = 0;
  uint32_t thread = 0;

  friend auto operator<=>(const ClockBound&, const ClockBound&) = default;
};

// Which of the recorded stamps' facts are assumed: all but those of the bounds that are doubted
// (solve/doubted_clocks.h).
struct ClockUse {
  bool clocks = false;
  uint64_t slack = 0;
  std::vector<ClockBound> doubted;  // growing
};

// All of them, if the recording has any. Stamps that are numbers (record --sync-order) are exact.
inline ClockUse all_clocks(const Trace& trace) {
  return {.clocks = true, .slack = trace.sync_order ? 0 : kClockSlack, .doubted = {}};
}

struct Problem {
  const Trace* trace = nullptr;  // requires: check_trace(); outlives the problem
  MemoryModel model = MemoryModel::sc;
  // An event whose tsc_high and the slack are not above another's tsc_low comes before it (both not 0).
  bool clocks = false;
  uint64_t clock_slack = 0;
  std::vector<ClockBound> doubted;  // growing; those say nothing
  std::vector<OrderFact> facts;
  std::vector<ReadsFrom> refuted;  // no order with all sources of one of these (solve/reads_from.h)

  // What the cores tell (Trace::core_order) is right whatever the clocks miss, but for how events were matched
  // with spans of time: it is given up with them.
  void use(const ClockUse& use) {
    clocks = use.clocks;
    clock_slack = use.slack;
    doubted = use.doubted;
    std::erase_if(facts, [](const OrderFact& fact) { return fact.origin == OrderFact::Origin::core; });
    if (!use.clocks || model == MemoryModel::pso) return;
    for (const OrderOnCore& order : trace->core_order)
      facts.push_back({.before = {order.before_thread, order.before},
                       .after = {order.after_thread, order.after},
                       .origin = OrderFact::Origin::core});
  }
  ClockUse clock_use() const { return {.clocks = clocks, .slack = clock_slack, .doubted = doubted}; }
  bool is_doubted(const ClockBound& bound) const {
    return !doubted.empty() && std::ranges::binary_search(doubted, bound);
  }
  const Event& event(EventRef ref) const { return trace->threads[ref.thread].events[ref.event]; }
};

}  // namespace heddle
