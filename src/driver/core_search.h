// The search for a failing schedule, guided by a core (section 5 of the paper, algorithm 2).
//
// First the threads are brought to where the core has them, in turn, if it has one in the middle of something:
// the failing one before the others, up to where the passing run goes another way, and then again; or last.
// Then preemptions are tried (core_candidates.h), alone and two together, the lightest first; the weight of two
// is twice the product (the paper's is the sum, with which pairs soon outnumber all else). The second
// preemption is looked for in the run that the first one gave. Who is preempted goes on when nobody else can,
// until the other thread has come to the event that is to be first, wherever that one has to wait on its way;
// from then on it is the next to go on. If that one does not come there, since it saw what the other had
// written, the preemption is tried before that write (core_earlier.h). A thread in a timed wait is let go on by
// the end of its time. Addresses are those of the variant that performs the tries: the passing run, which
// another variant showed, is repeated there first. From the sixth of these tries on, every third one is the
// next in the order of the run, those of conflicting events first: of these there are far fewer than points for
// preemptions, so a core that misleads costs little more than none. The first tries of the baseline are made as
// soon as it would have made them itself, without those that change nothing (core_baseline.h): where it needs
// few, the search needs no more, as far as the passing run foretells what changes nothing. No try gives a run
// that another one gave (core_repeated.h). When all is tried, all pairs of points of the run follow in the
// order of the baseline, then runs by the strategies of hunt.
//
// With a pool, other processes perform what is likely to be tried next; what is tried, and in which order,
// stays the same.
#pragma once

#include <chrono>
#include <functional>

#include "driver/confirm.h"
#include "driver/core_match.h"
#include "driver/core_passing.h"
#include "driver/try_pool.h"

namespace heddle {

enum class CoreOrder : uint8_t {
  temporal,    // by the distance in time to the aligned point (and what else core_candidates.h says)
  dependence,  // by the distance along dependences (core_slice.h), then in time
  chess,       // the baseline: candidates in the order of the run, whatever the core says
};

struct CoreSearchOptions {
  RunRules rules;
  CoreOrder order = CoreOrder::temporal;
  unsigned preemptions = 2;
  uint64_t tries = 100000;
  std::optional<std::chrono::milliseconds> time = std::chrono::minutes(5);
};

struct CoreSearchResult {
  enum class End { found, exhausted, limit, interrupted, stopped };  // stopped: `last` says why
  End end = End::exhausted;
  uint64_t tries = 0;       // controlled runs that were made to look for the failure
  uint64_t candidates = 0;  // points for preemptions
  CoreMatch matched = CoreMatch::none;
  bool by_chance = false;  // found by a strategy of hunt
  Execution last;          // found: the failing run
  uint64_t events = 0;     // of all tries
  uint64_t prefix_events =
      0;  // of these, before the first preemption that a try does not share with the passing run
  std::chrono::milliseconds elapsed{};
};

// `pool`: null: none.
Result<CoreSearchResult> search_core(const CoreCase& core, const PassingRun& passing, const CodeNames& names,
                                     Executor& executor, TryPool* pool, const CoreSearchOptions& options,
                                     const std::function<void(const CoreSearchResult&)>& progress);

}  // namespace heddle
