// heddle reproduce: from a recording, or a program that fails now and then, to a schedule that fails each time.
#include <fmt/format.h>

#include "base/duration.h"
#include "base/files.h"
#include "base/process.h"
#include "cli/control_options.h"
#include "cli/flow_text.h"
#include "cli/progress_line.h"
#include "cli/report_output.h"
#include "cli/schedule_output.h"
#include "cli/schedule_story.h"
#include "cli/solve_options.h"
#include "driver/changed_inputs.h"
#include "driver/flow_reproduce.h"
#include "driver/record.h"
#include "driver/recorded_trace.h"
#include "driver/reproduce.h"
#include "recording/flow_log.h"
#include "replay/controlled_program.h"
#include "replay/interrupt.h"
#include "solve/engines.h"

namespace heddle {
namespace {

constexpr uint64_t kRecordedRuns = 1000;

struct Options {
  SolveOptions solve;
  std::string output, shorten_time, search_time, input, report, report_time;
  uint64_t runs = kRecordedRuns;
  bool no_shorten = false;
  std::vector<std::string> what;  // a recording, or a command
};

// What a recording is of, and the trace of it.
struct Recorded {
  fs::path folder;
  RecordingInfo info;
  Trace trace;
  SymbolicStatistics statistics;
};

// Records runs with disturbed timing until one fails; nothing if none does.
Result<std::optional<fs::path>> record_failure(const Options& given, ProgressLine& line) {
  RecordRequest request{
      .command = given.what, .output_to_error = true, .hold_output = true, .runs = given.runs};
  request.recording.chaos = true;
  if (!given.solve.memory_model.empty() && given.solve.memory_model != "sc") {
    request.recording.chaos = false;
    request.recording.memory_model = given.solve.memory_model;
  }
  request.recording.hang_timeout_ms = 10'000;
  request.input = HEDDLE_TRY(open_input(given.input));
  const fs::path file = HEDDLE_TRY(find_program(given.what[0], fs::current_path()));
  const std::unique_ptr<RecordedProgram> program =
      HEDDLE_TRY(RecordedProgram::open(file, record_variant_name(request.recording)));
  const RecordResult result = HEDDLE_TRY(record(*program, request, [&](const RecordState& state) {
    line.show_now_and_then(
        fmt::format("recording: {}, {}", counted(state.runs, "run"), duration_text(state.elapsed)));
  }));
  line.clear();
  fmt::print(stderr, "{}", result.output);
  if (result.unwritten) return *result.unwritten;
  if (result.end != RecordResult::End::failure) {
    fmt::print(stderr, "heddle: {}no failure in {}\n",
               result.end == RecordResult::End::interrupted ? "interrupted: " : "",
               counted(result.state.runs, "run"));
    fmt::print(stderr,
               "  Uses of freed memory often show nothing by themselves; controlled runs "
               "notice them.\n  next: heddle hunt -- {}\n        heddle reproduce --runs {} -- {}\n",
               shell_quote(given.what), 10 * given.runs, shell_quote(given.what));
    return std::optional<fs::path>();
  }
  fmt::print(stderr, "heddle: run {} failed, recorded in {}\n", result.state.runs, result.folder.string());
  return std::optional(result.folder);
}

bool is_recording(const Options& given) {
  return given.what.size() == 1 && fs::is_regular_file(fs::path(given.what[0]) / kRecordingFile);
}

Result<Recorded> load(const fs::path& folder, const Options& given) {
  Recorded out{.folder = folder, .info = HEDDLE_TRY(read_recording_info(folder))};
  if (!out.info.failure)
    return Error{.what = "the recording holds no failure",
                 .where = folder,
                 .why = fmt::format("the run {}", recording_outcome_name(out.info.outcome)),
                 .next = "heddle record --runs 1000 --chaos -- APP"};
  out.trace =
      HEDDLE_TRY(trace_of_recording(folder, given.solve.program, {.jobs = given.solve.jobs}, out.statistics));
  if (out.trace.failure.kind == FailurePredicate::Kind::none)
    return Error{.what = "nothing in the recording says which thread failed where",
                 .where = folder,
                 .why = out.info.failure->headline,
                 .next = fmt::format("heddle show {}", shell_quote({folder}))};
  return out;
}

Result<ReproduceOptions> reproduce_options(const Options& given, const RecordingInfo& info) {
  ReproduceOptions options{.clocks = !given.solve.no_clocks && info.options.clock, .jobs = given.solve.jobs};
  const std::string model =
      given.solve.memory_model.empty() ? info.options.memory_model : given.solve.memory_model;
  options.rules = HEDDLE_TRY(ControlOptions{.memory_model = model}.rules());
  options.models = {options.rules.memory_model};
  // The processor itself has store buffers.
  if (given.solve.memory_model.empty() && options.rules.memory_model == MemoryModel::sc)
    options.models.push_back(MemoryModel::tso);
  if (info.exit_code && *info.exit_code != 0) options.rules.fail_at(static_cast<uint8_t>(*info.exit_code));
  if (!given.solve.time.empty()) options.time = HEDDLE_TRY(parse_duration(given.solve.time));
  if (!given.solve.improve.empty()) options.improve = HEDDLE_TRY(parse_duration(given.solve.improve));
  if (!given.shorten_time.empty()) options.shorten_time = HEDDLE_TRY(parse_duration(given.shorten_time));
  options.shorten = !given.no_shorten;
  options.search = std::chrono::seconds(20);
  if (!given.search_time.empty()) options.search = HEDDLE_TRY(parse_duration(given.search_time));
  if (options.time) options.search = std::min(options.search, *options.time);
  return options;
}

std::string_view end_word(ReproduceResult::End end) {
  switch (end) {
    case ReproduceResult::End::reproduced:
      return "reproduced";
    case ReproduceResult::End::impossible:
      return "impossible";
    case ReproduceResult::End::undecided:
      return "undecided";
    case ReproduceResult::End::not_reproduced:
      return "not-reproduced";
  }
  return "";
}

ExitCode exit_code(ReproduceResult::End end) {
  switch (end) {
    case ReproduceResult::End::reproduced:
      return ExitCode::ok;
    case ReproduceResult::End::impossible:
      return ExitCode::impossible;
    case ReproduceResult::End::undecided:
      return ExitCode::undecided;
    case ReproduceResult::End::not_reproduced:
      return ExitCode::diverged;
  }
  return ExitCode::internal;
}

Json to_json(const ReproduceResult& result, const Recorded& recorded, const std::string& output) {
  Json attempts = Json::array();
  for (const ReproduceAttempt& attempt : result.attempts) {
    Json statistics = Json::object();
    for (const auto& [name, number] : attempt.answer.statistics) statistics[name] = number;
    attempts.push_back({{"memory_model", text_of(attempt.model)},
                        {"facts", facts_name(recorded.trace, attempt.clocks)},
                        {"doubted", doubted_texts(recorded.trace, attempt.clocks)},
                        {"explanation", attempt.explanation},
                        {"verdict", text_of(attempt.answer.verdict)},
                        {"seconds", static_cast<double>(attempt.solving.count()) / 1000},
                        {"switches", attempt.answer.switches},
                        {"preemptions", attempt.answer.preemptions},
                        {"fewest", attempt.answer.fewest},
                        {"why", attempt.answer.why},
                        {"replay", attempt.replay},
                        {"statistics", std::move(statistics)}});
  }
  uint64_t events = 0;
  for (const ThreadTrace& thread : recorded.trace.threads) events += thread.events.size();
  const bool reproduced = result.end == ReproduceResult::End::reproduced;
  const Confirmation& confirmation = result.confirmation;
  return {{"verdict", end_word(result.end)},
          {"recording", recorded.folder.string()},
          {"recorded_failure", recorded.info.failure->identity},
          {"events", events},
          {"shared_accesses", recorded.trace.shared_accesses},
          {"approximations", recorded.trace.approximations.size()},
          {"changed_inputs", changed_inputs(recorded.info, recorded.folder)},
          {"attempts", std::move(attempts)},
          {"searched_runs", result.searched},
          {"found_by_search", result.found_by_search},
          {"failure", reproduced ? confirmation.best.failure->to_json() : Json()},
          {"match", result.matched == FailureMatch::same ? "same"
                    : reproduced                         ? "cause"
                                                         : "none"},
          {"confirmed", confirmation.confirmed},
          {"measures", reproduced ? measures_json(measure(confirmation.best.schedule)) : Json()},
          {"schedule", output.empty() ? Json() : Json(output)}};
}

void print_attempts(const ReproduceResult& result, const Trace& trace) {
  for (const ReproduceAttempt& attempt : result.attempts) {
    if (!attempt.explanation.empty()) fmt::print(stderr, "  if {},\n", attempt.explanation);
    fmt::print(stderr, "  {}, {}: {}", text_of(attempt.model), clock_use_text(trace, attempt.clocks),
               attempt.answer.verdict == SolveVerdict::found ? "an order" : text_of(attempt.answer.verdict));
    if (!attempt.answer.why.empty()) fmt::print(stderr, " ({})", attempt.answer.why);
    fmt::print(stderr, " after {}", duration_text(attempt.solving));
    fmt::print(stderr, "{}{}\n", attempt.replay.empty() ? "" : "; ", attempt.replay);
  }
}

void print_reproduced(const ReproduceResult& result, const Recorded& recorded, const ReproduceOptions& options,
                      const CodeNames& names, const OwnPlaces& own, const std::string& output) {
  const Confirmation& confirmation = result.confirmation;
  const ScheduleMeasures measures = measure(confirmation.best.schedule);
  fmt::print(stderr, "heddle: {}", confirmation.best.failure->report());
  fmt::print(stderr, "heddle: reproduced: {}\n", confirmation.best.failure->identity);
  if (result.matched == FailureMatch::cause)
    fmt::print(stderr, "  the recording has what came of it: {}\n", recorded.info.failure->identity);
  const ReproduceAttempt& attempt = result.attempts.back();
  if (result.found_by_search)
    fmt::print(stderr, "  by run {} of a search: no order that was computed from the recording led there\n",
               result.searched);
  else if (attempt.model != options.models.front())
    fmt::print(stderr, "  under {}: proved impossible under {}, so store buffers have their part in it\n",
               text_of(attempt.model), text_of(options.models.front()));
  if (!attempt.explanation.empty() && !result.found_by_search)
    fmt::print(stderr, "  found by trying: {}\n", attempt.explanation);
  const SolveAnswer& answer = attempt.answer;
  const bool fewest = !result.found_by_search && answer.fewest && answer.preemptions == measures.preemptions;
  fmt::print(
      stderr, "  {} and {}, {}{}\n", counted(measures.preemptions, "preemption"),
      measures.switches == 1 ? "1 switch" : fmt::format("{} switches", measures.switches),
      fewest ? "proved to be the fewest" : "the fewest that were found",
      result.found_by_search ? "" : fmt::format("; an order was found in {}", duration_text(attempt.solving)));
  fmt::print(stderr, "  replayed in fresh processes: the same failure {} of {} times\n{}",
             confirmation.confirmed, options.confirmations,
             schedule_story(result.told ? *result.told : confirmation.best, names, own));
  if (confirmation.confirmed < options.confirmations)
    fmt::print(stderr,
               "  Not each time: the program depends on something that its runs leave behind or that changes, "
               "such as files. "
               "See\n  heddle replay, which says where runs differ.\n");
  fmt::print(stderr, "{}", schedule_next_text(output));
}

void print_result(const ReproduceResult& result, const Recorded& recorded, const ReproduceOptions& options,
                  const CodeNames& names, const OwnPlaces& own, const std::string& output) {
  if (result.end == ReproduceResult::End::reproduced)
    return print_reproduced(result, recorded, options, names, own, output);
  fmt::print(stderr, "heddle: {}\n", recorded.info.failure->headline);
  switch (result.end) {
    case ReproduceResult::End::impossible:
      fmt::print(stderr, "heddle: proved impossible under {}: no order of the recorded events leads there\n",
                 text_of(options.models.back()));
      if (options.models.back() == MemoryModel::sc)
        fmt::print(stderr, "  next: heddle reproduce --memory-model {} {}\n",
                   recorded.info.options.memory_model == "pso" ? "pso" : "tso", shell_quote({recorded.folder}));
      else if (recorded.info.options.memory_model == "sc")
        fmt::print(stderr,
                   "  It happened all the same, so heddle knows less of the program than it believes: please "
                   "report it\n");
      break;
    case ReproduceResult::End::not_reproduced:
      fmt::print(stderr, "heddle: not reproduced: an order was found, but no run showed the failure\n");
      break;
    default:
      fmt::print(stderr, "heddle: {}\n", interrupted() ? "interrupted" : "undecided");
  }
  print_attempts(result, recorded.trace);
  if (result.searched != 0)
    fmt::print(stderr, "  {} in other orders did not show it either\n",
               counted(result.searched, "controlled run"));
  if (recorded.statistics.mismatches != 0)
    fmt::print(stderr, "  computed otherwise than recorded in {}, so the trace is not exact: {}\n",
               counted(recorded.statistics.mismatches, "place"), recorded.statistics.first_mismatch);
  for (size_t i = 0; i < recorded.trace.approximations.size() && i < 3; ++i)
    fmt::print(stderr, "  approximation: {}\n", recorded.trace.approximations[i].what);
}

// What the way from the recording to the schedule took for granted.
std::vector<std::string> assumptions(const ReproduceResult& result, const Recorded& recorded,
                                     const ReproduceOptions& options) {
  std::vector<std::string> out;
  if (result.found_by_search)
    return {fmt::format(
        "Nothing: no order computed from the recording led to the failure; run {} of a search showed it.",
        result.searched)};
  const ClockUse& clocks = result.attempts.back().clocks;
  if (clocks.clocks)
    out.push_back(fmt::format("The recorded {} taken for {}.",
                              recorded.trace.sync_order ? "order of synchronisation was" : "clocks were",
                              recorded.trace.sync_order ? "a fact" : "facts"));
  if (!result.attempts.back().explanation.empty())
    out.push_back(fmt::format("No run showed the failure by what threads did to memory alone; tried was: {}.",
                              result.attempts.back().explanation));
  for (const std::string& stamp : doubted_texts(recorded.trace, clocks))
    out.push_back("Not taken for a fact, since it contradicts the rest: " + stamp + ".");
  if (result.attempts.back().model != options.models.front())
    out.push_back(fmt::format("Proved impossible under {}, so store buffers have their part in it.",
                              text_of(options.models.front())));
  if (result.matched == FailureMatch::cause)
    out.push_back(fmt::format("The recording has what came of it: {}", recorded.info.failure->identity));
  constexpr size_t kMost = 10;
  const auto& approximations = recorded.trace.approximations;
  for (size_t i = 0; i < approximations.size() && i < kMost; ++i)
    out.push_back("Approximation while the recorded threads were followed: " + approximations[i].what);
  if (approximations.size() > kMost)
    out.push_back(fmt::format("{} more approximations.", approximations.size() - kMost));
  return out;
}

void print_flow_result(const FlowReproduction& result, const RecordingInfo& info, const fs::path& recording,
                       const std::string& output, const CommonOptions& common) {
  const bool made = result.matched != FailureMatch::none;
  const Execution& best = result.confirmation.best;
  if (common.json) {
    print_json({{"verdict", made ? "reproduced" : "diverged"},
                {"replayed", true},
                {"recorded_failure", info.failure->identity},
                {"failure", made ? best.failure->to_json() : Json()},
                {"why", result.why},
                {"confirmed", result.confirmation.confirmed},
                {"measures", made ? measures_json(measure(best.schedule)) : Json()},
                {"schedule", output.empty() ? Json() : Json(output)}});
  } else if (made) {
    const ScheduleMeasures measures = measure(best.schedule);
    fmt::print(stderr, "heddle: {}heddle: under control too: {}, {} switches; shown again {} times\n",
               best.failure->report(), counted(measures.preemptions, "preemption"), measures.switches,
               result.confirmation.confirmed);
    fmt::print(stderr, "{}", schedule_next_text(output));
  } else {
    fmt::print(stderr,
               "heddle: the recording replays, but a controlled run in its order did not fail so: {}\n  What "
               "came from "
               "outside is computed anew there: time, other processes.\n  next: heddle replay {}\n",
               result.why, shell_quote({recording.string()}));
  }
}

// A flow recording replays as it is, and nothing is to be solved; a controlled run that follows the order of
// the replay makes a schedule of it.
Result<ExitCode> run_flow(const Options& given, const CommonOptions& common) {
  const fs::path folder = given.what[0];
  const RecordingInfo info = HEDDLE_TRY(read_recording_info(folder));
  if (!info.failure) return replay_flow_recording(folder, given.solve.program, 3, common);
  HEDDLE_TRY(check_output(given.output));
  HEDDLE_TRY(check_report_folder(given.report));
  CommonOptions silent = common;
  if (common.json) silent.json = false, silent.quiet = true;
  Guide guide;
  const ExitCode replayed = HEDDLE_TRY(replay_flow_recording(folder, given.solve.program, 3, silent, &guide));
  if (replayed != ExitCode::ok) return replayed;
  const InterruptGuard guard;
  const ReproduceOptions options = HEDDLE_TRY(reproduce_options(given, info));
  ControlSetup setup = HEDDLE_TRY(setup_recording(info, folder, given.solve.program));
  HEDDLE_TRY(set_input(setup.launch, given.input));
  ProgramExecutor executor(*setup.program, setup.launch);
  FlowReproduceOptions flow_options{.rules = options.rules, .confirmations = options.confirmations};
  if (options.shorten) flow_options.shorten = options.shorten_time;
  const FlowReproduction result = HEDDLE_TRY(reproduce_flow(guide, *info.failure, executor, flow_options));
  const Schedule& schedule = result.confirmation.best.schedule;
  const bool made = result.matched != FailureMatch::none && result.confirmation.best.schedule_complete;
  ScheduleOutput output(setup.program->executable(), given.output);
  if (made) output.save(schedule);
  print_flow_result(result, info, folder, output.file(), common);
  if (!made) return interrupted() ? ExitCode::undecided : ExitCode::diverged;
  ReportOptions report_options{.rules = options.rules, .origin = "reproduce", .schedule_file = output.file()};
  if (!given.report_time.empty()) report_options.time = HEDDLE_TRY(parse_duration(given.report_time));
  HEDDLE_TRY(write_report(given.report, schedule, setup, report_options, common));
  HEDDLE_TRY(output.written());
  return ExitCode::ok;
}

Result<ExitCode> run_verb(const Options& given, const CommonOptions& common) {
  if (is_recording(given) && is_flow_recording(given.what[0])) return run_flow(given, common);
  const std::unique_ptr<Engine> engine = HEDDLE_TRY(make_engine(given.solve.engine));
  HEDDLE_TRY(check_output(given.output));
  HEDDLE_TRY(check_report_folder(given.report));
  const InterruptGuard guard;
  ProgressLine line(!common.quiet && !common.json);
  fs::path folder = given.what[0];
  if (!is_recording(given)) {
    const std::optional<fs::path> recorded = HEDDLE_TRY(record_failure(given, line));
    if (!recorded) return interrupted() ? ExitCode::undecided : ExitCode::ok;
    folder = *recorded;
  }
  line.show("following each thread");
  const Recorded recorded = HEDDLE_TRY(load(folder, given));
  const ReproduceOptions options = HEDDLE_TRY(reproduce_options(given, recorded.info));
  ControlSetup setup = HEDDLE_TRY(setup_recording(recorded.info, recorded.folder, given.solve.program));
  if (!common.quiet && !common.json) {
    line.clear();
    for (const std::string& input : changed_inputs(recorded.info, recorded.folder))
      fmt::print(stderr, "heddle: {}\n", input);
  }
  HEDDLE_TRY(set_input(setup.launch, given.input));
  ProgramExecutor executor(*setup.program, setup.launch);
  ScheduleOutput output(setup.program->executable(), given.output);
  ReproduceEvents events;
  events.progress = [&](const std::string& text) { line.show_now_and_then(text); };
  events.found = [&](const Execution& execution) {
    if (execution.schedule_complete) output.save(execution.schedule);
  };
  const Result<ReproduceResult> result =
      reproduce(recorded.trace, *recorded.info.failure, *engine, executor, options, events);
  if (!result) {
    line.clear();
    return result.error();
  }
  OwnPlaces own;
  if (result->told && !common.json) {
    RunRules rules = options.rules;
    rules.memory_model = result->attempts.back().model;
    own = HEDDLE_TRY(own_places(*result->told, foreign_events(*result->told, *setup.program), executor, rules));
  }
  line.clear();
  if (common.json)
    print_json(to_json(*result, recorded, output.file()));
  else
    print_result(*result, recorded, options, *setup.program, own, output.file());
  if (result->end == ReproduceResult::End::reproduced && result->confirmation.best.schedule_complete) {
    ReportOptions report_options{.rules = options.rules, .origin = "reproduce", .schedule_file = output.file()};
    if (!given.report_time.empty()) report_options.time = HEDDLE_TRY(parse_duration(given.report_time));
    report_options.assumptions = assumptions(*result, recorded, options);
    HEDDLE_TRY(write_report(given.report, result->confirmation.best.schedule, setup, report_options, common));
  }
  HEDDLE_TRY(output.written());
  return exit_code(result->end);
}

}  // namespace

Result<ExitCode> reproduce_for_report(const std::string& recording, const std::string& folder,
                                      const std::string& time, const CommonOptions& common) {
  Options options{.report = folder, .report_time = time, .what = {recording}};
  options.output = (fs::path(folder) / "schedule.heddle").string();
  return run_verb(options, common);
}

void add_reproduce(VerbSet& verbs) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = verbs.add(
      "reproduce", "From a recorded failure to a schedule that fails each time",
      "  heddle reproduce app.rec                    a recording that heddle record made\n"
      "  heddle reproduce -- ./app input             record runs until one fails, then the same\n"
      "  heddle reproduce --memory-model tso app.rec with store buffers, as on x86\n"
      "Exit codes: 0 reproduced (or no run failed), 11 proved impossible under the memory model, 12 undecided, "
      "13 an\norder was found but no run showed the failure.",
      [options](const CommonOptions& common) { return run_verb(*options, common); });
  verb->add_option(
      "-o,--output", options->output,
      "Where the schedule goes; default APP.heddle, APP.1.heddle, ...: the first that is not there yet");
  add_solve_options(*verb, options->solve);
  verb->add_option(
      "--memory-model", options->solve.memory_model,
      "sc, tso or pso (default: that of the recording; of one that the processor made, sc, then tso)");
  add_report_option(*verb, options->report);
  verb->add_flag("--no-shorten", options->no_shorten, "Keep the schedule as it was found");
  verb->add_option(
      "--search-time", options->search_time,
      "How long controlled runs look for the failure if no order leads to it (default 20s, at most --time; 0s: "
      "not at all)");
  verb->add_option(
          "--shorten-time", options->shorten_time,
          "How long to look for shorter schedules (default 20s; within --time, but for one second in any case)")
      ->check(duration_value());
  verb->add_option("--runs", options->runs, "How many runs to record at most (default 1000)")
      ->check(whole_number(1));
  verb->add_option("--stdin", options->input,
                   "A file that each run reads as standard input; - takes all of heddle's own");
  verb->add_option("WHAT", options->what, "A recording, or the program and its arguments")->required();
}

}  // namespace heddle
