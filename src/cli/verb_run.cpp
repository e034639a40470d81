// heddle run: one controlled run, with the program's own output.
#include <fmt/core.h>

#include "base/process.h"
#include "cli/control_options.h"
#include "replay/interrupt.h"
#include "schedule/measures.h"

namespace heddle {
namespace {

struct Options {
  ControlOptions control;
  std::string strategy = "nonpreemptive";
  uint64_t seed = 1;
  std::string schedule, output;
  std::vector<std::string> command;
};

void print_result(const Execution& run, const Options& options, const CommonOptions& common) {
  const bool passed = run.outcome == Outcome::passed;
  if (common.json) {
    Json json = {{"verdict", verdict_word(run.outcome)},
                 {"exit_code", passed ? Json(run.exit_code) : Json()},
                 {"failure", run.failure ? run.failure->to_json() : Json()},
                 {"text", unfinished_text(run)},
                 {"events", run.events},
                 {"threads", run.threads},
                 {"preemptions", run.preemptions},
                 {"values", fmt::format("{:016x}", run.values)},
                 {"measures", measures_json(measure(run.schedule))},
                 {"schedule", options.output}};
    print_json(json);
    return;
  }
  if (run.failure)
    fmt::print(stderr, "heddle: {}", run.failure->report());
  else if (!passed)
    fmt::print(stderr, "heddle: {}\n", unfinished_text(run));
  if (common.quiet && run.outcome == Outcome::passed) return;
  if (run.failure) fmt::print(stderr, "heddle: failure {}\n", run.failure->identity);
  if (passed) fmt::print(stderr, "heddle: no failure, exit code {}", run.exit_code);
  if (passed || run.failure)
    fmt::print(stderr, "{}{}, {}, {}\n", passed ? "; " : "heddle: ", counted(run.events, "event"),
               counted(run.threads, "thread"), counted(run.preemptions, "preemption"));
  if (!options.output.empty() && !run.schedule.threads.empty())
    fmt::print(stderr, "heddle: schedule in {}\n  next: heddle replay {}\n", options.output,
               shell_quote({options.output}));
}

Result<ExitCode> run_verb(const Options& options, const CommonOptions& common) {
  const Strategy strategy = HEDDLE_TRY(Strategy::parse(options.strategy));
  RunRules rules = HEDDLE_TRY(options.control.rules());
  std::optional<Schedule> schedule;
  if (!options.schedule.empty()) {
    schedule = HEDDLE_TRY(load_schedule(options.schedule));
    if (!options.control.memory_model.empty() && rules.memory_model != schedule->header.memory_model)
      return Error{
          .what = fmt::format("the schedule is for memory model {}", text_of(schedule->header.memory_model)),
          .where = options.schedule,
          .next = "leave --memory-model out",
          .exit = ExitCode::usage};
    rules.memory_model = schedule->header.memory_model;
  }
  if (!schedule && options.command.empty())
    return Error{.what = "no program is given", .next = "heddle run -- ./app", .exit = ExitCode::usage};
  ControlSetup setup;
  if (!options.command.empty())
    setup = HEDDLE_TRY(setup_command(options.command, options.control.environment));
  else
    setup = HEDDLE_TRY(setup_schedule(*schedule, ""));
  if (schedule && setup.program->program().identity() != schedule->header.identity)
    return Error{.what = "this schedule belongs to another program",
                 .where = options.schedule,
                 .why = fmt::format("the schedule is of {} {}, this program is {}", schedule->header.program,
                                    schedule->header.identity, setup.program->program().identity())};
  setup.launch.renewal = Renewal::start;
  setup.launch.output = common.json ? TargetOutput::show_apart : TargetOutput::show;
  HEDDLE_TRY(options.control.apply(setup.launch));
  if (options.control.input.empty() && setup.launch.input_name.empty())
    setup.launch.inherit_input = true;
  else
    HEDDLE_TRY(set_input(setup.launch, options.control.input));

  if (!options.output.empty()) HEDDLE_TRY(check_output(options.output));

  const InterruptGuard guard;
  ProgramExecutor executor(*setup.program, setup.launch);
  const Execution run = HEDDLE_TRY(executor.execute({.strategy = strategy,
                                                     .seed = options.seed,
                                                     .schedule = schedule ? &*schedule : nullptr,
                                                     .rules = rules,
                                                     .keep_schedule = true}));
  if (!options.output.empty() && !run.schedule.threads.empty())
    HEDDLE_TRY(save_schedule(options.output, run.schedule));
  print_result(run, options, common);
  return exit_code_of(run);
}

}  // namespace

void add_run(VerbSet& verbs) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = verbs.add(
      "run", "One controlled run of a program",
      "  heddle run -- ./app input                          threads change only where they must\n"
      "  heddle run --strategy random --seed 7 -- ./app     a random interleaving, the same each time\n"
      "  heddle run --strategy pct:3 -o s.heddle -- ./app   keep its schedule\n"
      "  heddle run --schedule s.heddle -- ./app other      the same schedule with other arguments\n"
      "Exit codes: 0 no failure, 10 failure, 12 undecided, 13 the schedule cannot be followed.",
      [options](const CommonOptions& common) { return run_verb(*options, common); });
  verb->add_option("--strategy", options->strategy, "nonpreemptive (default), random, pct[:DEPTH], pos or hold");
  verb->add_option("--seed", options->seed, "Of the strategy (default 1)")->check(whole_number());
  verb->add_option("--schedule", options->schedule,
                   "Follow this schedule; behind a prefix the strategy goes on");
  verb->add_option("-o,--output", options->output, "Write the schedule of the run");
  add_rule_options(*verb, options->control);
  add_launch_options(*verb, options->control);
  verb->add_option("APP", options->command, "The program and its arguments");
}

}  // namespace heddle
