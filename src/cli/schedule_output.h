// Where a verb keeps the failing schedule that it finds.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "schedule/schedule.h"

namespace heddle {

// The file that the user named, or else the first of APP.heddle, APP.1.heddle, ... that is not there yet. A
// schedule is saved as soon as it is found, and again into the same file when a shorter one is known. A file
// that cannot be written does not keep the failure from being told: that comes last, by written().
class ScheduleOutput {
 public:
  ScheduleOutput(std::filesystem::path program, std::string named)
      : program_(std::move(program)), named_(std::move(named)) {}

  void save(const Schedule& schedule);

  const std::string& file() const { return file_; }  // empty: nothing has been written
  Result<void> written() const;

 private:
  std::filesystem::path program_;
  std::string named_, file_;
  std::optional<Error> error_;
};

// The lines that say where it is and what to do with it; none for an empty name.
std::string schedule_next_text(const std::string& file);

}  // namespace heddle
