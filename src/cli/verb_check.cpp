// heddle check: all interleavings of a program.
#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "base/duration.h"
#include "base/process.h"
#include "cli/check_text.h"
#include "cli/control_options.h"
#include "cli/progress_line.h"
#include "cli/report_output.h"
#include "cli/schedule_output.h"
#include "driver/output_calls.h"
#include "driver/unseen_code.h"
#include "replay/interrupt.h"

namespace heddle {
namespace {

constexpr uint64_t kDefaultMaxEvents = 1'000'000;

struct Options {
  ControlOptions control{.max_events = kDefaultMaxEvents};
  std::string time, shorten_time, output, report, algorithm, engine, races;
  std::optional<uint64_t> executions, states, preemptions, depth;
  bool find_all = false, count_outcomes = false, no_shorten = false, predict = false;
  unsigned jobs = 1;
  std::string journal, resume;
  std::vector<std::string> command;
};

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
    out.push_back("the C++ library, which spins before it waits, does so to the end or not at all");
  if (result.progress.library_retries)
    out.push_back("the C++ library, which gives locks back and tries again (std::lock), does so however often");
  if (result.progress.stream_formats)
    out.push_back("width, fill and flags of a stream that several threads use matter to its output only");
  if (!executor.renewal_reason().empty())
    out.push_back(
        fmt::format("calls of the system have no effect on other threads ({})", executor.renewal_reason()));
  return out;
}

Result<ExitCode> run_verb(const Options& given, const CommonOptions& common) {
  ExploreOptions options{.rules = HEDDLE_TRY(given.control.rules()), .find_all = given.find_all};
  if (given.executions) options.executions = *given.executions;
  if (given.states) options.states = *given.states;
  if (given.count_outcomes) options.counted_states = UINT64_MAX;
  if (!given.algorithm.empty())
    options.algorithm = std::ranges::find(kAlgorithms, given.algorithm, &NamedAlgorithm::name)->algorithm;
  else if (given.preemptions || given.depth)
    options.algorithm = Algorithm::icb;  // misses nothing within the bound
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
  LibraryCode library = library_code(setup.program->program());
  options.library_sites = std::move(library.all);
  options.retry_sites = std::move(library.tries_locks_again);
  options.format_sites = std::move(library.formats);
  options.undefined_sites = std::move(library.string_moves);
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
    line.show_now_and_then(check_progress_text(progress, by_seeds));
  }));
  doubt(result, unseen);
  std::vector<FoundFailure> found;
  Result<void> written;
  for (const Execution& failure : result.failures) {
    line.show(fmt::format("found: {}; shortening", failure.failure->identity));
    FoundFailure each{.confirmation =
                          HEDDLE_TRY(confirm(failure, executor, options.rules, kCheckConfirmations))};
    if (!given.no_shorten && each.confirmation.confirmed == kCheckConfirmations && !interrupted())
      HEDDLE_TRY(shorten(each.confirmation, executor, options.rules, shorten_time));
    ScheduleOutput output(setup.program->executable(), found.empty() ? given.output : "");
    if (each.confirmation.best.schedule_complete) output.save(each.confirmation.best.schedule);
    each.schedule = output.file();
    if (written) written = output.written();
    found.push_back(std::move(each));
  }
  line.clear();
  const std::vector<std::string> assumed = assumptions(result, executor, unseen);
  if (common.json)
    print_json(check_json(result, found, assumed, name_of(options.algorithm), *setup.program));
  else
    print_check(result, found, assumed, common, *setup.program);
  for (size_t i = 0; i < found.size() && !given.report.empty(); ++i)
    if (found[i].confirmation.best.schedule_complete)
      HEDDLE_TRY(write_report(i == 0 ? given.report : fmt::format("{}/{}", given.report, i + 1),
                              found[i].confirmation.best.schedule, setup,
                              {.rules = options.rules,
                               .origin = "check",
                               .schedule_file = found[i].schedule,
                               .assumptions = assumed},
                              common));
  HEDDLE_TRY(written);
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
                             "  heddle check --preemptions 2 -- ./large     all schedules with at most two\n"
                             "  heddle check --json -- ./test\n"
                             "  heddle check --jobs 8 --journal run.journal -- ./test\n"
                             "  heddle check --jobs 8 --resume run.journal -- ./test\n"
                             "Exit codes: 0 everything was explored and nothing fails, 10 failure, 12 "
                             "undecided: a limit, or something\n"
                             "in the program that cannot be explored.",
                             [options](const CommonOptions& common) { return run_verb(*options, common); });
  std::vector<std::string> names;
  for (const NamedAlgorithm& each : kAlgorithms) names.emplace_back(each.name);
  verb->add_option(
          "--algorithm", options->algorithm,
          "trees (default), mcr, mcr-s, mcr-s+, se-mcr, icb (default with --preemptions or --depth) or dpor: "
          "docs/check.md tells them apart")
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
