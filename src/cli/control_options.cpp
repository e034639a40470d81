#include "cli/control_options.h"

#include <fmt/core.h>

#include <charconv>

#include "base/duration.h"

namespace heddle {
namespace {

Error bad_choice(std::string_view option, const std::string& value, std::string_view choices) {
  return Error{.what = fmt::format("{} does not know '{}'", option, value),
               .next = fmt::format("choose one of: {}", choices),
               .exit = ExitCode::usage};
}

}  // namespace

Result<RunRules> ControlOptions::rules() const {
  RunRules rules{
      .spurious_wakeups = spurious_wakeups, .max_events = max_events, .livelock_bound = livelock_bound};
  if (!memory_model.empty()) {
    const auto model = parse_memory_model(memory_model);
    if (!model) return bad_choice("--memory-model", memory_model, "sc, tso, pso");
    rules.memory_model = *model;
  }
  for (const std::string& text : failing_codes) {
    uint8_t code = 0;
    const char* stop = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), stop, code);
    if (text == "nonzero") {
      for (int i = 1; i < 256; ++i) rules.fail_at(static_cast<uint8_t>(i));
    } else if (error == std::errc() && end == stop) {
      rules.fail_at(code);
    } else if (text != "none") {
      return bad_choice("--fail-exit-code", text, "a number from 0 to 255, nonzero, none");
    }
  }
  return rules;
}

Result<void> ControlOptions::apply(LaunchOptions& launch) const {
  if (substrate == "threads")
    launch.substrate = Substrate::threads;
  else if (!substrate.empty() && substrate != "fibres")
    return bad_choice("--substrate", substrate, "fibres, threads");
  if (fresh == "fork" || fresh == "exec")
    launch.renewal = std::max(launch.renewal, fresh == "fork" ? Renewal::fork : Renewal::start);
  else if (!fresh.empty())
    return bad_choice("--fresh", fresh, "fork, exec");
  if (!patience.empty()) launch.patience = HEDDLE_TRY(parse_duration(patience));
  return {};
}

CLI::Validator whole_number(uint64_t least) {
  const auto check = [least](const std::string& text) -> std::string {
    uint64_t number = 0;
    const char* stop = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), stop, number);
    if (error == std::errc() && end == stop && number >= least) return "";
    return fmt::format("'{}' is not a whole number{}", text,
                       least == 0 ? "" : fmt::format(" from {} on", least));
  };
  return CLI::Validator(check, "");
}

CLI::Validator duration_value() {
  const auto check = [](const std::string& text) -> std::string {
    const auto duration = parse_duration(text);
    return duration ? "" : fmt::format("{}; {}", duration.error().what, duration.error().next);
  };
  return CLI::Validator(check, "");
}

void add_launch_options(CLI::App& verb, ControlOptions& options) {
  verb.add_option("--substrate", options.substrate,
                  "fibres: one kernel thread plays all (default); threads: real threads, one at a time");
  verb.add_flag(
      "--fresh{fork}", options.fresh,
      "A process per run (--fresh) or a program start per run (--fresh=exec), for programs that keep state "
      "outside their memory; found out by itself in most cases");
  verb.add_option("--stdin", options.input,
                  "A file that each run reads as standard input; - takes all of heddle's own");
  verb.add_option(
          "--patience", options.patience,
          "How long the program may do nothing at all before heddle asks what it waits for (default 10s)")
      ->check(duration_value());
  verb.add_option("--livelock-bound", options.livelock_bound,
                  "Events without any change after which spinning threads are a livelock (default 20000)")
      ->check(whole_number());
}

void add_rule_options(CLI::App& verb, ControlOptions& options) {
  verb.add_option("--memory-model", options.memory_model, "sc (default), tso or pso");
  verb.add_option("--env", options.environment,
                  "NAME=VALUE, or NAME to take it over: programs get a small standard environment otherwise")
      ->allow_extra_args(false);
  // As heddle record takes it: "no interleaving fails" must not be said of runs that ended with an error.
  options.failing_codes = {"nonzero"};
  verb.add_option("--fail-exit-code", options.failing_codes,
                  "An exit code that counts as a failure, 'nonzero' (default) or 'none'; may be repeated")
      ->allow_extra_args(false);
  verb.add_flag("--spurious-wakeups", options.spurious_wakeups,
                "Waits for condition variables may end without a signal, as the standards allow");
  verb.add_option("--max-events", options.max_events, "Give a run up after so many events")
      ->check(whole_number());
}

std::string counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string unfinished_text(const Execution& execution) {
  const std::string where = execution.place ? fmt::format(" at {}", place_text(execution.place)) : "";
  switch (execution.outcome) {
    case Outcome::diverged:
      return fmt::format("the program cannot follow the schedule: {}{}", execution.text, where);
    case Outcome::limit:
      return fmt::format("given up after {} events (--max-events)", execution.events);
    case Outcome::uncontrolled:
      return fmt::format(
          "the program waits in a call that heddle does not control: {}{}\n"
          "  next: give it what it waits for (--stdin FILE), or raise --patience if it only takes long",
          execution.text, where);
    case Outcome::unsupported:
      return fmt::format("the program does something that controlled runs cannot do: {}{}", execution.text,
                         where);
    case Outcome::died:
      return execution.text;
    case Outcome::interrupted:
      return "interrupted";
    case Outcome::out_of_time:
      return "the time is over";
    case Outcome::passed:
    case Outcome::failed:
      break;
  }
  return "";
}

ExitCode exit_code_of(const Execution& execution) {
  switch (execution.outcome) {
    case Outcome::passed:
      return ExitCode::ok;
    case Outcome::failed:
      return ExitCode::failure_found;
    case Outcome::diverged:
      return ExitCode::diverged;
    case Outcome::unsupported:
    case Outcome::died:
      return ExitCode::environment;
    default:
      return ExitCode::undecided;
  }
}

std::string_view verdict_word(Outcome outcome) {
  switch (outcome) {
    case Outcome::passed:
      return "passed";
    case Outcome::failed:
      return "failure";
    case Outcome::diverged:
      return "diverged";
    case Outcome::limit:
      return "limit";
    case Outcome::uncontrolled:
      return "uncontrolled";
    case Outcome::unsupported:
      return "unsupported";
    case Outcome::died:
      return "died";
    case Outcome::interrupted:
      return "interrupted";
    case Outcome::out_of_time:
      return "out-of-time";
  }
  return "";
}

Json measures_json(const ScheduleMeasures& m) {
  return {{"events", m.events},
          {"segments", m.segments},
          {"switches", m.switches},
          {"preemptions", m.preemptions},
          {"flushed_stores", m.flushed_stores},
          {"wakes", m.wakes},
          {"timeouts", m.timeouts}};
}

void print_json(const Json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace heddle
