// Recordings as text for a terminal: `heddle show REC`, and what `heddle record` says at its end.
#pragma once

#include <string>

#include "driver/recording_summary.h"
#include "recording/recording_info.h"

namespace heddle {

struct RecordingTextOptions {
  bool all = false;    // whole lists instead of their first entries
  bool brief = false;  // without lists
};

std::string recording_text(const RecordingSummary& summary, const RecordingTextOptions& options);

// Headline, place and stack of the thread that failed; of a hang, the stacks of all threads. Several lines.
std::string failure_text(const RecordingInfo& info);

// "32.0 KiB in 3 logs, 1.2 MiB per second, 410.0 KiB per second and thread"
std::string sizes_text(const RecordingInfo& info);

}  // namespace heddle
