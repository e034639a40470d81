// heddle show: any heddle file, readable. So far: programs.
#include <fmt/core.h>

#include "cli/program_text.h"
#include "cli/verb.h"
#include "driver/program_summary.h"

namespace heddle {
namespace {

struct Options {
  std::string file;
  bool all = false;
  std::vector<std::filesystem::path> effects;
};

Result<ExitCode> run_verb(const Options& options, const CommonOptions& common) {
  const ProgramSummary summary = HEDDLE_TRY(summarise_program(options.file, options.effects));
  if (common.json)
    fmt::print("{}\n", summary.to_json().dump(2, ' ', false, Json::error_handler_t::replace));
  else
    fmt::print("{}", program_text(summary, {.all = options.all, .brief = common.quiet}));
  return ExitCode::ok;
}

}  // namespace

void add_show(VerbSet& verbs) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = verbs.add("show", "What heddle knows about a program",
                             "  heddle show ./app            summary with the first entries of each list\n"
                             "  heddle show ./app --all      everything\n"
                             "  heddle show ./app --json     everything, as data",
                             [options](const CommonOptions& common) { return run_verb(*options, common); });
  verb->add_option("FILE", options->file, "A program built with heddle cc")->required();
  verb->add_flag("--all", options->all, "Whole lists instead of their first entries");
  verb->add_option("--effects", options->effects, "More effects tables (see docs/effects.md)");
}

}  // namespace heddle
