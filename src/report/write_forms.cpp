#include "base/files.h"
#include "report/forms.h"
#include "schedule/schedule_text.h"

namespace heddle {
namespace {

std::string pretty(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Result<void> write_forms(const FailureFinding& finding, const std::filesystem::path& folder,
                         const Schedule& schedule) {
  HEDDLE_TRY(make_folders(folder));
  HEDDLE_TRY(write_file(folder / "schedule.heddle", schedule_text(schedule)));
  HEDDLE_TRY(write_file(folder / "report.txt", text_form(finding)));
  HEDDLE_TRY(write_file(folder / "report.json", pretty(to_json(finding))));
  HEDDLE_TRY(write_file(folder / "report.sarif", pretty(sarif_form(finding))));
  HEDDLE_TRY(write_file(folder / "trace.json", pretty(trace_form(finding))));
  return write_file(folder / "report.html", html_form(finding));
}

}  // namespace heddle
