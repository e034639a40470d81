#include "driver/replay.h"

#include <algorithm>
#include <charconv>

#include "replay/interrupt.h"
#include "schedule/measures.h"

namespace heddle {
namespace {

constexpr uint64_t kEventsToKeep = 1 << 18;
constexpr uint64_t kRunsToCompare = 10;

// Runs that differ from one another: which is the first event that does? Other runs have to say it: keeping
// events takes room on the stacks of the program, where one that reads what it has not written would find it.
Result<void> name_difference(ExecutionPlan plan, Executor& executor, const CodeNames& names,
                             const ReplayOptions& options, ReplayResult& result) {
  if (!result.divergence || result.divergence->kind != Divergence::Kind::values) return {};
  if (measure(*plan.schedule).events > kEventsToKeep) return {};
  plan.keep_events = true;
  std::optional<Execution> first;
  for (uint64_t i = 0; i < std::min(options.times, kRunsToCompare) && !interrupted(); ++i) {
    Execution run = HEDDLE_TRY(executor.execute(plan));
    if (!first) {
      first = std::move(run);
      continue;
    }
    std::optional<Divergence> between = divergence_between(*first, run, names);
    if (!between || between->step_text.empty()) continue;
    result.divergence = std::move(between);
    return {};
  }
  return {};
}

}  // namespace

RunRules rules_for(const Schedule& schedule, RunRules rules) {
  rules.memory_model = schedule.header.memory_model;
  rules.max_events = 0;
  constexpr std::string_view kExit = "exit:";
  const std::string_view failure = schedule.header.failure;
  if (failure.starts_with(kExit)) {
    uint8_t code = 0;
    std::from_chars(failure.data() + kExit.size(), failure.data() + failure.size(), code);
    rules.fail_at(code);
  }
  return rules;
}

Result<ReplayResult> replay(const Schedule& schedule, Executor& first, Executor& others, const CodeNames& names,
                            const ReplayOptions& options,
                            const std::function<void(const ReplayResult&)>& progress) {
  ReplayResult result;
  ExecutionPlan plan{.schedule = &schedule, .rules = rules_for(schedule, options.rules)};
  plan.fresh = true;
  plan.keep_schedule = true;
  while (result.runs < options.times) {
    Execution run = HEDDLE_TRY((result.runs == 0 ? first : others).execute(plan));
    if (run.outcome == Outcome::interrupted || interrupted()) {
      result.interrupted = true;
      break;
    }
    ++result.runs;
    std::optional<Divergence> divergence = divergence_from(schedule, run);
    // Two runs that differ from one another say where; the expectation only knows the sum.
    const bool vague = !divergence || divergence->kind == Divergence::Kind::values;
    if (vague && result.first)
      if (auto between = divergence_between(*result.first, run, names)) divergence = std::move(between);
    if (!divergence)
      ++result.reproduced;
    else if (!result.divergence || result.divergence->kind == Divergence::Kind::values) {
      if (!result.divergence || !divergence->step_text.empty()) {
        result.divergence = std::move(divergence);
        result.diverged_run = result.runs;
      }
    }
    if (!result.first) result.first = std::move(run);
    progress(result);
  }
  if (options.times > 1 && !result.interrupted)
    HEDDLE_TRY(name_difference(plan, others, names, options, result));
  return result;
}

}  // namespace heddle
