// Whether a controlled run fails as a recorded one did.
//
// Controlled runs notice more: a freed block that is used, a lost wake-up. What the recording saw as a crash or
// a hang may show there as its cause, and earlier.
#pragma once

#include "recording/recording_info.h"
#include "replay/failure.h"

namespace heddle {

enum class FailureMatch : uint8_t {
  none,
  same,   // the same identity
  cause,  // a misuse of memory where the recording has the crash or hang that may come of it; a deadlock for a
          // hang
};

FailureMatch match(const RecordedFailure& recorded, const Failure& controlled);

}  // namespace heddle
