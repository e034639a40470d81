// heddle import: a perf.data file with an Intel PT trace that was made elsewhere becomes a recording.
// heddle pt-run: what perf starts in the program's place (driver/perf_record.h); not for people.
#include <fmt/core.h>
#include <unistd.h>

#include <cstring>

#include "base/duration.h"
#include "base/files.h"
#include "base/process.h"
#include "cli/control_options.h"
#include "cli/recording_text.h"
#include "cli/verb.h"
#include "driver/pt_recording.h"
#include "pt/waited_process.h"
#include "replay/controlled_program.h"

namespace heddle {
namespace {

struct ImportOptions {
  std::string trace, output, signal;
  std::optional<int> exit_code;
  std::vector<std::string> command;
};

// "SIGSEGV", "SEGV" or "11".
Result<int> parse_signal(const std::string& text) {
  const std::string name = text.starts_with("SIG") ? text.substr(3) : text;
  for (int number = 1; number < 32; ++number)
    if (const char* known = ::sigabbrev_np(number);
        (known != nullptr && name == known) || name == std::to_string(number))
      return number;
  return Error{.what = fmt::format("--signal does not know '{}'", text),
               .next = "a name such as SEGV, or a number",
               .exit = ExitCode::usage};
}

Result<ExitCode> import_verb(const ImportOptions& given, const CommonOptions& common) {
  const fs::path file = HEDDLE_TRY(find_program(given.command[0], fs::current_path()));
  RecordRequest request{.command = given.command, .output = given.output};
  TracedEnd end{.exit_code = given.exit_code.value_or(0)};
  if (!given.signal.empty()) end.signal = HEDDLE_TRY(parse_signal(given.signal));
  const RecordResult result = HEDDLE_TRY(import_pt(file, request, given.trace, end));
  if (common.json) {
    print_json({{"recording", result.folder.string()}, {"last_run", result.info.to_json()}});
  } else {
    if (result.info.failure)
      fmt::print(stderr, "heddle: {}heddle: failure {}\n", failure_text(result.info),
                 result.info.failure->identity);
    else
      fmt::print(
          stderr,
          "heddle: the trace shows no failure; if there was one, say how the program ended: --signal SEGV "
          "or --exit-code 1\n");
    for (const RecordedThread& thread : result.info.threads)
      if (!common.quiet && !thread.stop.empty())
        fmt::print(stderr, "  thread {}: {}\n", thread.name, thread.stop);
    fmt::print(stderr, "heddle: recording in {}\n  next: heddle {} {}\n", result.folder.string(),
               result.info.failure ? "reproduce" : "show", shell_quote({result.folder}));
  }
  return result.info.failure ? ExitCode::failure_found : ExitCode::ok;
}

struct PtRunOptions {
  std::string status, hang_timeout;
  std::vector<std::string> command;
};

Result<ExitCode> pt_run_verb(const PtRunOptions& given) {
  constexpr int kErrors = 9;  // where perf_record.cpp has put ours
  if (::dup2(kErrors, STDERR_FILENO) >= 0) ::close(kErrors);
  std::optional<std::chrono::milliseconds> limit;
  if (!given.hang_timeout.empty()) limit = HEDDLE_TRY(parse_duration(given.hang_timeout));
  const TracedEnd end = HEDDLE_TRY(run_and_wait(given.command, limit));
  HEDDLE_TRY(write_file(given.status, end.to_json().dump()));
  return ExitCode::ok;
}

}  // namespace

void add_import(VerbSet& verbs) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* verb = verbs.add(
      "import", "Make a recording of an Intel PT trace from elsewhere (perf.data)",
      "  perf record -e intel_pt/cyc,noretcomp/u --switch-events -o trace.data -- ./app   on the machine with "
      "PT\n"
      "  heddle import trace.data -- ./app\n"
      "  heddle import trace.data --signal SEGV -o run.rec -- ./app input\n"
      "APP is the same executable, as heddle cc made it, and its arguments as they were there.\n"
      "How the program ended is not in a trace. Failed assertions, abort and uncaught exceptions are seen by "
      "where\n"
      "threads stand; other failures must be said.\n"
      "Exit codes: 10 a recording of a failure was made, 0 one without a failure.",
      [options](const CommonOptions& common) { return import_verb(*options, common); });
  verb->add_option("TRACE", options->trace, "The file that perf record wrote")->required();
  verb->add_option("-o,--output", options->output,
                   "The folder for the recording; default APP.rec, APP.1.rec, ...");
  verb->add_option("--signal", options->signal, "The signal that the program died of: SEGV, FPE, 11, ...");
  verb->add_option("--exit-code", options->exit_code, "What the program exited with")
      ->check(CLI::Range(0, 255));
  verb->add_option("APP", options->command, "The program and its arguments")->required();

  auto run = std::make_shared<PtRunOptions>();
  CLI::App* inner = verbs.add("pt-run", "Runs a program for record --mode pt", "",
                              [run](const CommonOptions&) { return pt_run_verb(*run); });
  inner->group("");
  inner->add_option("STATUS", run->status)->required();
  inner->add_option("--hang-timeout", run->hang_timeout);
  inner->add_option("APP", run->command)->required();
}

}  // namespace heddle
