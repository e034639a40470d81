// The text form of schedules: a file that a person can read and edit, and a program can parse
// (docs/schedule.md).
//
//   read_schedule(schedule_text(s)) == s for every schedule that check_schedule() accepts, with its notes;
//   schedule_text(read_schedule(x)) == x for every x that schedule_text() wrote.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "schedule/schedule.h"

namespace heddle {

std::string schedule_text(const Schedule& schedule);

// One step as it stands in the file, without its note: for messages.
std::string step_text(const Schedule& schedule, const Step& step);

// `origin` is the file name for messages. Errors have where = "origin:line:column" and a `next`.
Result<Schedule> read_schedule(std::string_view text, const std::string& origin);

}  // namespace heddle
