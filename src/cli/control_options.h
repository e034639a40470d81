// Options that run, hunt and replay share, and how they print their results.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/verb.h"
#include "driver/control_setup.h"
#include "replay/executor.h"
#include "schedule/measures.h"

namespace heddle {

// As given; empty texts mean that the option was not used.
struct ControlOptions {
  std::string memory_model, substrate, fresh, input, patience;
  std::vector<std::string> environment, failing_codes;
  bool spurious_wakeups = false;
  uint64_t max_events = 0;
  uint64_t livelock_bound = 20000;

  Result<RunRules> rules() const;
  // Sets substrate, renewal and patience.
  Result<void> apply(LaunchOptions& launch) const;
};

// How to run the program: for all three verbs.
void add_launch_options(CLI::App& verb, ControlOptions& options);
// What a run may do and what counts as a failure: for run and hunt.
void add_rule_options(CLI::App& verb, ControlOptions& options);

// What an option takes: a number without a sign (CLI11 makes a huge one of -1), at least `least`; a duration.
CLI::Validator whole_number(uint64_t least = 0);
CLI::Validator duration_value();

// "3 runs", "1 run"
std::string counted(uint64_t count, std::string_view noun);

// What an execution that neither passed nor failed tells the user, and the exit code of that.
std::string unfinished_text(const Execution& execution);
ExitCode exit_code_of(const Execution& execution);
std::string_view verdict_word(Outcome outcome);

Json measures_json(const ScheduleMeasures& measures);

void print_json(const Json& json);

}  // namespace heddle
