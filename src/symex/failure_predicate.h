// What failed, as something that an order of events makes true or not (CLAP section 3.1, the bug predicate).
#pragma once

#include <optional>
#include <span>

#include "recording/entries.h"
#include "recording/recording_info.h"
#include "trace/trace.h"

namespace heddle {

// Where a thread's recording ends.
struct ThreadEnd {
  ThreadTrace& trace;
  std::optional<SyncEntry> pending;  // the synchronisation call that it has not come back from
  bool finished = false;             // the thread came to its end
  bool exits = false;                // it is in a call that ends the process
};

// Takes events out of a trace that did not happen because of the failure. Kind::none: nothing failed.
FailurePredicate failure_predicate(const RecordingInfo& info, std::span<ThreadEnd> threads);

}  // namespace heddle
