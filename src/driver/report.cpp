#include "driver/report.h"

#include <fmt/core.h>

#include "driver/replay.h"
#include "replay/interrupt.h"

namespace heddle {

Result<ReportResult> report(const Schedule& schedule, Executor& executor, const CodeNames& names,
                            const ReportOptions& options) {
  const RunRules rules = rules_for(schedule, options.rules);
  options.progress("replaying");
  Execution run = HEDDLE_TRY(executor.execute(
      {.schedule = &schedule, .rules = rules, .fresh = true, .keep_schedule = true, .keep_events = true}));
  if (run.outcome != Outcome::failed || !run.schedule_complete) return ReportResult{.last = std::move(run)};
  FindingContext context{.names = names,
                         .executor = executor,
                         .rules = rules,
                         .origin = options.origin,
                         .schedule_file = options.schedule_file,
                         .replays = 1,
                         .reproduced = 1,
                         .assumptions = options.assumptions};
  for (unsigned i = 1; i < options.replays && !interrupted(); ++i) {
    const Execution again =
        HEDDLE_TRY(executor.execute({.schedule = &schedule, .rules = rules, .fresh = true}));
    if (again.outcome == Outcome::interrupted) break;
    ++context.replays;
    if (again.failed_as(run.failure->identity)) ++context.reproduced;
  }
  if (!RunOrder(run).complete())
    context.assumptions.push_back(fmt::format(
        "The run has more events than could be kept ({}): neither the whole of it nor its cause is shown.",
        run.kept_events.size()));
  const WhyOptions why_options{.rules = rules, .time = options.time, .progress = options.progress};
  const Why why = HEDDLE_TRY(explain(run, executor, names, why_options));
  options.progress("collecting stacks and sources");
  FailureFinding finding = HEDDLE_TRY(make_finding(run, why, context));
  return ReportResult{.finding = std::move(finding), .last = std::move(run)};
}

}  // namespace heddle
