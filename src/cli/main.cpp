// The heddle command: finds the verb, prints its error, returns its exit code.
#include <fmt/core.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/process.h"
#include "base/version.h"
#include "cli/control_options.h"
#include "cli/verb.h"
#include "driver/gdb.h"

namespace heddle {
namespace {

// "heddle cc" has a grammar of its own (clang's): handed on before anything is parsed.
int compile(std::string_view verb, int argc, char** argv) {
  const fs::path tool = executable_path().parent_path() / (verb == "cc" ? "heddle-cc" : "heddle-c++");
  std::vector<std::string> args = {tool};
  args.insert(args.end(), argv + 2, argv + argc);
  const Error error = exec_process(args);
  fmt::print(stderr, "heddle: {}\n", error.text());
  return static_cast<int>(error.exit);
}

// Not for people: gdb starts the program through this. What gdb appends to the command is not needed.
int launch(const char* spec_file) {
  const Error error = launch_for_gdb(spec_file);
  fmt::print(stderr, "heddle: {}\n", error.text());
  return static_cast<int>(error.exit);
}

// Who asked for JSON gets the error as JSON too, beside the text for people.
int fail(const Error& error, bool json) {
  fmt::print(stderr, "heddle: {}\n", error.text());
  if (json)
    print_json({{"verdict", "error"},
                {"error",
                 {{"what", error.what},
                  {"where", error.where},
                  {"why", error.why},
                  {"next", error.next},
                  {"exit_code", static_cast<int>(error.exit)}}}});
  return static_cast<int>(error.exit);
}

// Of a command line that cannot be parsed; what stands behind "--" is the program's.
bool asks_for_json(int argc, char** argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i)
    if (std::string_view(argv[i]) == "--json") return true;
  return false;
}

int run(int argc, char** argv) {
  CLI::App app("heddle: finds, explains and replays failures of multithreaded C and C++ programs", "heddle");
  app.set_version_flag("--version", "heddle " HEDDLE_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Compilers (drop-in for clang): heddle cc ARGS..., heddle c++ ARGS...; as CC=heddle-cc CXX=heddle-c++\n"
      "'heddle VERB --help' explains a verb with examples.");
  VerbSet verbs(app);
  add_run(verbs);
  add_hunt(verbs);
  add_check(verbs);
  add_replay(verbs);
  add_report(verbs);
  add_record(verbs);
  add_import(verbs);
  add_solve(verbs);
  add_reproduce(verbs);
  add_core(verbs);
  add_show(verbs);
  add_pack(verbs);
  add_unpack(verbs);
  add_variant(verbs);
  add_doctor(verbs);
  const auto wrong_usage = [&](std::string what, const std::string& verb) {
    return fail(
        {.what = std::move(what), .next = fmt::format("heddle {}--help", verb), .exit = ExitCode::usage},
        asks_for_json(argc, argv));
  };
  if (argc > 1 && argv[1][0] != '-' && !verbs.has(argv[1]))
    return wrong_usage(fmt::format("there is no verb '{}'", argv[1]), "");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    const std::string verb = argc > 1 && verbs.has(argv[1]) ? std::string(argv[1]) + " " : "";
    return wrong_usage(error.what(), verb);
  }
  const Result<ExitCode> result = verbs.run();
  if (result) return static_cast<int>(*result);
  return fail(result.error(), verbs.wants_json());
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "cc" || verb == "c++") return heddle::compile(verb, argc, argv);
  if (verb == heddle::kGdbLaunchVerb && argc > 2) return heddle::launch(argv[2]);
  return heddle::run(argc, argv);
}
