// A symbolic trace as data (heddle show --json).
#pragma once

#include "base/json.h"
#include "trace/trace.h"

namespace heddle {

Json trace_json(const Trace& trace);

}  // namespace heddle
