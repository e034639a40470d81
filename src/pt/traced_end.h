// How a traced process ended. The trace does not hold that: whoever waited for the process tells it.
#pragma once

#include <cstdint>

#include "base/json.h"
#include "base/result.h"

namespace heddle {

struct TracedEnd {
  int pid = 0;
  int exit_code = 0, signal = 0;  // as a shell has them: 128 + signal
  int failed_tid = 0;             // that the signal came from; 0: not known
  uint64_t fault_address = 0, fault_pc = 0;
  bool timed_out = false;

  bool failed() const { return exit_code != 0 || timed_out; }
  Json to_json() const;
  static Result<TracedEnd> from_json(const Json& json);
};

}  // namespace heddle
