// A schedule by names: which thread goes on until which event of the program, without saying how many events
// that is. Whoever computes an order from a recording knows nothing of events inside libraries; a run that
// follows a guide gives the schedule with all of them (Execution::schedule).
#pragma once

#include <vector>

#include "abi/control.h"
#include "replay/steps.h"
#include "schedule/thread_name.h"

namespace heddle {

struct GuideStep {
  enum class Kind : uint8_t {
    run,      // the thread goes on until it has performed the event
    flush,    // the store becomes visible
    timeout,  // the time of the wait that the thread is in is over
  };
  Kind kind = Kind::run;
  uint32_t thread = 0;                             // in Guide::threads
  heddle_step_target target = HEDDLE_TARGET_read;  // what the event does
  uint32_t site = HEDDLE_NO_SITE;                  // instruction of the program
  uint64_t occurrence = 1;                         // the thread has done so this many times then

  friend bool operator==(const GuideStep&, const GuideStep&) = default;
};

struct Guide {
  std::vector<ThreadName> threads;  // the main thread first, creators before what they created
  std::vector<GuideStep> steps;
};

GivenSteps given_steps(const Guide& guide);

}  // namespace heddle
