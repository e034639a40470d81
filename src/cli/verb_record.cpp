// heddle record: runs a program on real threads, each of which logs its own way; keeps the recording of a
// failure.
#include <fmt/core.h>

#include "abi/flow.h"
#include "base/duration.h"
#include "base/process.h"
#include "base/size.h"
#include "cli/control_options.h"
#include "cli/progress_line.h"
#include "cli/record_core_mode.h"
#include "cli/recording_text.h"
#include "driver/pt_recording.h"
#include "driver/record.h"
#include "program/record_plan.h"
#include "replay/controlled_program.h"
#include "replay/interrupt.h"

namespace heddle {
namespace {

struct Options {
  std::string output, time, mode = "paths", memory_model = "sc", policy = "standard", keep, hang_timeout, input,
                            variant;
  std::optional<uint64_t> runs;
  uint64_t seed = 1;
  unsigned cores = 2;
  std::string buffer;
  bool emulate = false, snapshot = false, ptwrite = false, chaos = false, no_clock = false, sync_order = false,
       keep_passing = false, no_inputs = false;
  bool no_sequences = false, no_locks = false;
  std::vector<std::string> command;
};

Result<void> set_mode(const Options& given, RecordingOptions& recording) {
  if (given.emulate && given.mode != "pt")
    return Error{
        .what = "--emulate goes with --mode pt only", .next = "add --mode pt", .exit = ExitCode::usage};
  if ((given.snapshot || !given.buffer.empty()) && (given.mode != "pt" || given.emulate))
    return Error{.what = "--snapshot and --buffer go with --mode pt on the hardware only",
                 .next = "add --mode pt, and leave out --emulate",
                 .exit = ExitCode::usage};
  if (given.ptwrite && given.mode != "pt")
    return Error{
        .what = "--ptwrite goes with --mode pt only", .next = "add --mode pt", .exit = ExitCode::usage};
  if (given.sync_order && (given.mode != "paths" || given.no_clock))
    return Error{.what = "--sync-order goes with --mode paths only, and not with --no-clock",
                 .why = "it takes the place of the time stamps of such recordings",
                 .next = "leave one of them out",
                 .exit = ExitCode::usage};
  if (given.mode == "paths" || given.mode == "pt" || given.mode == "core") return {};
  const bool order = given.mode == "order", stride = given.mode == "stride";
  if (given.mode != "flow" && !order && !stride)
    return Error{.what = fmt::format("--mode does not know '{}'", given.mode),
                 .next = "choose one of: paths, flow, pt, core; for comparison: order, stride",
                 .exit = ExitCode::usage};
  if (given.memory_model != "sc" || recording.policy != "standard" || !given.keep.empty())
    return Error{
        .what = fmt::format("--mode {} goes with none of --memory-model, --policy and --keep", given.mode),
        .why = "it is a way of recording of its own, which orders accesses",
        .next = "leave the others out",
        .exit = ExitCode::usage};
  recording.flow = true;
  recording.sequences = !given.no_sequences && !order && !stride;
  recording.locks = !given.no_locks && !order && !stride;
  recording.baseline = order ? HEDDLE_FLOW_order : stride ? HEDDLE_FLOW_stride : HEDDLE_FLOW_itself;
  return {};
}

Result<RecordRequest> request_of(const Options& given) {
  RecordRequest request{.command = given.command,
                        .output = given.output,
                        .runs = given.runs.value_or(given.time.empty() ? 1 : UINT64_MAX),
                        .keep_passing = given.keep_passing};
  RecordingOptions& recording = request.recording;
  recording.policy = record_policy_name(HEDDLE_TRY(parse_record_policy(given.policy)));
  if (!parse_memory_model(given.memory_model))
    return Error{.what = fmt::format("--memory-model does not know '{}'", given.memory_model),
                 .next = "choose one of: sc, tso, pso",
                 .exit = ExitCode::usage};
  if (given.memory_model != "sc" && given.variant.empty() && (given.chaos || recording.policy != "standard"))
    return Error{
        .what = fmt::format("--memory-model {} goes neither with --chaos nor with another --policy",
                            given.memory_model),
        .why =
            "simulated store buffers are a way of recording of their own, which disturbs the timing by itself",
        .next = "leave one of them out",
        .exit = ExitCode::usage};
  recording.memory_model = given.memory_model;
  HEDDLE_TRY(set_mode(given, recording));
  recording.clock = !given.no_clock;
  recording.sync_order = given.sync_order;
  recording.chaos = given.chaos;
  recording.inputs = !given.no_inputs;
  recording.seed = given.seed;
  if (!given.keep.empty()) recording.keep = HEDDLE_TRY(parse_size(given.keep));
  if (!given.time.empty()) request.time = HEDDLE_TRY(parse_duration(given.time));
  if (!given.hang_timeout.empty())
    recording.hang_timeout_ms = static_cast<uint64_t>(HEDDLE_TRY(parse_duration(given.hang_timeout)).count());
  return request;
}

// Standard input is the program's own, unless several runs are to read the same.
Result<int> input_of(const Options& given, const RecordRequest& request) {
  if (given.input.empty() && request.runs == 1) return -1;
  return open_input(given.input);
}

std::string_view end_word(const RecordResult& result) {
  switch (result.end) {
    case RecordResult::End::failure:
      return "failure";
    case RecordResult::End::all_runs:
      return "no-failure";
    case RecordResult::End::out_of_time:
      return "out-of-time";
    case RecordResult::End::interrupted:
      return "interrupted";
  }
  return "";
}

ExitCode exit_code(const RecordResult& result) {
  switch (result.end) {
    case RecordResult::End::failure:
      return ExitCode::failure_found;
    case RecordResult::End::all_runs:
      return ExitCode::ok;
    default:
      return ExitCode::undecided;
  }
}

Json to_json(const RecordResult& result) {
  return {{"verdict", end_word(result)},
          {"runs", result.state.runs},
          {"seconds", static_cast<double>(result.state.elapsed.count()) / 1000},
          {"recording", result.folder.empty() ? Json() : Json(result.folder.string())},
          {"last_run", result.info.to_json()}};
}

void print_result(const RecordResult& result, const CommonOptions& common) {
  const RecordingInfo& info = result.info;
  if (info.failure) {
    fmt::print(stderr, "heddle: {}", failure_text(info));
    fmt::print(stderr, "heddle: failure {}\n", info.failure->identity);
  } else {
    std::string why;
    if (result.end == RecordResult::End::interrupted) why = "interrupted: ";
    if (result.end == RecordResult::End::out_of_time) why = "time limit: ";
    fmt::print(stderr, "heddle: {}no failure in {} ({})\n", why, counted(result.state.runs, "run"),
               duration_text(result.state.elapsed));
  }
  if (!common.quiet) {
    if (info.failure && result.state.runs > 1)
      fmt::print(stderr, "  found in run {} after {}\n", result.state.runs,
                 duration_text(result.state.elapsed));
    fmt::print(stderr, "  logs: {}\n", sizes_text(info));
    if (!info.core_file.empty()) fmt::print(stderr, "  core file: {}\n", info.core_file);
    if (info.core_file.empty() && !info.core_pattern.empty())
      fmt::print(stderr, "  the kernel wrote a core file to '{}'\n", info.core_pattern);
    if (info.forks != 0)
      fmt::print(stderr, "  {} not recorded: recording ends at fork()\n",
                 info.forks == 1 ? "1 child process was" : fmt::format("{} child processes were", info.forks));
    for (const std::string& note : info.notes) fmt::print(stderr, "  {}\n", note);
  }
  if (!result.folder.empty())
    fmt::print(stderr, "heddle: recording in {}\n  next: heddle {} {}\n", result.folder.string(),
               info.options.flow ? "replay" : "show", shell_quote({result.folder}));
}

// The program itself runs; nothing of the options of logs has a meaning there.
Result<ExitCode> run_pt(const Options& given, const RecordRequest& request, const fs::path& file,
                        const CommonOptions& common) {
  if (given.chaos || given.memory_model != "sc" || !given.keep.empty())
    return Error{
        .what = "--mode pt goes with none of --chaos, --memory-model and --keep",
        .next = given.emulate ? "leave them out; --seed decides how threads are interleaved" : "leave them out",
        .exit = ExitCode::usage};
  const InterruptGuard guard;
  ProgressLine line(!common.quiet && !common.json && request.runs > 1);
  const PtProgress progress = [&](const RecordState& state) {
    line.show_now_and_then(fmt::format("{}: {}, {}", given.emulate ? "stepping" : "tracing",
                                       counted(state.runs, "run"), duration_text(state.elapsed)));
  };
  HardwarePt hardware{.snapshot = given.snapshot, .ptwrite = given.ptwrite};
  if (!given.buffer.empty()) hardware.buffer_size = HEDDLE_TRY(parse_size(given.buffer));
  const Result<RecordResult> result =
      given.emulate
          ? record_emulated_pt(file, request, {.cores = given.cores, .ptwrite = given.ptwrite}, progress)
          : record_hardware_pt(file, request, hardware, progress);
  line.clear();
  if (!result) return result.error();
  if (common.json)
    print_json(to_json(*result));
  else
    print_result(*result, common);
  return exit_code(*result);
}

// The program itself, which nothing is put into; what is kept of it is its core.
Result<ExitCode> run_core(const Options& given, const RecordRequest& request, const fs::path& file,
                          const CommonOptions& common) {
  if (given.memory_model != "sc" || !given.keep.empty() || request.recording.policy != "standard" ||
      given.keep_passing)
    return Error{.what = "--mode core goes with none of --memory-model, --keep, --keep-passing and --policy",
                 .why = "the program runs as it is, and a core is all that is kept",
                 .next = "leave them out",
                 .exit = ExitCode::usage};
  CoreRecordRequest wanted{.run = {.executable = file, .command = given.command, .input = request.input},
                           .output = given.output,
                           .runs = request.runs,
                           .time = request.time};
  if (given.chaos) wanted.run.chaos = given.seed;
  if (request.recording.hang_timeout_ms != 0)
    wanted.run.hang_timeout = std::chrono::milliseconds(request.recording.hang_timeout_ms);
  return run_record_core(std::move(wanted), common);
}

Result<ExitCode> run_verb(const Options& given, const CommonOptions& common) {
  RecordRequest request = HEDDLE_TRY(request_of(given));
  const fs::path file = HEDDLE_TRY(find_program(given.command[0], fs::current_path()));
  request.output_to_error = common.json;
  if (given.mode == "pt") {
    request.input = HEDDLE_TRY(open_input(given.input));  // kept, so that who follows the trace can read it too
    return run_pt(given, request, file, common);
  }
  request.input = HEDDLE_TRY(input_of(given, request));
  if (given.mode == "core") return run_core(given, request, file, common);
  const std::unique_ptr<RecordedProgram> program = HEDDLE_TRY(RecordedProgram::open(
      file, given.variant.empty() ? record_variant_name(request.recording) : given.variant));
  if (common.verbose) fmt::print(stderr, "heddle: running {}\n", program->variant().string());
  const InterruptGuard guard;
  ProgressLine line(!common.quiet && !common.json && request.runs > 1);
  const Result<RecordResult> result = record(*program, request, [&](const RecordState& state) {
    line.show_now_and_then(fmt::format("recording: {}, {:.0f} per second, last {}, {}",
                                       counted(state.runs, "run"),
                                       static_cast<double>(state.runs) * 1000 /
                                           static_cast<double>(std::max<int64_t>(1, state.elapsed.count())),
                                       size_text(state.log_bytes), duration_text(state.elapsed)));
  });
  line.clear();
  if (!result) return result.error();
  if (common.json)
    print_json(to_json(*result));
  else
    print_result(*result, common);
  if (result->unwritten) return *result->unwritten;
  return exit_code(*result);
}

}  // namespace

void add_record(VerbSet& verbs) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = verbs.add(
      "record", "Run a program on real threads and keep what each did, for a failure",
      "  heddle record -- ./app input                 one run\n"
      "  heddle record --runs 1000 --chaos -- ./app   until a failure, with disturbed timing\n"
      "  heddle record --hang-timeout 10s -- ./app    a run that takes longer is a failure\n"
      "  heddle record --keep 64M -- ./server         only the last part of each thread's log\n"
      "  heddle record --keep-passing -o run.rec -- ./app\n"
      "  heddle record --mode pt --runs 50 -- ./app   Intel PT of the program as it is\n"
      "  heddle record --mode pt --emulate --runs 50 -- ./app   the same without the hardware, slowly\n"
      "  heddle record --mode pt --ptwrite --runs 50 -- ./app   with values in the trace, where the way is not "
      "enough\n"
      "  heddle record --mode core --runs 1000 --hang-timeout 10s -- ./app   a core, for heddle core\n"
      "  heddle record --mode flow -- ./app           dearer, but heddle replay REC shows the same run for "
      "certain\n"
      "Failures: death by a signal, a failed assertion, an uncaught exception, an exit code other than 0, a "
      "hang.\n"
      "Exit codes: 0 all runs were made and none failed, 10 failure, 12 a time limit or Ctrl-C came first.\n"
      "A recording holds the program's data; it is readable by its owner only.",
      [options](const CommonOptions& common) { return run_verb(*options, common); });
  verb->add_option(
      "-o,--output", options->output,
      "The folder for the recording; default APP.rec, APP.1.rec, ...: the first that is not there yet");
  verb->add_option("--runs", options->runs, "How many runs at most (default 1; no limit with --time)")
      ->check(CLI::PositiveNumber);
  verb->add_option("--time", options->time, "How long at most, such as 30s or 5m");
  verb->add_flag("--chaos", options->chaos,
                 "Disturb the threads' timing at random, which makes rare failures likelier");
  verb->add_option("--seed", options->seed,
                   "Of the disturbances of the first run; each further run has the next (default 1)")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--memory-model", options->memory_model,
                   "sc (default); tso or pso: provoke relaxed behaviour by simulated store buffers");
  verb->add_option(
      "--mode", options->mode,
      "paths (default): each thread's way, order left to heddle solve; flow: the order of accesses too, "
      "dearer, and replayed for certain; pt: Intel PT packets of the program itself, without "
      "instrumentation, by perf record on machines that have it; core: the "
      "core of a crash or hang of the program itself, whatever core_pattern and ulimit say; order, stride: "
      "baselines for comparison with flow, as LEAP and Stride record");
  verb->add_flag("--no-sequences", options->no_sequences, "For measurements: flow without its optimisation O1")
      ->group("");
  verb->add_flag("--no-locks", options->no_locks, "For measurements: flow without its optimisation O2")
      ->group("");
  verb->add_option("--policy", options->policy,
                   "standard (default); paths: no values of loads but for sizes of blocks; clap: as published, "
                   "nothing left out");
  verb->add_flag(
      "--emulate", options->emulate,
      "With --mode pt: make the packets by stepping the program, some thousand times slower than it is");
  verb->add_flag("--snapshot", options->snapshot,
                 "With --mode pt, for long runs: keep the last part of the trace only, taken at the end");
  verb->add_flag("--ptwrite", options->ptwrite,
                 "With --mode pt: run a variant that writes into the trace what addresses depend on and what "
                 "calls give (PTWRITE; newer processors have it, --emulate needs none)");
  verb->add_option("--buffer", options->buffer,
                   "With --mode pt: trace memory of each core (64K, 64M, ...; default: perf's choice)");
  verb->add_option("--cores", options->cores, "With --emulate: how many virtual cores (default 2)")
      ->check(CLI::Range(1, 64));
  verb->add_flag("--no-clock", options->no_clock, "Without time stamps");
  verb->add_flag(
      "--sync-order", options->sync_order,
      "The exact order of synchronisation calls instead of time stamps; adds an atomic operation to each");
  verb->add_option(
      "--keep", options->keep,
      "Keep the last part of each thread's log only: so much of its path and of its data (64K, 64M, ...)");
  verb->add_flag("--keep-passing", options->keep_passing,
                 "Keep the recording of the last run also without a failure");
  verb->add_option(
      "--hang-timeout", options->hang_timeout,
      "A run that takes longer is a hang, which is a failure (default: of many runs one that takes 50 times "
      "as long as those before, at least 10s; that all threads wait for each other is noticed anyway)");
  verb->add_flag("--no-inputs", options->no_inputs,
                 "Do not keep what the program reads: neither files nor the bytes that calls bring in");
  verb->add_option("--stdin", options->input,
                   "A file that each run reads as standard input; - takes all of heddle's own");
  verb->add_option("--variant", options->variant, "For tests: record with this variant")->group("");
  verb->add_option("APP", options->command, "The program and its arguments")->required();
}

}  // namespace heddle
