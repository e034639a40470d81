// heddle hunt: controlled runs until one fails; writes and shortens its schedule.
#include <fmt/core.h>

#include "base/duration.h"
#include "cli/control_options.h"
#include "cli/progress_line.h"
#include "cli/report_output.h"
#include "cli/schedule_output.h"
#include "driver/hunt.h"
#include "replay/interrupt.h"

namespace heddle {
namespace {

constexpr uint64_t kDefaultMaxEvents = 10'000'000;

struct Options {
  ControlOptions control{.max_events = kDefaultMaxEvents};
  std::string strategy, time, shorten_time, output, report;
  std::optional<uint64_t> runs;
  uint64_t seed = 1;
  bool no_shorten = false;
  std::vector<std::string> command;
};

std::string progress_text(const HuntState& state) {
  const double seconds = std::max(1e-3, static_cast<double>(state.elapsed.count()) / 1000);
  return fmt::format("hunting: {}, {:.0f} per second, {}, longest {}, {}", counted(state.runs, "run"),
                     static_cast<double>(state.runs) / seconds, state.strategy, counted(state.longest, "event"),
                     duration_text(state.elapsed));
}

Result<HuntOptions> hunt_options(const Options& given) {
  HuntOptions options{.rules = HEDDLE_TRY(given.control.rules()), .seed = given.seed};
  if (!given.strategy.empty() && given.strategy != "mix")
    options.strategy = HEDDLE_TRY(Strategy::parse(given.strategy));
  // A limit that the user names is the only one.
  if (given.runs) {
    options.runs = *given.runs;
    options.time.reset();
  }
  if (!given.time.empty()) {
    options.time = HEDDLE_TRY(parse_duration(given.time));
    if (!given.runs) options.runs = UINT64_MAX;
  }
  if (!given.shorten_time.empty()) options.shorten_time = HEDDLE_TRY(parse_duration(given.shorten_time));
  options.shorten = !given.no_shorten;
  return options;
}

std::string_view end_word(const HuntResult& result) {
  switch (result.end) {
    case HuntResult::End::failure:
      return "failure";
    case HuntResult::End::all_runs:
      return result.state.cut_off == 0 ? "no-failure" : "limit";
    case HuntResult::End::out_of_time:
      return "out-of-time";
    case HuntResult::End::interrupted:
      return "interrupted";
    case HuntResult::End::stopped:
      return verdict_word(result.last.outcome);
  }
  return "";
}

ExitCode exit_code(const HuntResult& result) {
  switch (result.end) {
    case HuntResult::End::failure:
      return ExitCode::failure_found;
    case HuntResult::End::all_runs:
      return result.state.cut_off == 0 ? ExitCode::ok : ExitCode::undecided;
    case HuntResult::End::stopped:
      return exit_code_of(result.last);
    case HuntResult::End::out_of_time:
    case HuntResult::End::interrupted:
      break;
  }
  return ExitCode::undecided;
}

Json to_json(const HuntResult& result, const ProgramExecutor& executor, const HuntOptions& options,
             const std::string& output) {
  const HuntState& state = result.state;
  const bool found = result.end == HuntResult::End::failure;
  Json codes = Json::object();
  for (size_t i = 0; i < state.exit_codes.size(); ++i)
    if (state.exit_codes[i] != 0) codes[std::to_string(i)] = state.exit_codes[i];
  Json json = {{"verdict", end_word(result)},
               {"runs", state.runs},
               {"events", state.events},
               {"seconds", static_cast<double>(state.elapsed.count()) / 1000},
               {"longest_run", state.longest},
               {"cut_off_runs", state.cut_off},
               {"exit_codes", std::move(codes)},
               {"renewal", text_of(executor.renewal())},
               {"renewal_reason", executor.renewal_reason()},
               {"failure", found ? result.last.failure->to_json() : Json()},
               {"text", unfinished_text(result.last)}};
  if (found) {
    json["found_by"] = {
        {"strategy", result.last.schedule.header.strategy},
        {"seed", result.last.schedule.header.seed ? Json(*result.last.schedule.header.seed) : Json()}};
    json["confirmed"] = result.confirmation.confirmed;
    json["confirmations"] = options.confirmations;
    json["schedule"] = output;
    json["measures"] = measures_json(measure(result.last.schedule));
    json["before_shortening"] =
        result.confirmation.before ? measures_json(*result.confirmation.before) : Json();
    json["shortening_tries"] = result.confirmation.shorten_tries;
  }
  return json;
}

void print_failure(const HuntResult& result, const HuntOptions& options, const std::string& output,
                   bool quiet) {
  const Execution& last = result.last;
  fmt::print(stderr, "heddle: {}", last.failure->report());
  fmt::print(stderr, "heddle: failure {}\n", last.failure->identity);
  if (!quiet) {
    fmt::print(stderr, "  found in run {} ({}, seed {}) after {}\n", result.state.runs,
               last.schedule.header.strategy, last.schedule.header.seed.value_or(0),
               duration_text(result.state.elapsed));
    if (result.confirmation.after && result.confirmation.before == result.confirmation.after)
      fmt::print(stderr, "  {} and {}; no shorter schedule found\n",
                 counted(result.confirmation.after->preemptions, "preemption"),
                 counted(result.confirmation.after->segments, "segment"));
    else if (result.confirmation.before && result.confirmation.after)
      fmt::print(stderr, "  shortened from {} and {} to {} and {}{}\n",
                 counted(result.confirmation.before->preemptions, "preemption"),
                 counted(result.confirmation.before->segments, "segment"),
                 counted(result.confirmation.after->preemptions, "preemption"),
                 counted(result.confirmation.after->segments, "segment"),
                 result.confirmation.shorten_finished ? "" : " (time limit; there may be shorter ones)");
  }
  if (!last.schedule_complete)
    fmt::print(stderr, "  the run is too long for its schedule to be kept: it cannot be replayed\n");
  else if (result.confirmation.confirmed < options.confirmations)
    fmt::print(
        stderr,
        "  only {} of {} replays showed this failure again: something outside heddle's control takes part\n",
        result.confirmation.confirmed, options.confirmations);
  fmt::print(stderr, "{}", schedule_next_text(output));
}

void print_result(const HuntResult& result, const HuntOptions& options, const std::string& output,
                  const CommonOptions& common) {
  const HuntState& state = result.state;
  if (result.end == HuntResult::End::failure) {
    print_failure(result, options, output, common.quiet);
    return;
  }
  std::string why;
  if (result.end == HuntResult::End::interrupted) why = "interrupted: ";
  if (result.end == HuntResult::End::out_of_time) why = "time limit: ";
  if (result.end == HuntResult::End::stopped) {
    fmt::print(stderr, "heddle: {}\n", unfinished_text(result.last));
    why = "stopped: ";
  }
  fmt::print(stderr, "heddle: {}no failure in {} ({}, {:.0f} per second)\n", why, counted(state.runs, "run"),
             duration_text(state.elapsed),
             static_cast<double>(state.runs) * 1000 /
                 static_cast<double>(std::max<int64_t>(1, state.elapsed.count())));
  if (state.cut_off != 0)
    fmt::print(stderr, "  {} cut off after {} events (--max-events)\n",
               state.cut_off == 1 ? "1 run was" : fmt::format("{} runs were", state.cut_off),
               options.rules.max_events);
}

Result<ExitCode> run_verb(const Options& given, const CommonOptions& common) {
  const HuntOptions options = HEDDLE_TRY(hunt_options(given));
  ControlSetup setup = HEDDLE_TRY(setup_command(given.command, given.control.environment));
  HEDDLE_TRY(given.control.apply(setup.launch));
  HEDDLE_TRY(set_input(setup.launch, given.control.input));
  HEDDLE_TRY(check_output(given.output));
  HEDDLE_TRY(check_report_folder(given.report));
  const InterruptGuard guard;
  ProgramExecutor executor(*setup.program, setup.launch);
  ProgressLine line(!common.quiet && !common.json);
  const auto say = [&](const std::string& text) {
    line.clear();
    if (common.verbose) fmt::print(stderr, "heddle: {}\n", text);
  };

  ScheduleOutput output(setup.program->executable(), given.output);
  std::string told_reason;
  HuntEvents events;
  events.progress = [&](const HuntState& state) {
    if (executor.renewal_reason() != told_reason) {
      told_reason = executor.renewal_reason();
      say(fmt::format("{} per run: {}", executor.renewal() == Renewal::fork ? "a process" : "a program start",
                      told_reason));
    }
    line.show_now_and_then(progress_text(state));
  };
  events.found = [&](const Execution& execution) {
    if (execution.schedule_complete) output.save(execution.schedule);
  };
  events.shortening = [&](const Execution& execution) {
    line.show(fmt::format("found: {}; shortening", execution.failure->identity));
  };
  events.dropped = [&](const Execution& execution) {
    say(fmt::format("not shown again by fresh processes: {}; a process per run from now on",
                    execution.failure->identity));
  };
  const auto distrust = [&] {
    if (executor.renewal() != Renewal::reset) return false;
    executor.renew_by(Renewal::fork, "a failure occurred only in a process that had run before");
    return true;
  };
  const Result<HuntResult> result = hunt(executor, options, events, distrust);
  line.clear();
  if (!result) return result.error();
  if (common.json)
    print_json(to_json(*result, executor, options, output.file()));
  else
    print_result(*result, options, output.file(), common);
  if (result->end == HuntResult::End::failure && result->last.schedule_complete)
    HEDDLE_TRY(write_report(given.report, result->last.schedule, setup,
                            {.rules = options.rules, .origin = "hunt", .schedule_file = output.file()}, common));
  HEDDLE_TRY(output.written());
  return exit_code(*result);
}

}  // namespace

void add_hunt(VerbSet& verbs) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = verbs.add(
      "hunt", "Controlled runs of a program until one fails",
      "  heddle hunt -- ./app input                  up to 100000 runs and one minute, all strategies\n"
      "  heddle hunt --memory-model tso -- ./app     with store buffers, as on x86\n"
      "  heddle hunt --time 10m -o bug.heddle -- ./app\n"
      "  heddle hunt --strategy pct:3 --runs 5000 --seed 42 -- ./app\n"
      "  heddle hunt --fail-exit-code none -- ./app   exit codes do not matter\n"
      "Exit codes: 0 all runs were made and none failed, 10 failure, 12 a limit or Ctrl-C came first.",
      [options](const CommonOptions& common) { return run_verb(*options, common); });
  verb->add_option("--runs", options->runs, "How many runs at most (default 100000; no limit with --time)")
      ->check(whole_number(1));
  verb->add_option("--time", options->time,
                   "How long at most, such as 30s or 5m (default 60s; no limit with --runs)")
      ->check(duration_value());
  verb->add_option("--strategy", options->strategy,
                   "mix (default: all in turn), nonpreemptive, random, pct[:DEPTH], pos or hold");
  verb->add_option("--seed", options->seed, "Of the first run; each further run has the next (default 1)")
      ->check(whole_number());
  verb->add_option(
      "-o,--output", options->output,
      "Where the schedule of the failure goes; default APP.heddle, APP.1.heddle, ...: the first that is "
      "not there yet");
  verb->add_flag("--no-shorten", options->no_shorten, "Keep the schedule as it was found");
  verb->add_option("--shorten-time", options->shorten_time,
                   "How long to look for shorter schedules (default 20s)")
      ->check(duration_value());
  add_report_option(*verb, options->report);
  add_rule_options(*verb, options->control);
  add_launch_options(*verb, options->control);
  verb->add_option("APP", options->command, "The program and its arguments")->required();
}

}  // namespace heddle
