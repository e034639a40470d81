// heddle replay: runs a schedule again, as often as wanted, and compares; or opens gdb on it.
#include <fmt/core.h>

#include "cli/control_options.h"
#include "cli/flow_text.h"
#include "driver/gdb.h"
#include "driver/replay.h"
#include "recording/flow_log.h"
#include "recording/pack.h"
#include "recording/recording_info.h"
#include "replay/interrupt.h"

namespace heddle {
namespace {

struct Options {
  ControlOptions control;
  std::string schedule;
  std::vector<std::string> program;
  uint64_t times = 1;
  bool gdb = false;
  std::vector<std::string> gdb_commands;
};

std::string what_was_reproduced(const Schedule& schedule) {
  return schedule.header.failure.empty() ? "followed" : "reproduced";
}

void print_result(const ReplayResult& result, const Schedule& schedule, const CommonOptions& common) {
  const bool all = !result.divergence && !result.interrupted;
  if (common.json) {
    print_json({{"verdict", result.interrupted ? "interrupted"
                            : all              ? what_was_reproduced(schedule)
                                               : "diverged"},
                {"runs", result.runs},
                {"reproduced", result.reproduced},
                {"expected_failure", schedule.header.failure},
                {"failure", result.first && result.first->failure ? result.first->failure->to_json() : Json()},
                {"events", result.first ? result.first->events : 0},
                {"values", result.first ? fmt::format("{:016x}", result.first->values) : ""},
                {"divergence", result.divergence ? result.divergence->to_json() : Json()},
                {"diverged_run", result.divergence ? Json(result.diverged_run) : Json()}});
    return;
  }
  if (result.first && result.first->failure && !common.quiet)
    fmt::print(stderr, "heddle: {}", result.first->failure->report());
  if (result.divergence)
    fmt::print(stderr, "heddle: run {} of {} diverged: {}", result.diverged_run, result.runs,
               result.divergence->report());
  if (result.interrupted) fmt::print(stderr, "heddle: interrupted\n");
  fmt::print(stderr, "heddle: {} {} of {} time{}{}\n", what_was_reproduced(schedule), result.reproduced,
             result.runs, result.runs == 1 ? "" : "s",
             schedule.header.failure.empty() ? "" : ": " + schedule.header.failure);
}

Result<ExitCode> run_verb(const Options& options, const CommonOptions& common) {
  const bool in_gdb = options.gdb || !options.gdb_commands.empty();
  if (in_gdb && is_flow_recording(options.schedule))
    return Error{.what = "gdb is opened on schedules, not on recordings",
                 .where = options.schedule,
                 .next = "heddle reproduce REC  (makes a schedule of it), then heddle replay SCHEDULE --gdb",
                 .exit = ExitCode::usage};
  if (is_flow_recording(options.schedule))
    return replay_flow_recording(options.schedule, options.program.empty() ? "" : options.program.front(),
                                 options.times, common);
  if (is_packed_recording(options.schedule))
    return Error{.what = "this recording is packed",
                 .where = options.schedule,
                 .next = fmt::format("heddle unpack {}, then replay the folder", options.schedule)};
  if (std::filesystem::exists(std::filesystem::path(options.schedule) / kRecordingFile))
    return Error{
        .what = "this recording has no order to replay",
        .where = options.schedule,
        .why = "only those made with record --mode flow have one",
        .next = fmt::format("heddle reproduce {}  (computes one, and writes a schedule)", options.schedule)};
  const Schedule schedule = HEDDLE_TRY(load_schedule(options.schedule));
  if (options.program.size() > 1)
    return Error{.what = "replay takes the program alone: its arguments stand in the schedule",
                 .next = "heddle run --schedule SCHEDULE -- APP ARGS  (for other arguments)",
                 .exit = ExitCode::usage};
  ControlSetup setup =
      HEDDLE_TRY(setup_schedule(schedule, options.program.empty() ? "" : options.program.front()));
  RunRules rules = HEDDLE_TRY(options.control.rules());
  rules.memory_model = schedule.header.memory_model;
  HEDDLE_TRY(set_input(setup.launch, options.control.input));
  if (in_gdb) return replay_in_gdb(schedule, setup, rules, options.gdb_commands);
  HEDDLE_TRY(options.control.apply(setup.launch));
  setup.launch.renewal = std::max(setup.launch.renewal, Renewal::fork);

  const InterruptGuard guard;
  LaunchOptions shown = setup.launch;
  shown.renewal = Renewal::start;
  shown.output = common.quiet  ? TargetOutput::discard
                 : common.json ? TargetOutput::show_apart
                               : TargetOutput::show;
  ProgramExecutor first(*setup.program, shown), others(*setup.program, setup.launch);
  const ReplayResult result =
      HEDDLE_TRY(replay(schedule, first, others, *setup.program, {.times = options.times, .rules = rules},
                        [](const ReplayResult&) {}));
  print_result(result, schedule, common);
  if (result.interrupted) return ExitCode::undecided;
  return result.divergence ? ExitCode::diverged : ExitCode::ok;
}

}  // namespace

void add_replay(VerbSet& verbs) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = verbs.add(
      "replay", "Run a schedule again and compare",
      "  heddle replay app.heddle                  once, with the program's output\n"
      "  heddle replay app.heddle --times 100      is it the same each time?\n"
      "  heddle replay app.heddle --gdb            look at it in gdb\n"
      "  heddle replay app.heddle --gdb-command heddle-next-switch --gdb-command bt\n"
      "  heddle replay app.heddle -- build/app     the program is somewhere else now\n"
      "  heddle replay app.rec                     a flow recording: the same values at every read, checked\n"
      "Exit codes: 0 the same failure and values each time, 13 it diverged or passed, 3 the schedule does "
      "not fit.",
      [options](const CommonOptions& common) { return run_verb(*options, common); });
  verb->add_option("SCHEDULE", options->schedule,
                   "A schedule that hunt, solve or run wrote, or a recording made with record --mode flow")
      ->required();
  verb->add_option("--times", options->times, "How often (default 1)")->check(whole_number(1));
  verb->add_flag("--gdb", options->gdb, "Open gdb on the replay, with real threads");
  verb->add_option("--gdb-command", options->gdb_commands,
                   "Let gdb execute this at the beginning of main() and end; may be repeated")
      ->allow_extra_args(false);
  add_launch_options(*verb, options->control);
  verb->add_option("APP", options->program, "The program, when it is not where the schedule says");
}

}  // namespace heddle
