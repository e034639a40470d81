#include "cli/report_output.h"

#include <fmt/core.h>
#include <unistd.h>

#include "base/files.h"
#include "cli/control_options.h"
#include "cli/progress_line.h"
#include "report/forms.h"
#include "base/safe_text.h"

namespace heddle {

void add_report_option(CLI::App& verb, std::string& folder) {
  verb.add_option("--report", folder,
                  "Write a report of the failure into this folder: report.html and other forms");
}

Result<void> check_report_folder(const std::string& folder) {
  if (folder.empty()) return {};
  const std::string next = "name another folder";
  std::error_code ignored;
  if (fs::exists(folder, ignored) && !fs::is_directory(folder, ignored))
    return Error{.what = "the report cannot be written: this is no folder", .where = folder, .next = next};
  if (Result<void> made = make_folders(folder); !made) {
    Error error = std::move(made).error();
    error.next = next;
    return error;
  }
  if (::access(folder.c_str(), W_OK) == 0) return {};
  Error error = system_error("the report cannot be written", folder);
  error.next = next;
  return error;
}

Result<void> write_report(const std::string& folder, const Schedule& schedule, const ControlSetup& setup,
                          ReportOptions options, const CommonOptions& common) {
  if (folder.empty()) return {};
  ProgressLine line(!common.quiet && !common.json);
  options.progress = [&](const std::string& text) { line.show_now_and_then(text); };
  if (options.schedule_file.empty()) options.schedule_file = (fs::path(folder) / "schedule.heddle").string();
  ProgramExecutor executor(*setup.program, setup.launch);
  Result<ReportResult> result = report(schedule, executor, *setup.program, options);
  line.clear();
  if (!result) return std::move(result).error();
  if (!result->finding) {
    fmt::print(
        stderr, "heddle: no report: the failure did not come again{}\n",
        result->last.outcome == Outcome::passed ? "" : fmt::format(" ({})", unfinished_text(result->last)));
    return {};
  }
  HEDDLE_TRY(write_forms(*result->finding, folder, schedule));
  if (!common.json) {
    fmt::print(stderr, "heddle: {}\n", for_terminal(result->finding->headline));
    fmt::print(stderr, "heddle: report in {}\n", for_terminal((fs::path(folder) / "report.html").string()));
  }
  return {};
}

}  // namespace heddle
