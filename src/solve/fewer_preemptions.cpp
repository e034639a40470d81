#include "solve/fewer_preemptions.h"

#include <fmt/format.h>

#include <algorithm>

#include "solve/guided_run.h"
#include "solve/order_measures.h"
#include "solve/reads_from.h"

namespace heddle {
namespace {

// Whether any stop could be left out.
bool leave_out_all(GuidedRun& run, size_t size, const SolveLimits& limits) {
  bool any = false;
  for (size_t end = run.stops(); end > 0 && !limits.reached();) {
    const size_t begin = end > size ? end - size : 0;
    const bool better = run.leave_out(begin, end);
    any |= better;
    end = std::min(begin, run.stops());
    if (better && limits.progress)
      limits.progress(fmt::format("an order with {} preemptions", run.measures().preemptions));
  }
  return any;
}

void leave_out_stops(GuidedRun& run, const SolveLimits& limits) {
  for (size_t size = run.stops(); size > 0; size /= 2)
    while (leave_out_all(run, size, limits) && size == 1);
}

}  // namespace

SolveAnswer with_fewer_preemptions(const Problem& problem, SolveAnswer answer, const SolveLimits& limits) {
  HEDDLE_CHECK(answer.verdict == SolveVerdict::found);
  if (answer.fewest) return answer;
  const SearchPlan plan(problem);
  GuidedRun run(plan, limits);
  if (!run.follow(answer.order)) return answer;
  leave_out_stops(run, limits);
  const Evaluation judged = evaluate(*problem.trace, problem.model, run.order());
  HEDDLE_CHECK(judged.kind == Evaluation::Kind::holds);
  const OrderMeasures measures = measure(problem, run.order());
  answer.statistics["moves for fewer preemptions"] = run.moves();
  if (std::pair(measures.preemptions, measures.switches) >= std::pair(answer.preemptions, answer.switches) ||
      is_refuted(problem, run.order()))
    return answer;
  answer.order = run.order();
  answer.preemptions = measures.preemptions;
  answer.switches = measures.switches;
  answer.fewest = answer.preemptions == 0;
  return answer;
}

}  // namespace heddle
