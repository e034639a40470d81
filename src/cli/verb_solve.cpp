// heddle solve: an order of the events of a trace that leads to its failure, without a run that follows it. For
// those who want to see the problem, compare engines, or take the formula elsewhere.
#include <fmt/format.h>

#include "base/duration.h"
#include "base/files.h"
#include "cli/control_options.h"
#include "cli/progress_line.h"
#include "cli/solve_options.h"
#include "cli/trace_input.h"
#include "driver/recording_summary.h"
#include "replay/interrupt.h"
#include "solve/doubted_clocks.h"
#include "solve/engines.h"
#include "solve/smt_engine.h"
#include "trace/trace_file.h"
#include "trace/trace_text.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kShownItems = 60;

struct Options {
  SolveOptions solve;
  std::string file, smt_lib;
  std::optional<unsigned> preemptions;
  bool all = false, core_facts = false;
};

Result<Trace> load(const Options& given) {
  if (!is_recording(given.file)) return load_trace(given.file);
  return trace_of_recorded(given.file, given.solve.program, given.solve.jobs);
}

ExitCode exit_code(SolveVerdict verdict) {
  switch (verdict) {
    case SolveVerdict::found:
      return ExitCode::ok;
    case SolveVerdict::impossible:
      return ExitCode::impossible;
    case SolveVerdict::undecided:
      return ExitCode::undecided;
  }
  return ExitCode::internal;
}

Json to_json(const Problem& problem, const SolveAnswer& answer, double seconds) {
  Json order = Json::array();
  for (const OrderItem& item : answer.order) {
    const ThreadTrace& thread = problem.trace->threads[item.thread];
    order.push_back({{"thread", thread.name},
                     {"event", item.event},
                     {"kind", item.flush ? "visible" : text_of(thread.events[item.event].kind)}});
  }
  Json statistics = Json::object();
  for (const auto& [name, number] : answer.statistics) statistics[name] = number;
  return {{"verdict", text_of(answer.verdict)},
          {"memory_model", text_of(problem.model)},
          {"facts", facts_name(*problem.trace, problem.clock_use())},
          {"doubted", doubted_texts(*problem.trace, problem.clock_use())},
          {"seconds", seconds},
          {"preemptions", answer.preemptions},
          {"switches", answer.switches},
          {"fewest", answer.fewest},
          {"why", answer.why},
          {"order", std::move(order)},
          {"statistics", std::move(statistics)}};
}

void print_answer(const Problem& problem, const SolveAnswer& answer, double seconds, const Options& given,
                  const CommonOptions& common) {
  const ClockUse use = problem.clock_use();
  const std::string facts = use.clocks ? " " + clock_use_text(*problem.trace, use) : "";
  if (answer.verdict == SolveVerdict::found && !common.quiet)
    fmt::print("{}", order_text(*problem.trace, problem.model, answer.order,
                                given.all ? answer.order.size() : kShownItems));
  switch (answer.verdict) {
    case SolveVerdict::found:
      fmt::print(stderr, "heddle: an order under {}{}: {}, {} switches{}; {:.2f} s\n", text_of(problem.model),
                 facts, counted(answer.preemptions, "preemption"), answer.switches,
                 answer.fewest ? ", proved to be the fewest preemptions" : ", the fewest that were found",
                 seconds);
      break;
    case SolveVerdict::impossible:
      fmt::print(stderr, "heddle: proved impossible under {}{}; {:.2f} s\n", text_of(problem.model), facts,
                 seconds);
      break;
    case SolveVerdict::undecided:
      fmt::print(stderr, "heddle: undecided after {:.2f} s: {}\n", seconds, answer.why);
  }
  for (const std::string& stamp : doubted_texts(*problem.trace, use))
    fmt::print(stderr, "  not taken for a fact: {}\n", stamp);
  if (common.verbose)
    for (const auto& [name, number] : answer.statistics) fmt::print(stderr, "  {}: {}\n", name, number);
}

Result<ExitCode> run_verb(const Options& given, const CommonOptions& common) {
  const std::unique_ptr<Engine> engine = HEDDLE_TRY(make_engine(given.solve.engine));
  const RunRules rules = HEDDLE_TRY(ControlOptions{.memory_model = given.solve.memory_model}.rules());
  const InterruptGuard guard;
  ProgressLine line(!common.quiet && !common.json);
  line.show("following each thread");
  const Trace trace = HEDDLE_TRY(load(given));
  line.clear();
  if (trace.failure.kind == FailurePredicate::Kind::none)
    return Error{.what = "there is no failure to explain",
                 .where = given.file,
                 .next = "heddle record --runs 1000 --chaos -- APP"};
  Problem problem{.trace = &trace, .model = rules.memory_model};
  if (given.core_facts)
    problem.use({.clocks = true, .slack = UINT64_MAX, .doubted = {}});  // no stamp is that far from another
  else if (!given.solve.no_clocks)
    problem.use(all_clocks(trace));
  if (!given.smt_lib.empty()) {
    const std::string formula = HEDDLE_TRY(smt_lib(problem, given.preemptions));
    HEDDLE_TRY(write_file(given.smt_lib, formula));
  }
  SolveLimits limits{
      .stop = &interrupt_flag(), .most_preemptions = given.preemptions, .jobs = given.solve.jobs};
  const Clock::time_point begin = Clock::now();
  limits.deadline = begin + (given.solve.time.empty() ? std::chrono::minutes(5)
                                                      : HEDDLE_TRY(parse_duration(given.solve.time)));
  if (!given.solve.improve.empty()) limits.improve = HEDDLE_TRY(parse_duration(given.solve.improve));
  limits.progress = [&](const std::string& text) { line.show_now_and_then(text); };
  SolveAnswer answer = engine->solve(problem, limits);
  if (answer.verdict == SolveVerdict::impossible && problem.clocks && !given.core_facts) {
    line.show("looking for stamps that contradict each other");
    const DoubtedClocks doubted = find_doubted_clocks(problem, limits);
    ClockUse use;
    if (doubted.end == DoubtedClocks::End::some) {
      use = problem.clock_use();
      use.doubted = doubted.bounds;
    }
    problem.use(use);
    answer = engine->solve(problem, limits);
  }
  if (answer.verdict == SolveVerdict::impossible && !trace.exact) {
    answer.verdict = SolveVerdict::undecided;
    answer.why = "no order was found, but the trace is not exact: it proves nothing";
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  line.clear();
  if (common.json)
    print_json(to_json(problem, answer, seconds));
  else
    print_answer(problem, answer, seconds, given, common);
  return exit_code(answer.verdict);
}

}  // namespace

void add_solve(VerbSet& verbs) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = verbs.add(
      "solve", "An order of recorded events that leads to the failure, without a run",
      "  heddle solve app.rec                          a recording, or a trace that heddle show made of it\n"
      "  heddle solve --engine search app.trace        with the fewest preemptions\n"
      "  heddle solve --smt-lib app.smt2 app.trace     the formula too, for any SMT solver\n"
      "  heddle solve --preemptions 1 app.trace        only orders with at most one\n"
      "Exit codes: 0 an order was found, 11 there is none under the memory model, 12 "
      "undecided.",
      [options](const CommonOptions& common) { return run_verb(*options, common); });
  add_solve_options(*verb, options->solve);
  verb->add_option("--memory-model", options->solve.memory_model, "sc (default), tso or pso");
  verb->add_option("--preemptions", options->preemptions, "Only orders with at most so many")
      ->check(whole_number());
  verb->add_option("--smt-lib", options->smt_lib, "Write the engine smt's formula to this file");
  verb->add_flag("--core-facts", options->core_facts,
                 "Of the facts of a recording by Intel PT use only the order in which cores ran threads");
  verb->add_flag("--all", options->all,
                 fmt::format("The whole order instead of its last {} events", kShownItems));
  verb->add_option("FILE", options->file, "A recording or a trace")->required();
}

}  // namespace heddle
