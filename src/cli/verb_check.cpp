// heddle check: all interleavings of a program.
#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "base/duration.h"
#include "base/process.h"
#include "cli/control_options.h"
#include "cli/progress_line.h"
#include "cli/report_output.h"
#include "driver/confirm.h"
#include "driver/output_calls.h"
#include "driver/unseen_code.h"
#include "explore/explorer.h"
#include "replay/interrupt.h"

namespace heddle {
namespace {

constexpr uint64_t kDefaultMaxEvents = 1'000'000;
constexpr unsigned kConfirmations = 3;

struct Options {
  ControlOptions control{.max_events = kDefaultMaxEvents};
  std::string time, shorten_time, output, report, algorithm, engine, races;
  std::optional<uint64_t> executions, states, preemptions, depth;
  bool find_all = false, count_outcomes = false, no_shorten = false, predict = false;
  unsigned jobs = 1;
  std::string journal, resume;
  std::vector<std::string> command;
};

struct Found {
  Confirmation confirmation;
  std::string schedule;  // file; empty: it could not be kept
};

std::string progress_text(const ExploreProgress& progress) {
  const double seconds = std::max(1e-3, static_cast<double>(progress.elapsed.count()) / 1000);
  if (progress.passes == 0)  // searches by seeds
    return fmt::format("checking: {} ({:.0f} per second), {}, {} to be explored, {}",
                       counted(progress.executions, "execution"),
                       static_cast<double>(progress.executions) / seconds, counted(progress.ends, "outcome"),
                       counted(progress.frontier, "seed"), duration_text(progress.elapsed));
  return fmt::format("checking: pass {}, {}, {} ({:.0f} per second), {}, {}", progress.passes,
                     counted(progress.executions, "execution"), counted(progress.states, "state"),
                     static_cast<double>(progress.states) / seconds,
                     progress.merged ? "outcomes not counted" : counted(progress.ends, "outcome"),
                     duration_text(progress.elapsed));
}

std::string_view verdict(const ExploreResult& result) {
  switch (result.end) {
    case ExploreResult::End::all:
      return "safe";
    case ExploreResult::End::failure:
      return "failure";
    case ExploreResult::End::limit:
      return "limit";
    case ExploreResult::End::interrupted:
      return "interrupted";
    case ExploreResult::End::not_covered:
      return "not-covered";
    case ExploreResult::End::stopped:
      return verdict_word(result.last.outcome);
    case ExploreResult::End::predicted:
      return "predicted";
  }
  return "";
}

ExitCode exit_code(const ExploreResult& result) {
  if (!result.failures.empty()) return ExitCode::failure_found;
  if (result.end == ExploreResult::End::all) return ExitCode::ok;
  return result.end == ExploreResult::End::stopped ? exit_code_of(result.last) : ExitCode::undecided;
}

struct NamedAlgorithm {
  std::string_view name;
  Algorithm algorithm;
};
constexpr std::array<NamedAlgorithm, 7> kAlgorithms = {{{"trees", Algorithm::trees},
                                                        {"mcr", Algorithm::mcr},
                                                        {"mcr-s", Algorithm::mcr_s},
                                                        {"mcr-s+", Algorithm::mcr_s_plus},
                                                        {"se-mcr", Algorithm::se_mcr},
                                                        {"icb", Algorithm::icb},
                                                        {"dpor", Algorithm::dpor}}};

struct NamedEngine {
  std::string_view name;
  SeedEngine engine;
};
constexpr std::array<NamedEngine, 3> kEngines = {
    {{"saturation", SeedEngine::saturation}, {"machine", SeedEngine::machine}, {"smt", SeedEngine::smt}}};

std::string_view name_of(Algorithm algorithm) {
  return std::ranges::find(kAlgorithms, algorithm, &NamedAlgorithm::algorithm)->name;
}

std::string name_of_memory(uint64_t address, uint64_t load_base, const CodeNames& names) {
  const std::string variable = names.variable_at(address, load_base);
  return variable.empty() ? fmt::format("{:#x}", address) : variable;
}

std::string access_text(const RaceSide& side, const CodeNames& names) {
  return fmt::format("{}{} at {} by thread {}", side.atomic ? "atomic " : "", side.writes ? "write" : "read",
                     place_text(names.place_of_site(side.site)), side.thread.text());
}

std::string side_text(const RaceSide& side, uint64_t load_base, const CodeNames& names) {
  std::string out = access_text(side, names);
  for (size_t i = 0; i < side.locks.size(); ++i)
    out += (i == 0 ? ", holds " : ", ") + name_of_memory(side.locks[i], load_base, names);
  if (side.locks.empty()) out += ", holds no lock";
  out += '\n';
  for (size_t i = 0; i < side.stack.size(); ++i) out += fmt::format("    #{} {}\n", i, side.stack[i].text());
  return out;
}

Json side_json(const RaceSide& side, uint64_t load_base, const CodeNames& names) {
  Json locks = Json::array(), stack = Json::array();
  for (const uint64_t lock : side.locks) locks.push_back(name_of_memory(lock, load_base, names));
  for (const StackFrame& frame : side.stack)
    stack.push_back({{"function", frame.function}, {"place", place_json(frame.place)}});
  return {{"place", place_json(names.place_of_site(side.site))},
          {"thread", side.thread.text()},
          {"writes", side.writes},
          {"atomic", side.atomic},
          {"locks", std::move(locks)},
          {"stack", std::move(stack)}};
}

Json races_json(const std::vector<Race>& races, const CodeNames& names) {
  Json out = Json::array();
  for (const Race& race : races)
    out.push_back(
        {{"memory", name_of_memory(race.address, race.load_base, names)},
         {"confirmed", true},
         {"sides",
          {side_json(race.first, race.load_base, names), side_json(race.second, race.load_base, names)}}});
  return out;
}

void print_races(const std::vector<Race>& races, const CodeNames& names) {
  for (const Race& race : races)
    fmt::print(stderr, "heddle: data race on {}\n  {}  {}", name_of_memory(race.address, race.load_base, names),
               side_text(race.first, race.load_base, names), side_text(race.second, race.load_base, names));
}

bool has_other_side(const Prediction& prediction) {
  return prediction.second.site != HEDDLE_NO_SITE;
}

Json predictions_json(const std::vector<Prediction>& predictions, const CodeNames& names) {
  Json out = Json::array();
  for (const Prediction& each : predictions) {
    Json sides = Json::array({side_json(each.first, each.load_base, names)});
    if (has_other_side(each)) sides.push_back(side_json(each.second, each.load_base, names));
    Json json = {{"kind", text_of(each.kind)},
                 {"confirmed", each.confirmed},
                 {"memory", name_of_memory(each.address, each.load_base, names)},
                 {"sides", std::move(sides)},
                 {"failure", each.failure}};
    if (each.kind == Prediction::Kind::null_dereference || each.kind == Prediction::Kind::assertion) {
      json["value"] = each.value;
      if (!each.confirmed) json["fails_at"] = place_json(names.place_of_site(each.failing));
    }
    out.push_back(std::move(json));
  }
  return out;
}

// Of what is confirmed the failure, or the race, is told by itself.
void print_predictions(const std::vector<Prediction>& predictions, const CodeNames& names) {
  for (const Prediction& each : predictions) {
    const std::string memory = name_of_memory(each.address, each.load_base, names);
    const std::string first = access_text(each.first, names);
    const std::string second = has_other_side(each) ? access_text(each.second, names) : "before all writes";
    if (each.confirmed && each.kind == Prediction::Kind::race) continue;
    const std::string_view how = each.confirmed ? "predicted and confirmed" : "predicted, not confirmed";
    switch (each.kind) {
      case Prediction::Kind::race:
        fmt::print(stderr, "heddle: {}: data race on {}\n  {}  {}", how, memory,
                   side_text(each.first, each.load_base, names), side_text(each.second, each.load_base, names));
        break;
      case Prediction::Kind::use_after_free:
        fmt::print(stderr,
                   "heddle: {}: use after free\n  {}\n  could come behind the free at {} by thread {}\n", how,
                   first, place_text(names.place_of_site(each.second.site)), each.second.thread.text());
        break;
      case Prediction::Kind::null_dereference:
      case Prediction::Kind::assertion:
        fmt::print(stderr, "heddle: {}: {}{}\n  {} of {} could return {}: {}\n", how, text_of(each.kind),
                   each.confirmed || each.failing == HEDDLE_NO_SITE
                       ? ""
                       : fmt::format(" at {}", place_text(names.place_of_site(each.failing))),
                   first, memory, each.value, second);
        break;
    }
    if (!each.failure.empty()) fmt::print(stderr, "  shown by: {}\n", each.failure);
  }
}

Json to_json(const ExploreResult& result, const std::vector<Found>& found,
             const std::vector<std::string>& assumed, Algorithm algorithm, const CodeNames& names) {
  Json failures = Json::array();
  for (const Found& each : found)
    failures.push_back({{"failure", each.confirmation.best.failure->to_json()},
                        {"confirmed", each.confirmation.confirmed},
                        {"confirmations", kConfirmations},
                        {"measures", measures_json(measure(each.confirmation.best.schedule))},
                        {"schedule", each.schedule}});
  return {{"verdict", verdict(result)},
          {"algorithm", name_of(algorithm)},
          {"why", result.why},
          {"where", place_json(names.place_of_site(result.site))},
          {"assumed", assumed},
          {"executions", result.progress.executions},
          {"outcomes_executed", result.progress.samples},
          {"states", result.progress.states},
          {"outcomes", result.progress.ends},
          {"outcomes_counted", !result.progress.merged},
          {"passes", result.progress.passes},
          {"redundant", result.progress.redundant},
          {"frontier", result.progress.frontier},
          {"workers_replaced", result.progress.replaced},
          {"solving_seconds", result.progress.solving},
          {"seed_runs", result.progress.expanded},
          {"seed_runs_without_search", result.progress.decided},
          {"seed_questions", result.progress.asked},
          {"seed_questions_refuted", result.progress.refuted},
          {"races", races_json(result.races, names)},
          {"predictions", predictions_json(result.predictions, names)},
          {"predictions_tried", result.tried},
          {"seconds", static_cast<double>(result.progress.elapsed.count()) / 1000},
          {"failures", std::move(failures)}};
}

void print_found(const Found& found) {
  const Execution& best = found.confirmation.best;
  fmt::print(stderr, "heddle: {}", best.failure->report());
  fmt::print(stderr, "heddle: failure {}\n", best.failure->identity);
  const ScheduleMeasures measures = measure(best.schedule);
  fmt::print(stderr, "  {} and {}; replayed in fresh processes: the same failure {} of {} times\n",
             counted(measures.preemptions, "preemption"), counted(measures.segments, "segment"),
             found.confirmation.confirmed, kConfirmations);
  if (!found.schedule.empty())
    fmt::print(stderr, "heddle: schedule in {}\n  next: heddle replay {}\n", found.schedule,
               shell_quote({found.schedule}));
}

std::string list_of(const std::vector<UnseenFunction>& functions) {
  constexpr size_t kMost = 3;
  std::string out;
  for (size_t i = 0; i < functions.size() && i < kMost; ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : ", ", functions[i].name);
    if (!functions[i].place.empty()) out += fmt::format(" ({})", functions[i].place);
  }
  if (functions.size() > kMost) out += fmt::format(" and {} more", functions.size() - kMost);
  return out;
}

// Code of the program's own that nobody sees may hold the very race that is looked for.
void doubt(ExploreResult& result, const UnseenCode& unseen) {
  if (result.end != ExploreResult::End::all || unseen.own.empty()) return;
  result.end = ExploreResult::End::not_covered;
  result.site = HEDDLE_NO_SITE;
  result.why =
      fmt::format("heddle does not see what is done in {}, which was not built with it into the program",
                  list_of(unseen.own));
}

// What the verdict rests on beside the exploration itself.
std::vector<std::string> assumptions(const ExploreResult& result, const ProgramExecutor& executor,
                                     const UnseenCode& unseen) {
  std::vector<std::string> out;
  if (!unseen.systems.empty())
    out.push_back("functions of libraries act at once, whatever other threads do: " + list_of(unseen.systems));
  if (result.progress.awaits)
    out.push_back(
        fmt::format("a loop that reads the same {} times in a row waits for other threads", kRoundsOfWaiting));
  if (result.progress.library_spins)
    out.push_back(
        fmt::format("the C++ library, which spins before it waits, does so {} times in vain or to the end",
                    kRoundsOfSpinning));
  if (result.progress.library_retries)
    out.push_back("the C++ library, which gives locks back and tries again (std::lock), does so however often");
  if (!executor.renewal_reason().empty())
    out.push_back(
        fmt::format("calls of the system have no effect on other threads ({})", executor.renewal_reason()));
  return out;
}

std::string site_text(const ExploreResult& result, const CodeNames& names) {
  const std::optional<CodePlace> place = names.place_of_site(result.site);
  return place ? " at " + place_text(place) : "";
}

void print_result(const ExploreResult& result, const std::vector<Found>& found,
                  const std::vector<std::string>& assumed, const CommonOptions& common,
                  const CodeNames& names) {
  for (const Found& each : found) print_found(each);
  const ExploreProgress& progress = result.progress;
  const std::string counts = fmt::format("{}, {}, {}", counted(progress.executions, "execution"),
                                         counted(progress.states, "state"), duration_text(progress.elapsed));
  switch (result.end) {
    case ExploreResult::End::all:
      fmt::print(stderr, "heddle: safe: no interleaving fails ({}; {})\n",
                 progress.merged ? "too many outcomes to be counted"
                                 : counted(progress.ends, "outcome") + " for the reads",
                 counts);
      for (const std::string& each : assumed) fmt::print(stderr, "  assumed: {}\n", each);
      return;
    case ExploreResult::End::failure:
      if (!common.quiet) fmt::print(stderr, "  found after {}\n", counts);
      return;
    case ExploreResult::End::limit:
      fmt::print(stderr, "heddle: undecided: limit of {} reached ({}; {} tried)\n", result.why, counts,
                 counted(result.tried, "prediction"));
      return;
    case ExploreResult::End::interrupted:
      fmt::print(stderr, "heddle: undecided: interrupted ({})\n", counts);
      return;
    case ExploreResult::End::not_covered:
      fmt::print(
          stderr,
          "heddle: undecided: this program cannot be explored as a whole: {}{} ({})\n  next: heddle hunt, "
          "which tries interleavings of any program\n",
          result.why, site_text(result, names), counts);
      return;
    case ExploreResult::End::stopped:
      fmt::print(stderr, "heddle: {}\n", unfinished_text(result.last));
      return;
    case ExploreResult::End::predicted:
      fmt::print(
          stderr,
          "heddle: undecided: nothing but single runs and what follows from them was looked at ({} tried; {})\n"
          "  next: heddle check without --predict, which explores all interleavings\n",
          counted(result.tried, "prediction"), counts);
      return;
  }
}

Result<ExitCode> run_verb(const Options& given, const CommonOptions& common) {
  ExploreOptions options{.rules = HEDDLE_TRY(given.control.rules()), .find_all = given.find_all};
  if (given.executions) options.executions = *given.executions;
  if (given.states) options.states = *given.states;
  if (given.count_outcomes) options.counted_states = UINT64_MAX;
  if (!given.algorithm.empty())
    options.algorithm = std::ranges::find(kAlgorithms, given.algorithm, &NamedAlgorithm::name)->algorithm;
  const bool has_engine = options.algorithm != Algorithm::trees && options.algorithm != Algorithm::dpor &&
                          options.algorithm != Algorithm::icb;
  if (!given.engine.empty() && !has_engine)
    return Error{.what = fmt::format("the algorithm {} has no --engine", name_of(options.algorithm)),
                 .why = "it does not look for seeds",
                 .next = "add --algorithm se-mcr, or another one of that family (heddle check --help)",
                 .exit = ExitCode::usage};
  if (!given.engine.empty())
    options.engine = std::ranges::find(kEngines, given.engine, &NamedEngine::name)->engine;
  options.races = given.races != "off";
  if (given.preemptions) options.preemptions = *given.preemptions;
  if (given.depth) options.depth = *given.depth;
  const bool by_seeds = options.algorithm != Algorithm::trees && options.algorithm != Algorithm::dpor;
  if ((given.preemptions || given.depth) && !by_seeds)
    return Error{.what = fmt::format("the algorithm {} has no bounds on preemptions and depth",
                                     name_of(options.algorithm)),
                 .why = "it does not go through schedules by their number of preemptions",
                 .next = "add --algorithm icb, or another one (heddle check --help)",
                 .exit = ExitCode::usage};
  if ((given.jobs > 1 || !given.journal.empty() || !given.resume.empty()) &&
      options.algorithm == Algorithm::dpor)
    return Error{.what = fmt::format("the algorithm {} has no --jobs, --journal and --resume",
                                     name_of(options.algorithm)),
                 .why = "its work is not in units",
                 .next = "choose another algorithm, or leave them out",
                 .exit = ExitCode::usage};
  if (given.predict &&
      (!given.algorithm.empty() || given.jobs > 1 || !given.journal.empty() || !given.resume.empty()))
    return Error{.what = "--predict explores nothing",
                 .why = "it has no --algorithm, --jobs, --journal and --resume",
                 .next =
                     "leave them out, or --predict: what can be predicted is also told where an exploration "
                     "meets a limit",
                 .exit = ExitCode::usage};
  if (!given.journal.empty() && !given.resume.empty())
    return Error{.what = "--journal begins a journal, --resume goes on with one",
                 .next = "give one of them",
                 .exit = ExitCode::usage};
  options.jobs = given.jobs;
  options.journal = given.journal;
  options.resume = given.resume;
  if (!given.time.empty()) options.time = HEDDLE_TRY(parse_duration(given.time));
  std::chrono::milliseconds shorten_time = std::chrono::seconds(20);
  if (!given.shorten_time.empty()) shorten_time = HEDDLE_TRY(parse_duration(given.shorten_time));
  ControlSetup setup = HEDDLE_TRY(setup_command(given.command, given.control.environment));
  HEDDLE_TRY(given.control.apply(setup.launch));
  HEDDLE_TRY(set_input(setup.launch, given.control.input));
  HEDDLE_TRY(check_output(given.output));
  HEDDLE_TRY(check_report_folder(given.report));
  options.output_sites = output_calls(setup.program->program());
  options.library_sites = library_code(setup.program->program());
  options.own_sites = single_threaded_reads(setup.program->program());
  const Assertions assertions(setup.program->program());
  options.assertions = &assertions;
  options.predict = given.predict ? ExploreOptions::Predict::only : ExploreOptions::Predict::at_limits;
  const InterruptGuard guard;
  ProgramExecutor executor(*setup.program, setup.launch);
  options.journal_head = fmt::format("heddle-check 2 {} {} {} {} {}", setup.program->program().identity(),
                                     name_of(options.algorithm), text_of(options.rules.memory_model),
                                     given.find_all ? "all" : "first", shell_quote(setup.launch.command));
  options.make_executor = [&]() -> std::unique_ptr<Executor> {
    LaunchOptions launch = setup.launch;
    // A position of its own in standard input.
    if (launch.input >= 0)
      launch.input = ::open(fmt::format("/proc/self/fd/{}", launch.input).c_str(), O_RDONLY | O_CLOEXEC);
    return std::make_unique<ProgramExecutor>(*setup.program, launch);
  };
  ProgressLine line(!common.quiet && !common.json);
  const UnseenCode unseen = unseen_code(setup.program->program(), HEDDLE_TRY(EffectsTable::load()));
  ExploreResult result = HEDDLE_TRY(explore(executor, options, [&](const ExploreProgress& progress) {
    line.show_now_and_then(progress_text(progress));
  }));
  doubt(result, unseen);
  std::vector<Found> found;
  for (const Execution& failure : result.failures) {
    line.show(fmt::format("found: {}; shortening", failure.failure->identity));
    Found each{.confirmation = HEDDLE_TRY(confirm(failure, executor, options.rules, kConfirmations))};
    if (!given.no_shorten && each.confirmation.confirmed == kConfirmations && !interrupted())
      HEDDLE_TRY(shorten(each.confirmation, executor, options.rules, shorten_time));
    const Schedule& schedule = each.confirmation.best.schedule;
    if (each.confirmation.best.schedule_complete) {
      if (given.output.empty() || !found.empty()) {
        each.schedule = HEDDLE_TRY(save_new_schedule(setup.program->executable(), schedule)).string();
      } else {
        HEDDLE_TRY(save_schedule(given.output, schedule));
        each.schedule = given.output;
      }
    }
    found.push_back(std::move(each));
  }
  line.clear();
  if (common.json)
    print_json(
        to_json(result, found, assumptions(result, executor, unseen), options.algorithm, *setup.program));
  else {
    print_races(result.races, *setup.program);
    print_predictions(result.predictions, *setup.program);
    print_result(result, found, assumptions(result, executor, unseen), common, *setup.program);
  }
  for (size_t i = 0; i < found.size() && !given.report.empty(); ++i)
    if (found[i].confirmation.best.schedule_complete)
      HEDDLE_TRY(write_report(i == 0 ? given.report : fmt::format("{}/{}", given.report, i + 1),
                              found[i].confirmation.best.schedule, setup,
                              {.rules = options.rules,
                               .origin = "check",
                               .schedule_file = found[i].schedule,
                               .assumptions = assumptions(result, executor, unseen)},
                              common));
  if (given.races == "fail" && !result.races.empty()) return ExitCode::failure_found;
  return exit_code(result);
}

}  // namespace

void add_check(VerbSet& verbs) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = verbs.add("check", "All interleavings of a program",
                             "  heddle check -- ./test                      under sequential consistency\n"
                             "  heddle check --memory-model tso -- ./test   with store buffers, as on x86\n"
                             "  heddle check --find-all --time 5m -- ./test\n"
                             "  heddle check --predict -- ./large           what follows from single runs\n"
                             "  heddle check --json -- ./test\n"
                             "  heddle check --jobs 8 --journal run.journal -- ./test\n"
                             "  heddle check --jobs 8 --resume run.journal -- ./test\n"
                             "Exit codes: 0 everything was explored and nothing fails, 10 failure, 12 "
                             "undecided: a limit, or something\n"
                             "in the program that cannot be explored.",
                             [options](const CommonOptions& common) { return run_verb(*options, common); });
  std::vector<std::string> names;
  for (const NamedAlgorithm& each : kAlgorithms) names.emplace_back(each.name);
  verb->add_option("--algorithm", options->algorithm,
                   "trees (default), mcr, mcr-s, mcr-s+, se-mcr, icb or dpor: docs/check.md tells them apart")
      ->check(CLI::IsMember(names));
  std::vector<std::string> engines;
  for (const NamedEngine& each : kEngines) engines.emplace_back(each.name);
  verb->add_option(
          "--engine", options->engine,
          "Which reads of a run can return something else (mcr, mcr-s, mcr-s+, se-mcr): saturation (default), "
          "smt (Z3, for comparison) or machine (all interleavings are enumerated)")
      ->check(CLI::IsMember(engines));
  verb->add_option("--races", options->races,
                   "Data races: report (default: told, no failure), fail (exit code 10) or off")
      ->check(CLI::IsMember({"report", "fail", "off"}));
  verb->add_flag("--predict", options->predict,
                 "Explore nothing: a few runs, and the races, null dereferences, uses after free and failing "
                 "assertions that "
                 "follow from them. For large programs");
  verb->add_option("--preemptions", options->preemptions,
                   "Only schedules with at most so many preemptions (not trees, dpor)");
  verb->add_option("--depth", options->depth, "Only so many steps into the program (not trees, dpor)");
  verb->add_option("-j,--jobs", options->jobs, "Worker processes (not dpor; default 1)")
      ->check(CLI::Range(1u, 256u));
  verb->add_option("--journal", options->journal,
                   "Write down in this new file what was done and what is left (not dpor)");
  verb->add_option("--resume", options->resume, "Go on with such a journal, of a run that ended or was killed");
  verb->add_flag("--count-outcomes", options->count_outcomes,
                 "Count what reads can return, all together, however many there are (trees; default: while "
                 "states are few)");
  verb->add_flag("--find-all", options->find_all, "Go on behind the first failure; one of each kind is kept");
  verb->add_option("--time", options->time, "How long at most, such as 30s or 5m (default: no limit)")
      ->check(duration_value());
  verb->add_option("--executions", options->executions, "How many executions of the program at most")
      ->check(whole_number(1));
  verb->add_option("--states", options->states, "How many states in one pass at most")->check(whole_number(1));
  verb->add_option("-o,--output", options->output,
                   "Where the schedule of the (first) failure goes; default APP.heddle, APP.1.heddle, ...");
  verb->add_flag("--no-shorten", options->no_shorten, "Keep schedules as they were found");
  verb->add_option("--shorten-time", options->shorten_time,
                   "How long to look for shorter schedules (default 20s)")
      ->check(duration_value());
  add_report_option(*verb, options->report);
  add_rule_options(*verb, options->control);
  add_launch_options(*verb, options->control);
  verb->add_option("APP", options->command, "The program and its arguments")->required();
}

}  // namespace heddle
