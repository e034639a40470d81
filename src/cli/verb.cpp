#include "cli/verb.h"

#include <fmt/core.h>

#include "base/duration.h"
#include "build/variant.h"

namespace heddle {

CLI::App* VerbSet::add(const std::string& name, const std::string& purpose, const std::string& examples,
                       std::function<Result<ExitCode>(const CommonOptions&)> run) {
  CLI::App* verb = app_.add_subcommand(name, purpose);
  verb->footer("Examples:\n" + examples);
  verb->add_flag("--json", common_.json, "One JSON object on standard output");
  verb->add_flag("-q,--quiet", common_.quiet, "Only the result");
  verb->add_flag("-v,--verbose", common_.verbose, "More about what is done");
  verb->callback([this, run = std::move(run)] { chosen_ = run; });
  return verb;
}

bool VerbSet::has(const std::string& name) const {
  const std::vector<CLI::App*> verbs =
      app_.get_subcommands([&](CLI::App* verb) { return verb->get_name() == name; });
  return !verbs.empty();
}

Result<ExitCode> VerbSet::run() {
  if (!common_.quiet)
    tell_long_builds(
        [](const std::filesystem::path& program, const VariantRecipe& recipe, std::chrono::seconds time) {
          fmt::print(stderr, "heddle: building the variant '{}' of {}, which is kept ({} so far)\n",
                     recipe.name, program.string(), duration_text(time));
        });
  return chosen_(common_);
}

}  // namespace heddle
