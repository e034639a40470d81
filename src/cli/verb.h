// One file per verb. A verb adds its subcommand to the parser; when it is chosen, its callback runs and returns
// the exit code (or an Error, which the main program prints).
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <optional>
#include <string>

#include "base/exit_code.h"
#include "base/result.h"

namespace heddle {

// Options that every verb has.
struct CommonOptions {
  bool json = false;
  bool quiet = false;
  bool verbose = false;
};

class VerbSet {
 public:
  explicit VerbSet(CLI::App& app) : app_(app) {}

  // A subcommand with the common options and its examples under --help.
  CLI::App* add(const std::string& name, const std::string& purpose, const std::string& examples,
                std::function<Result<ExitCode>(const CommonOptions&)> run);

  bool has(const std::string& name) const;

  // Runs the chosen verb.
  Result<ExitCode> run();

  bool wants_json() const { return common_.json; }

 private:
  CLI::App& app_;
  CommonOptions common_;
  std::function<Result<ExitCode>(const CommonOptions&)> chosen_;
};

void add_run(VerbSet& verbs);
void add_hunt(VerbSet& verbs);
void add_check(VerbSet& verbs);
void add_replay(VerbSet& verbs);
void add_report(VerbSet& verbs);
void add_record(VerbSet& verbs);
void add_import(VerbSet& verbs);
void add_solve(VerbSet& verbs);
void add_reproduce(VerbSet& verbs);
void add_core(VerbSet& verbs);
void add_pack(VerbSet& verbs);
void add_unpack(VerbSet& verbs);
void add_show(VerbSet& verbs);
void add_doctor(VerbSet& verbs);
void add_variant(VerbSet& verbs);

}  // namespace heddle
