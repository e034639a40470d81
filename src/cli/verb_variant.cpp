// heddle variant: builds an instrumented executable and says where it is, or runs it.
#include <fmt/core.h>

#include "base/json.h"
#include "base/process.h"
#include "build/variant.h"
#include "cli/verb.h"

namespace heddle {
namespace {

struct Options {
  std::string name;
  std::vector<std::string> command;
  bool run = false;
};

Result<ExitCode> run_verb(const Options& options, const CommonOptions& common) {
  const VariantRecipe* recipe = HEDDLE_TRY(find_variant(options.name));
  const Variant variant = HEDDLE_TRY(obtain_variant(options.command[0], *recipe));
  if (common.verbose)
    fmt::print(stderr, "heddle: {} {}\n",
               variant.from_cache ? "from the cache:" : "built:", variant.executable.string());
  if (options.run) {
    std::vector<std::string> argv = options.command;
    argv[0] = variant.executable;
    return exec_process(argv);
  }
  if (common.json) {
    fmt::print("{}\n", Json{{"variant", recipe->name},
                            {"executable", variant.executable.string()},
                            {"from_cache", variant.from_cache}}
                           .dump(2));
  } else {
    fmt::print("{}\n", variant.executable.string());
  }
  return ExitCode::ok;
}

}  // namespace

void add_variant(VerbSet& verbs) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = verbs.add("variant", "Make an instrumented executable of a program",
                             "  heddle variant count ./app                  build it, print where it is\n"
                             "  heddle variant count --run -- ./app input   build it if needed and run it",
                             [options](const CommonOptions& common) { return run_verb(*options, common); });
  std::string names;
  for (const VariantRecipe& recipe : variant_recipes())
    names += fmt::format("\n{}: {}", recipe.name, recipe.purpose);
  verb->add_option("NAME", options->name, "Which one:" + names)->required();
  verb->add_flag("--run", options->run, "Run it instead of printing its path");
  verb->add_option("APP", options->command, "The program, and its arguments for --run")->required();
}

}  // namespace heddle
