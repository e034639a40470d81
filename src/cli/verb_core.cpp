// heddle core: from a core file to a schedule that fails in the same way.
#include <fmt/core.h>

#include "base/duration.h"
#include "base/process.h"
#include "cli/control_options.h"
#include "cli/progress_line.h"
#include "cli/report_output.h"
#include "cli/schedule_output.h"
#include "cli/schedule_story.h"
#include "driver/core_search.h"
#include "replay/interrupt.h"

namespace heddle {
namespace {

constexpr uint64_t kDefaultMaxEvents = 10'000'000;
constexpr size_t kShownVariables = 10;

struct Options {
  ControlOptions control{.max_events = kDefaultMaxEvents};
  std::string core, time, shorten_time, output, report, order, debug_file, snapshots;
  std::optional<uint64_t> tries, instructions;
  unsigned preemptions = 2, jobs = 1;
  bool no_shorten = false;
  std::vector<std::string> command;
};

struct Outcomes {
  CoreCase core;
  PassingRun passing;
  CoreSearchResult search;
  SnapshotCounts snapshots;  // of the search
  std::optional<Confirmation> confirmation;
  std::optional<Execution> told;         // the best schedule once more, with its events
  std::optional<uint64_t> instructions;  // of the failing thread in it
  std::string output;
};

std::string variable_text(const CriticalVariable& variable, const CodeNames& names, uint64_t load_base) {
  if (!variable.difference.path.empty()) return variable.difference.path;
  const std::string name = names.variable_at(variable.difference.address, load_base);
  return name.empty() ? fmt::format("{:#x}", variable.difference.address) : name;
}

std::string alignment_text(const Outcomes& all, const ControlledProgram& program) {
  const std::optional<Alignment>& alignment = all.passing.alignment;
  if (!alignment && all.core.indexes[all.core.failing].index.frames.empty()) return "none";
  if (!alignment) return "none: no thread of the passing run begins like the failing one";
  const ThreadName thread = thread_names(all.passing.execution.created)[alignment->thread];
  if (alignment->exact) return fmt::format("exact, thread {}", thread.text());
  if (!alignment->predicate)
    return fmt::format("closest, thread {}: {} of {} calls of the stack happened", thread.text(),
                       alignment->frames, all.core.indexes[all.core.failing].index.frames.size());
  return fmt::format("closest, thread {}: the run takes another way at {}", thread.text(),
                     place_text(program.place_of_site(alignment->predicate->value)));
}

void print_core(const Outcomes& all, const ControlledProgram& program, const CommonOptions& common) {
  const CoreCase& core = all.core;
  fmt::print(stderr, "heddle: {}\n  {}, thread {} of {}\n",
             core.failure.headline.empty() ? core.failure.identity : core.failure.headline,
             core.failure.identity, core.stacks[core.failing].tid, counted(core.stacks.size(), "thread"));
  const CoreIndex& index = core.indexes[core.failing];
  if (common.verbose) fmt::print(stderr, "  index: {}\n", index_text(index.index, *core.regions));
  if (index.unknown_counts != 0)
    fmt::print(stderr, "  of {} around the failure the iteration is not known: any of them is taken\n",
               counted(index.unknown_counts, "loop"));
  for (const std::string& note : core.notes) fmt::print(stderr, "  note: {}\n", note);
  for (const std::string& note : all.passing.notes) fmt::print(stderr, "  note: {}\n", note);
  fmt::print(stderr, "  aligned point in a passing run: {}\n", alignment_text(all, program));
  fmt::print(stderr, "  {} compared, {} differ, of them critical: {}\n",
             counted(all.passing.comparison.compared, "value"), all.passing.comparison.differences.size(),
             all.passing.critical.size());
  const auto type_of = [&](const MemoryDifference& difference) {
    return common.verbose && !difference.type.empty() ? fmt::format(" ({})", difference.type) : "";
  };
  const size_t most = common.verbose ? 10 * kShownVariables : kShownVariables;
  size_t shown = 0;
  for (const CriticalVariable& variable : all.passing.critical) {
    if (++shown > most) {
      fmt::print(stderr, "    ... and {} more{}\n", all.passing.critical.size() - most,
                 common.verbose ? "" : " (-v, --json)");
      break;
    }
    const std::string name = variable_text(variable, program, all.passing.execution.load_base);
    if (variable.sync)
      fmt::print(stderr, "    {}: threads of the core wait here\n", name);
    else if (variable.spun)
      fmt::print(stderr, "    {}: threads of the core read it again and again\n", name);
    else
      fmt::print(stderr, "    {}{}: {} in the core, {} in the passing run\n", name,
                 type_of(variable.difference), variable.difference.failing_text,
                 variable.difference.passing_text);
  }
}

std::string_view end_word(CoreSearchResult::End end) {
  switch (end) {
    case CoreSearchResult::End::found:
      return "found";
    case CoreSearchResult::End::exhausted:
      return "exhausted";
    case CoreSearchResult::End::limit:
      return "limit";
    case CoreSearchResult::End::interrupted:
      return "interrupted";
    case CoreSearchResult::End::stopped:
      return "stopped";
  }
  return "";
}

Json to_json(const Outcomes& all, const ControlledProgram& program) {
  const CoreCase& core = all.core;
  const CoreIndex& index = core.indexes[core.failing];
  Json critical = Json::array();
  for (const CriticalVariable& variable : all.passing.critical)
    critical.push_back({{"name", variable_text(variable, program, all.passing.execution.load_base)},
                        {"type", variable.difference.type},
                        {"core", variable.sync ? Json() : Json(variable.difference.failing_text)},
                        {"passing", variable.sync ? Json() : Json(variable.difference.passing_text)},
                        {"accesses", variable.accesses}});
  Json json = {{"verdict", all.confirmation ? "reproduced" : "undecided"},
               {"search", end_word(all.search.end)},
               {"failure", core.failure.identity},
               {"index", index_text(index.index, *core.regions)},
               {"index_length", index_length(index.index, *core.regions)},
               {"unknown_counts", index.unknown_counts},
               {"aligned", alignment_text(all, program)},
               {"exact", all.passing.alignment && all.passing.alignment->exact},
               {"compared", all.passing.comparison.compared},
               {"differences", all.passing.comparison.differences.size()},
               {"critical", std::move(critical)},
               {"candidates", all.search.candidates},
               {"tries", all.search.tries},
               {"by_chance", all.search.by_chance},
               {"events", all.search.events},
               {"prefix_events", all.search.prefix_events},
               {"snapshots", {{"taken", all.snapshots.taken}, {"runs", all.snapshots.runs}}},
               {"seconds", static_cast<double>(all.search.elapsed.count()) / 1000},
               {"notes", core.notes},
               {"passing_notes", all.passing.notes}};
  if (all.confirmation) {
    json["reproduced"] = all.confirmation->best.failure->to_json();
    json["match"] = text_of(all.search.matched);
    if (all.instructions) json["instructions"] = *all.instructions;
    json["confirmed"] = all.confirmation->confirmed;
    json["schedule"] = all.output;
    json["measures"] = measures_json(measure(all.confirmation->best.schedule));
  }
  return json;
}

void print_result(const Outcomes& all, const Options& given, const CodeNames& names) {
  if (!all.confirmation) {
    std::string why = fmt::format("all combinations of preemptions at {} were tried, then random schedules",
                                  counted(all.search.candidates, "point"));
    if (all.search.end == CoreSearchResult::End::limit) why = "the limit (--tries, --time) came first";
    if (all.search.end == CoreSearchResult::End::interrupted) why = "interrupted";
    if (all.search.end == CoreSearchResult::End::stopped) why = unfinished_text(all.search.last);
    const bool over = all.search.end == CoreSearchResult::End::exhausted;
    fmt::print(stderr,
               "heddle: undecided: no failing schedule in {} ({})\n  why: {}\n  next: {}heddle hunt -- {}, or "
               "--memory-model tso\n",
               counted(all.search.tries, "run"), duration_text(all.search.elapsed), why,
               over ? "" : "more of it (--time 1h, --tries 1000000), ", shell_quote(given.command));
    return;
  }
  const Confirmation& confirmation = *all.confirmation;
  fmt::print(stderr, "{}", schedule_story(all.told ? *all.told : confirmation.best, names));
  fmt::print(stderr, "heddle: {}", confirmation.best.failure->report());
  fmt::print(stderr,
             "heddle: reproduced {}: {}\n  found in try {}{} after {}, {}; shown again by {} fresh processes\n",
             all.search.matched == CoreMatch::same    ? "the failure of the core"
             : all.search.matched == CoreMatch::cause ? "the cause of the core's failure"
                                                      : "a failure like the core's, at another place",
             confirmation.best.failure->identity, all.search.tries, all.search.by_chance ? " (at random)" : "",
             duration_text(all.search.elapsed),
             counted(measure(confirmation.best.schedule).preemptions, "preemption"), confirmation.confirmed);
  fmt::print(stderr, "{}", schedule_next_text(all.output));
}

Result<ExitCode> run_verb(const Options& given, const CommonOptions& common) {
  CoreSearchOptions options{.rules = HEDDLE_TRY(given.control.rules()), .preemptions = given.preemptions};
  if (given.order == "chess") options.order = CoreOrder::chess;
  if (given.order == "dependence") options.order = CoreOrder::dependence;
  if (given.tries) {
    options.tries = *given.tries;
    options.time.reset();
  }
  if (!given.time.empty()) options.time = HEDDLE_TRY(parse_duration(given.time));
  std::chrono::milliseconds shorten_time = std::chrono::seconds(10);
  if (!given.shorten_time.empty()) shorten_time = HEDDLE_TRY(parse_duration(given.shorten_time));

  ControlSetup setup = HEDDLE_TRY(setup_command(given.command, given.control.environment));
  HEDDLE_TRY(given.control.apply(setup.launch));
  HEDDLE_TRY(set_input(setup.launch, given.control.input));
  HEDDLE_TRY(check_output(given.output));
  HEDDLE_TRY(check_report_folder(given.report));
  const InterruptGuard guard;
  ProgressLine line(!common.quiet && !common.json);
  line.show("reading the core");
  ScheduleOutput output(setup.program->executable(), given.output);
  Outcomes all;
  all.core = HEDDLE_TRY(open_core(given.core, *setup.program, setup.launch.command, given.debug_file));
  line.show("following a run without preemptions");
  const std::unique_ptr<ControlledProgram> follow =
      HEDDLE_TRY(ControlledProgram::open(setup.program->executable(), "follow"));
  all.passing = HEDDLE_TRY(passing_run(all.core, *follow, setup.launch, options.rules, given.instructions));
  line.clear();
  if (!common.quiet && !common.json) print_core(all, *setup.program, common);

  if (all.passing.execution.outcome == Outcome::passed || all.passing.execution.outcome == Outcome::failed) {
    setup.launch.snapshots = given.snapshots == "on"    ? SnapshotUse::always
                             : given.snapshots == "off" ? SnapshotUse::never
                                                        : SnapshotUse::automatic;
    ProgramExecutor executor(*setup.program, setup.launch);
    std::optional<TryPool> pool;
    if (given.jobs > 1) pool.emplace(*setup.program, setup.launch, given.jobs - 1);
    all.search = HEDDLE_TRY(search_core(all.core, all.passing, *setup.program, executor,
                                        pool ? &*pool : nullptr, options, [&](const CoreSearchResult& so_far) {
                                          line.show_now_and_then(fmt::format("searching: {}, {}",
                                                                             counted(so_far.tries, "run"),
                                                                             duration_text(so_far.elapsed)));
                                        }));
    pool.reset();
    all.snapshots = executor.snapshots();
    line.clear();
    if (common.verbose && all.snapshots.runs != 0 && !common.json)
      fmt::print(stderr, "  {} of {} began at a snapshot of what they have in common ({} of them)\n",
                 all.snapshots.runs, counted(all.search.tries, "run"), all.snapshots.taken);
    if (given.jobs > 1 && executor.renewal() != Renewal::reset && !common.quiet && !common.json)
      fmt::print(stderr, "  note: {}: runs at the same time may have been in each other's way\n",
                 executor.renewal_reason());
    if (all.search.end == CoreSearchResult::End::found) {
      Confirmation confirmation = HEDDLE_TRY(confirm(all.search.last, executor, options.rules, 3));
      if (confirmation.confirmed > 0) {
        output.save(confirmation.best.schedule);
        if (!given.no_shorten && !interrupted()) {
          line.show("shortening");
          HEDDLE_TRY(shorten(confirmation, executor, options.rules, shorten_time));
          line.clear();
          output.save(confirmation.best.schedule);
        }
        all.output = output.file();
        Execution told = HEDDLE_TRY(executor.execute({.schedule = &confirmation.best.schedule,
                                                      .rules = options.rules,
                                                      .fresh = true,
                                                      .keep_events = true}));
        if (told.failed_as(confirmation.best.failure->identity)) all.told = std::move(told);
        if (common.json)
          all.instructions = HEDDLE_TRY(
              instructions_of_failure(*follow, setup.launch, options.rules, confirmation.best.schedule));
        all.confirmation = std::move(confirmation);
      }
    }
  } else {
    all.search.end = CoreSearchResult::End::stopped;
    all.search.last = all.passing.execution;
  }
  if (common.json)
    print_json(to_json(all, *setup.program));
  else
    print_result(all, given, *setup.program);
  if (all.confirmation)
    HEDDLE_TRY(write_report(given.report, all.confirmation->best.schedule, setup,
                            {.rules = options.rules, .origin = "core", .schedule_file = all.output}, common));
  HEDDLE_TRY(output.written());
  return all.confirmation ? ExitCode::ok : ExitCode::undecided;
}

}  // namespace

void add_core(VerbSet& verbs) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = verbs.add(
      "core", "From a core file to a schedule that fails in the same way",
      "  heddle core core -- ./app input             the program that left it, with the same arguments\n"
      "  heddle core core.zst -o bug.heddle -- ./app compressed by zstd\n"
      "  gcore -o hang PID; heddle core hang.PID -- ./app\n"
      "                                              of a process that does not go on\n"
      "Exit codes: 0 found, and replayed; 12 no failing schedule within the limits; 3 the core is damaged or "
      "of "
      "another program.",
      [options](const CommonOptions& common) { return run_verb(*options, common); });
  verb->add_option("CORE", options->core, "The core file")->required();
  verb->add_option("--tries", options->tries, "How many runs at most (default 100000)")->check(whole_number(1));
  verb->add_option("--time", options->time, "How long to search at most (default 5m; no limit with --tries)")
      ->check(duration_value());
  verb->add_option(
          "-j,--jobs", options->jobs,
          "Runs at the same time: others are performed ahead, the order of tries stays (default 1; not for "
          "programs that write files)")
      ->check(CLI::Range(1, 256));
  verb->add_option("--debug-file", options->debug_file,
                   "The symbols of a stripped program (default: its .gnu_debuglink or build id is looked up)");
  verb->add_option(
      "--instructions", options->instructions,
      "As a baseline: align by the number of instructions that the failing thread had performed, as "
      "--json tells it of a schedule that was found, instead of by the index");
  verb->add_option(
          "--snapshots", options->snapshots,
          "Whether runs begin at copies of the process that stand where they part: auto (default: where that "
          "saves time), on or off")
      ->check(CLI::IsMember({"auto", "on", "off"}));
  verb->add_option("--preemptions", options->preemptions, "In combinations of up to so many (default 2)")
      ->check(CLI::Range(1, 2));
  verb->add_option("--order", options->order,
                   "temporal (default: by the distance in time to the failure), dependence (by the number of "
                   "dependences to it) or chess (in the order of the run, as a baseline)")
      ->check(CLI::IsMember({"temporal", "dependence", "chess"}));
  verb->add_option(
      "-o,--output", options->output,
      "Where the schedule goes; default APP.heddle, APP.1.heddle, ...: the first that is not there yet");
  verb->add_flag("--no-shorten", options->no_shorten, "Keep the schedule as it was found");
  verb->add_option("--shorten-time", options->shorten_time,
                   "How long to look for shorter schedules (default 10s)")
      ->check(duration_value());
  add_report_option(*verb, options->report);
  add_rule_options(*verb, options->control);
  add_launch_options(*verb, options->control);
  verb->add_option("APP", options->command, "The program and its arguments")->required();
}

}  // namespace heddle
