#include "cli/schedule_output.h"

#include <fmt/format.h>

#include "base/process.h"
#include "driver/control_setup.h"

namespace heddle {

void ScheduleOutput::save(const Schedule& schedule) {
  if (error_) return;
  const auto write = [&]() -> Result<std::string> {
    const std::string& file = file_.empty() ? named_ : file_;
    if (file.empty()) return HEDDLE_TRY(save_new_schedule(program_, schedule)).string();
    HEDDLE_TRY(save_schedule(file, schedule));
    return file;
  };
  if (Result<std::string> file = write())
    file_ = *std::move(file);
  else
    error_ = std::move(file).error();
}

Result<void> ScheduleOutput::written() const {
  if (error_) return *error_;
  return {};
}

std::string schedule_next_text(const std::string& file) {
  if (file.empty()) return "";
  const std::string quoted = shell_quote({file});
  return fmt::format(
      "heddle: schedule in {}\n  next: heddle replay {}\n        heddle replay {} --gdb\n"
      "        heddle report {}    why it fails\n",
      file, quoted, quoted, quoted);
}

}  // namespace heddle
