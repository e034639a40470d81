// A schedule as a few lines for people: who ran from where, and why another thread went on.
#pragma once

#include <string>

#include "schedule/schedule.h"

namespace heddle {

// At most `most` runs; the rest is counted.
std::string schedule_story(const Schedule& schedule, size_t most = 24);

}  // namespace heddle
