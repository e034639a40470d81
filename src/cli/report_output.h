// The reports of several verbs: report itself, and --report DIR of those that find failures.
#pragma once

#include <string>

#include "cli/verb.h"
#include "driver/control_setup.h"
#include "driver/report.h"

namespace heddle {

void add_report_option(CLI::App& verb, std::string& folder);

// Where it cannot be written is said before much time is spent. Empty: nothing is asked for.
Result<void> check_report_folder(const std::string& folder);

// Makes the report of a failing schedule, writes all its forms into the folder and says where; nothing for an
// empty folder. `schedule_file`: what commands name; empty: the copy in the folder.
Result<void> write_report(const std::string& folder, const Schedule& schedule, const ControlSetup& setup,
                          ReportOptions options, const CommonOptions& common);

// heddle reproduce with all defaults and this report. `time`: for the cause; empty: as usual.
Result<ExitCode> reproduce_for_report(const std::string& recording, const std::string& folder,
                                      const std::string& time, const CommonOptions& common);

}  // namespace heddle
