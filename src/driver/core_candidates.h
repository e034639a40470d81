// Preemptions that may turn a passing run into the failing one, the likeliest first.
//
// The paper (section 5) has candidates at synchronisation operations, and weighs each by how close to the
// failure it disturbs an access to a critical variable. Here a candidate is a pair of events of two threads
// that conflict (the same memory, one of them writes; the same synchronisation object): thread `thread` is
// preempted before its event, `next` goes on and comes to its own (`awaited`) first. So preemptions that change
// no order are no candidates, and of those that change the same order there is one; two where a read is meant
// that decided (below) and others go on before that thread in the run: these at first, as they did, or the
// thread itself. Where both events are inside critical sections of one lock, the preemption is before the lock
// is taken; so it is where a thread waits for a condition, or signals one. What makes a candidate
// likelier, beside its distance in time to the aligned point:
//   - it changes what a read sees that decided by which way a thread went, where the core has it elsewhere
//     (core_slice.h), or that the failing instruction used;
//   - it concerns a critical variable, most of all one whose value in the core is written by one of the two;
//   - the thread accessed the same memory before, and the three accesses cannot be put in any serial order (the
//     four patterns of Lu et al., ASPLOS 2006): an atomicity violation;
//   - the core has the thread about there;
//   - the process ended before a thread came to its next access: it comes to it behind one of another thread;
//   - it is no preemption at all, but another choice where the thread before it waits or has ended.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "driver/core_passing.h"
#include "driver/event_conflict.h"

namespace heddle {

struct CoreCandidate {
  size_t event = 0;  // of the run: the thread would perform it next
  uint32_t thread = 0;
  uint32_t next = 0;  // goes on instead
  uint64_t weight = 0;
  uint64_t awaited = 0;         // address of the event that is to come first; 0: none in particular
  uint32_t awaited_of = 0;      // whose event: mostly that of `next`
  bool awaited_writes = false;  // a read of the same memory before it is not meant

  bool awaits(const heddle_event& of) const {
    return of.thread == awaited_of && of.address == awaited && (!awaited_writes || writes(of));
  }
};

// The run in which preemptions are looked for: the passing one, or one that a preemption gave.
struct CandidateRun {
  const std::vector<heddle_event>& events;
  const std::vector<heddle_thread_entry>& threads;
  const std::vector<CriticalVariable>& critical;
  size_t aligned = 0;  // events before the aligned point
  size_t from = 0;     // candidates before this event are of no interest
  std::optional<uint32_t> failing;
  const std::vector<CorePosition>* positions = nullptr;  // by thread; null: not known
  size_t most = 100'000;                                 // candidates
  // What threads would have done next when the process ended; null: nothing.
  const std::vector<heddle_event>* pending = nullptr;
  const std::set<size_t>* deciding =
      nullptr;  // reads that must see something else (core_slice.h); null: none known
  // By event (driver/core_slice.h): candidates are ranked by it instead of by time; null: by time.
  const std::vector<uint32_t>* dependence = nullptr;
};

// Ascending by weight. Of threads with the same start function that have not begun, the first is likelier.
std::vector<CoreCandidate> core_candidates(const CandidateRun& run);

// The baseline (CHESS): before every synchronisation operation and shared access of the run, with each other
// thread, in the order of the run.
std::vector<CoreCandidate> candidates_in_order(const CandidateRun& run);

}  // namespace heddle
