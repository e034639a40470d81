// From a failing schedule to one that fails in the same way with few preemptions, so that people can follow it.
//
// Candidates are schedules to be followed as far as they go, after which threads run on without preemption.
// Ways to make them, tried in turn until none helps:
//   cut       keep the first steps only: how much of the schedule does the failure need?
//   gather    in a stretch of steps, let each thread perform at once what it performs there in pieces;
//             stretches from long to short, as in delta debugging
//   run on    give up one preemption: the thread that was interrupted goes on with what it does next
// Two more look for another way to the same failure:
//   anew        random runs of PCT with few preemptions
//   everywhere  when nothing else helps, all schedules with fewer preemptions (few_preemptions.h), as far as
//               time allows
// A candidate counts when the same failure occurs; then the run that showed it, which is a whole schedule, is
// the next one to shorten. So the result has always been seen to fail.
#pragma once

#include <chrono>
#include <functional>

#include "replay/executor.h"
#include "schedule/measures.h"

namespace heddle {

struct ShortenOptions {
  std::chrono::steady_clock::time_point deadline;
  RunRules rules;
  std::function<bool()> give_up = [] { return false; };  // asked before each try
};

struct ShortenResult {
  Execution best;  // the given one when nothing helped
  uint64_t tries = 0;
  bool finished = false;  // no candidate is left: not stopped by time
};

// Requires: `failing` failed with a complete schedule.
Result<ShortenResult> shorten(Execution failing, Executor& executor, const ShortenOptions& options);

// Fewer preemptions are better, then fewer switches, wake-ups and time-outs, flushes that stand alone, events.
bool is_shorter(const Schedule& left, const Schedule& right);

}  // namespace heddle
