// The trace of a recording, for the verbs that show or solve it.
#pragma once

#include <string>

#include "base/result.h"
#include "trace/trace.h"

namespace heddle {

// Warns on standard error where what was computed is not what was recorded. `program`: where the executable is
// now; empty: where it was.
Result<Trace> trace_of_recorded(const std::string& recording, const std::string& program, unsigned jobs);

}  // namespace heddle
