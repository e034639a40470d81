// A run as a few lines for people: who ran from where, what it did to memory that the threads share, and why
// another thread went on.
#pragma once

#include <string>
#include <vector>

#include "driver/own_places.h"
#include "replay/executor.h"

namespace heddle {

inline constexpr size_t kStorySteps = 24;

// At most `most` steps, the last ones; of each its first and last accesses, if the run has kept them. The rest
// is counted. `own`: better places of some events.
std::string schedule_story(const Execution& run, const CodeNames& names, const OwnPlaces& own = {},
                           size_t most = kStorySteps);

// The events that it shows at places that are not the program's own, the last first.
std::vector<size_t> foreign_events(const Execution& run, const CodeNames& names, size_t most = kStorySteps);

}  // namespace heddle
