// A failing run that was found becomes a result: its schedule is replayed in fresh processes, and shortened.
#pragma once

#include <chrono>
#include <optional>

#include "replay/executor.h"
#include "replay/shorten.h"

namespace heddle {

struct Confirmation {
  Execution best;          // the run that fresh processes showed; after shortening the shortest one
  uint64_t confirmed = 0;  // in how many fresh processes it showed again
  std::optional<ScheduleMeasures> before, after;  // shortening
  uint64_t shorten_tries = 0;
  bool shorten_finished = false;
};

// Requires: `found` failed.
Result<Confirmation> confirm(Execution found, Executor& executor, const RunRules& rules, unsigned times);

// Requires: confirmed.
Result<void> shorten(Confirmation& confirmation, Executor& executor, const RunRules& rules,
                     std::chrono::milliseconds time);

}  // namespace heddle
