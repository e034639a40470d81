// Where a thread lost control in the middle of its code: a signal handler interrupted it and was left by a jump
// (siglongjmp). The thread's own log cannot say so. The log of its handlers has an entry for each handler that
// began, with the place where the interrupted log was, and another for each that came back.
#pragma once

#include <filesystem>
#include <vector>

#include "program/record_plan.h"
#include "recording/entries.h"

namespace heddle {

// Of the log `file` ("NAME.log", "NAME@1.log"), in the order in which they happened: the handlers that
// interrupted it and did not come back. None if there is no log of handlers, and only those before the first
// damage in it.
std::vector<SignalEntry> jumps_out_of_handlers(const Program& program, const RecordPlan& plan,
                                               const std::filesystem::path& file);

}  // namespace heddle
