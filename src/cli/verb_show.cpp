// heddle show: any heddle file, readable. So far: programs and recordings.
#include <fmt/core.h>

#include "cli/control_options.h"
#include "cli/program_text.h"
#include "cli/recording_text.h"
#include "cli/verb.h"
#include "driver/program_summary.h"
#include "driver/recording_summary.h"

namespace heddle {
namespace {

struct Options {
  std::string file;
  bool all = false;
  std::vector<std::filesystem::path> effects;
  RecordingQuestions recording;
};

Result<ExitCode> show_recording(const Options& options, const CommonOptions& common) {
  const RecordingSummary summary = HEDDLE_TRY(summarise_recording(options.file, options.recording));
  if (common.json)
    print_json(summary.to_json());
  else
    fmt::print("{}", recording_text(summary, {.all = options.all, .brief = common.quiet}));
  return ExitCode::ok;
}

Result<ExitCode> run_verb(const Options& options, const CommonOptions& common) {
  if (is_recording(options.file)) return show_recording(options, common);
  if (options.recording.paths || !options.recording.thread.empty() || !options.recording.program.empty())
    return Error{.what = "--paths, --thread and --program are for recordings",
                 .where = options.file,
                 .next = "name a recording, or leave them out",
                 .exit = ExitCode::usage};
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
  CLI::App* verb = verbs.add("show", "What heddle knows about a program or a recording",
                             "  heddle show ./app            summary with the first entries of each list\n"
                             "  heddle show ./app --all      everything\n"
                             "  heddle show ./app --json     everything, as data\n"
                             "  heddle show app.rec          a recording, as folder or packed\n"
                             "  heddle show app.rec --paths --thread 0.1 --limit 200\n"
                             "                               where this thread went, its last 200 lines",
                             [options](const CommonOptions& common) { return run_verb(*options, common); });
  verb->add_option("FILE", options->file, "A program built with heddle cc, or a recording")->required();
  verb->add_flag("--all", options->all, "Whole lists instead of their first entries");
  verb->add_option("--effects", options->effects, "Programs: more effects tables (see docs/effects.md)");
  verb->add_flag("--paths", options->recording.paths, "Recordings: the way of each thread, as source lines");
  verb->add_option("--thread", options->recording.thread, "With --paths: only of this thread");
  verb->add_option("--limit", options->recording.limit,
                   "With --paths: so many lines of each thread, the last ones (default 50; 0: all)");
  verb->add_option("--program", options->recording.program,
                   "With --paths: where the recorded program is now, if not where it was");
}

}  // namespace heddle
