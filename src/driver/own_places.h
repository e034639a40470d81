// Where in the program's own code a thread was at an event whose place lies in a header of the C++ library:
// what people look for is the line that calls it. Without inlining only the stack tells.
#pragma once

#include <map>
#include <span>

#include "replay/executor.h"

namespace heddle {

using OwnPlaces = std::map<size_t, CodePlace>;  // by event of the run (Execution::kept_events)

// The innermost frames outside of such headers, by runs of the schedule that end at the event; of as many
// events as there is time for.
Result<OwnPlaces> own_places(const Execution& run, std::span<const size_t> events, Executor& executor,
                             const RunRules& rules);

bool is_own(const std::optional<CodePlace>& place);

// The event that released the block which the run used or released once more; none if it is not known.
std::optional<size_t> release_event(const Execution& run);

}  // namespace heddle
