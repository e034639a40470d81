// heddle show: any heddle file, readable.
#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/files.h"
#include "cli/control_options.h"
#include "cli/flow_text.h"
#include "cli/program_text.h"
#include "cli/recording_text.h"
#include "cli/trace_input.h"
#include "cli/verb.h"
#include "driver/control_setup.h"
#include "driver/core_summary.h"
#include "driver/program_summary.h"
#include "driver/recording_summary.h"
#include "driver/trace_summary.h"
#include "recording/flow_log.h"
#include "schedule/measures.h"
#include "schedule/schedule_text.h"
#include "trace/trace_file.h"
#include "trace/trace_text.h"

namespace heddle {
namespace {

struct Options {
  std::string file;
  bool all = false;
  std::vector<std::filesystem::path> effects;
  RecordingQuestions recording;
  bool trace = false;  // of a recording
  std::string output;
};

Result<ExitCode> show_trace(const Trace& trace, const CommonOptions& common) {
  if (common.json)
    print_json(trace_json(trace));
  else
    fmt::print("{}", trace_text(trace));
  return ExitCode::ok;
}

Result<ExitCode> make_trace(const Options& options, const CommonOptions& common) {
  const unsigned jobs = std::max(std::thread::hardware_concurrency(), 1u);
  const Trace trace = HEDDLE_TRY(trace_of_recorded(options.file, options.recording.program, jobs));
  if (options.output.empty()) return show_trace(trace, common);
  HEDDLE_TRY(save_trace(trace, options.output));
  if (!common.quiet)
    fmt::print(stderr,
               "heddle: trace in {}\n  {} accesses that may be shared, {} that are\n  next: heddle show {}\n",
               options.output, trace.accesses, trace.shared_accesses, options.output);
  return ExitCode::ok;
}

bool is_trace(const std::string& file) {
  std::string head(16, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(stream.gcount()));
  return is_trace_file(head);
}

Result<ExitCode> show_recording(const Options& options, const CommonOptions& common) {
  const RecordingSummary summary = HEDDLE_TRY(summarise_recording(options.file, options.recording));
  if (common.json)
    print_json(summary.to_json());
  else
    fmt::print("{}", recording_text(summary, {.all = options.all, .brief = common.quiet}));
  if (!common.json && is_flow_recording(options.file)) fmt::print("{}", flow_text(options.file));
  return ExitCode::ok;
}

Result<ExitCode> show_core(const Options& options, const CommonOptions& common) {
  const CoreSummary summary = HEDDLE_TRY(summarise_core(options.file));
  if (common.json)
    print_json(summary.to_json());
  else
    fmt::print("{}", summary.text());
  return ExitCode::ok;
}

bool is_schedule(const std::string& file) {
  std::string word;
  std::ifstream stream(file, std::ios::binary);
  return stream >> word && word == "heddle" && stream >> word && word == "schedule";
}

Result<ExitCode> show_schedule(const Options& options, const CommonOptions& common) {
  const Schedule schedule = HEDDLE_TRY(load_schedule(options.file));
  const ScheduleMeasures sizes = measure(schedule);
  const ScheduleHeader& header = schedule.header;
  if (common.json) {
    Json steps = Json::array();
    for (const Step& step : schedule.steps) steps.push_back(step_text(schedule, step));
    print_json({{"program", header.program},
                {"identity", header.identity},
                {"command", header.command},
                {"folder", header.folder},
                {"memory_model", text_of(header.memory_model)},
                {"failure", header.failure},
                {"measures", measures_json(sizes)},
                {"steps", std::move(steps)}});
    return ExitCode::ok;
  }
  fmt::print("{}\n  a schedule of {}, {}\n  {} and {} of {}, {}\n  next: heddle replay {}\n", options.file,
             header.program, header.failure.empty() ? "without a failure" : "failure " + header.failure,
             counted(sizes.preemptions, "preemption"), counted(sizes.segments, "segment"),
             counted(schedule.threads.size(), "thread"), counted(sizes.events, "event"), options.file);
  if (!common.quiet) fmt::print("\n{}", schedule_text(schedule));
  return ExitCode::ok;
}

Result<ExitCode> run_verb(const Options& options, const CommonOptions& common) {
  if (CoreFile::is_core(options.file)) return show_core(options, common);
  if (is_recording(options.file))
    return options.trace ? make_trace(options, common) : show_recording(options, common);
  if (options.trace || options.recording.paths || !options.recording.thread.empty() ||
      !options.recording.program.empty())
    return Error{.what = "--paths, --trace, --thread and --program are for recordings",
                 .where = options.file,
                 .next = "name a recording, or leave them out",
                 .exit = ExitCode::usage};
  if (is_schedule(options.file)) return show_schedule(options, common);
  if (is_trace(options.file)) return show_trace(HEDDLE_TRY(load_trace(options.file)), common);
  const ProgramSummary summary = HEDDLE_TRY(summarise_program(options.file, options.effects));
  if (common.json)
    print_json(summary.to_json());
  else
    fmt::print("{}", program_text(summary, {.all = options.all, .brief = common.quiet}));
  return ExitCode::ok;
}

}  // namespace

void add_show(VerbSet& verbs) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      verbs.add("show", "What heddle knows about a program, a recording, a schedule, a trace or a core",
                "  heddle show ./app            summary with the first entries of each list\n"
                "  heddle show ./app --all      everything\n"
                "  heddle show ./app --json     everything, as data\n"
                "  heddle show app.rec          a recording, as folder or packed\n"
                "  heddle show app.rec --paths --thread 0.1 --limit 200\n"
                "                               where this thread went, its last 200 lines\n"
                "  heddle show app.rec --trace -o app.trace\n"
                "                               its symbolic trace, kept in a file\n"
                "  heddle show app.heddle       a schedule: who runs when, and what fails\n"
                "  heddle show app.trace        shared accesses and what must hold of them\n"
                "  heddle show core             a core file: signal, threads, stacks",
                [options](const CommonOptions& common) { return run_verb(*options, common); });
  verb->add_option("FILE", options->file,
                   "A program built with heddle cc, a recording, a schedule, a trace, or a core")
      ->required();
  verb->add_flag("--all", options->all, "Whole lists instead of their first entries");
  verb->add_option("--effects", options->effects, "Programs: more effects tables (see docs/effects.md)");
  verb->add_flag("--paths", options->recording.paths, "Recordings: the way of each thread, as source lines");
  verb->add_option("--thread", options->recording.thread, "With --paths: only of this thread");
  verb->add_option("--limit", options->recording.limit,
                   "With --paths: so many lines of each thread, the last ones (default 50; 0: all)");
  verb->add_flag("--trace", options->trace, "Recordings: the symbolic trace, computed from it");
  verb->add_option("-o,--output", options->output, "With --trace: keep it in this file instead of showing it");
  verb->add_option("--program", options->recording.program,
                   "With --paths and --trace: where the recorded program is now, if not where it was");
}

}  // namespace heddle
