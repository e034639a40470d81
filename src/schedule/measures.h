// Sizes of schedules, and the operations of those who shorten and compare them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schedule/schedule.h"

namespace heddle {

struct ScheduleMeasures {
  uint64_t events = 0;
  uint64_t segments =
      0;  // longest stretches of runs of one thread, whatever steps of other kinds stand between
  uint64_t switches = 0;     // from one segment to the next
  uint64_t preemptions = 0;  // switches away from a thread that could have gone on
  uint64_t flushed_stores = 0;
  uint64_t wakes = 0;
  uint64_t timeouts = 0;

  friend bool operator==(const ScheduleMeasures&, const ScheduleMeasures&) = default;
};

// A flush is no switch: the hardware does it, not the thread. Whether a switch is a preemption is decided by
// the end of the last run before it; a thread that blocked, and was woken but not run since, still counts as
// blocked there.
ScheduleMeasures measure(const Schedule& schedule);

// The same schedule with neighbouring steps of equal meaning made one: runs of one thread, flushes of one
// buffer. The end of a merged run is that of its last part: why a run ended matters only where another thread
// goes on.
Schedule normalised(Schedule schedule);

// The schedule up to and including its `events`-th event, as a prefix; all of it if it has no more. Steps of
// other kinds behind that event are left out, and so are the expectations of the header, which are about the
// whole run.
Schedule prefix_of(const Schedule& schedule, uint64_t events);

// Where two schedules first make a program do different things.
struct ScheduleDifference {
  uint64_t event = 0;    // number of events performed before it
  size_t left_step = 0;  // the steps that differ, from 0; the number of steps at the end
  size_t right_step = 0;
  std::string text;  // one line for people
};

// Nothing when they do the same: neither notes, strategy, seed and expectations count, nor how runs are cut
// into steps and why they end.
std::optional<ScheduleDifference> difference(const Schedule& left, const Schedule& right);

}  // namespace heddle
