// heddle report: why a schedule fails, as text and in other forms.
#include <fmt/core.h>

#include "base/duration.h"
#include "base/files.h"
#include "base/process.h"
#include "base/safe_text.h"
#include "cli/control_options.h"
#include "cli/progress_line.h"
#include "cli/report_output.h"
#include "recording/recording_info.h"
#include "replay/interrupt.h"
#include "report/forms.h"

namespace heddle {
namespace {

struct Options {
  ControlOptions control;
  std::string what, output, time;
  std::vector<std::string> program;
};

// app.heddle -> app.report, in the current folder.
std::string default_folder(const std::string& what) {
  return fs::path(what).lexically_normal().stem().string() + ".report";
}

Result<ExitCode> run_verb(const Options& options, const CommonOptions& common) {
  const std::string folder = options.output.empty() ? default_folder(options.what) : options.output;
  HEDDLE_TRY(check_report_folder(folder));
  if (fs::is_regular_file(fs::path(options.what) / kRecordingFile)) {
    if (!options.program.empty())
      return Error{.what = "the program of a recording is given otherwise",
                   .next = "heddle reproduce --program APP --report DIR REC",
                   .exit = ExitCode::usage};
    return reproduce_for_report(options.what, folder, options.time, common);
  }
  if (options.program.size() > 1)
    return Error{.what = "report takes the program alone: its arguments stand in the schedule",
                 .next = "heddle report SCHEDULE -- APP",
                 .exit = ExitCode::usage};
  const Schedule schedule = HEDDLE_TRY(load_schedule(options.what));
  ControlSetup setup =
      HEDDLE_TRY(setup_schedule(schedule, options.program.empty() ? "" : options.program.front()));
  HEDDLE_TRY(options.control.apply(setup.launch));
  HEDDLE_TRY(set_input(setup.launch, options.control.input));
  ReportOptions report_options{.rules = HEDDLE_TRY(options.control.rules()), .schedule_file = options.what};
  if (!options.time.empty()) report_options.time = HEDDLE_TRY(parse_duration(options.time));

  const InterruptGuard guard;
  ProgressLine line(!common.quiet && !common.json);
  report_options.progress = [&](const std::string& text) { line.show_now_and_then(text); };
  ProgramExecutor executor(*setup.program, setup.launch);
  Result<ReportResult> result = report(schedule, executor, *setup.program, report_options);
  line.clear();
  if (!result) return std::move(result).error();
  if (!result->finding) {
    const Outcome outcome = result->last.outcome;
    fmt::print(stderr, "heddle: no report: {}\n",
               outcome == Outcome::passed   ? "the run of this schedule does not fail"
               : outcome == Outcome::failed ? "the run is too long for its schedule to be kept"
                                            : unfinished_text(result->last));
    return outcome == Outcome::passed || outcome == Outcome::diverged ? ExitCode::diverged
                                                                      : ExitCode::undecided;
  }
  HEDDLE_TRY(write_forms(*result->finding, folder, schedule));
  if (common.json)
    print_json(to_json(*result->finding));
  else if (!common.quiet)
    fmt::print("{}", text_form(*result->finding));
  if (!common.json)
    fmt::print(stderr, "heddle: report in {}\n", for_terminal((fs::path(folder) / "report.html").string()));
  return ExitCode::ok;
}

}  // namespace

void add_report(VerbSet& verbs) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = verbs.add(
      "report", "Why it fails: text, HTML, JSON, SARIF, a trace for Perfetto",
      "  heddle report app.heddle                  a schedule that hunt, check, reproduce or run wrote\n"
      "  heddle report app.rec -o folder           a recording: reproduces it first\n"
      "  heddle report app.heddle --time 1m        look longer for the cause (default 10s)\n"
      "  heddle report app.heddle --json           the finding as data (docs/report.md)\n"
      "Writes report.html, report.txt, report.json, report.sarif, trace.json and schedule.heddle into the "
      "folder.\n"
      "Exit codes: 0 written, 13 the schedule diverged or passed, 12 interrupted before it failed, 3 it does "
      "not fit; of a\n"
      "recording those of reproduce.",
      [options](const CommonOptions& common) { return run_verb(*options, common); });
  verb->add_option("WHAT", options->what, "A schedule or a recording")->required();
  verb->add_option("-o,--output", options->output, "The folder for the report; default NAME.report");
  verb->add_option("--time", options->time, "How long to look for the cause at most (default 10s)")
      ->check(duration_value());
  add_launch_options(*verb, options->control);
  verb->add_option("APP", options->program, "The program, when it is not where the schedule says");
}

}  // namespace heddle
