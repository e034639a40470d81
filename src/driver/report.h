// From a failing schedule to a finding: replays it, looks for the cause, collects what a report shows.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/finding.h"

namespace heddle {

struct ReportOptions {
  RunRules rules;  // memory model and failing exit codes are taken from the schedule
  std::chrono::milliseconds time = std::chrono::seconds(10);  // for the cause
  unsigned replays = 3;
  std::string origin = "a schedule";
  std::string schedule_file;
  std::vector<std::string> assumptions;
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct ReportResult {
  std::optional<FailureFinding> finding;
  Execution last;  // without a finding: what happened instead
};

Result<ReportResult> report(const Schedule& schedule, Executor& executor, const CodeNames& names,
                            const ReportOptions& options);

}  // namespace heddle
