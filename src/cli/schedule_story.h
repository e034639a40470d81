// A run as a few lines for people: who ran from where, what it did to memory that the threads share, and why
// another thread went on.
#pragma once

#include <string>

#include "replay/executor.h"

namespace heddle {

// At most `most` steps, the last ones; of each its first and last accesses, if the run has kept them. The rest
// is counted.
std::string schedule_story(const Execution& run, const CodeNames& names, size_t most = 24);

}  // namespace heddle
