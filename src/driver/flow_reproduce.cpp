#include "driver/flow_reproduce.h"

#include "driver/reproduce.h"
#include "replay/interrupt.h"

namespace heddle {

Result<FlowReproduction> reproduce_flow(const Guide& guide, const RecordedFailure& failure, Executor& executor,
                                        const FlowReproduceOptions& options) {
  FlowReproduction result;
  Execution run = HEDDLE_TRY(
      executor.execute({.guide = &guide, .rules = options.rules, .fresh = true, .keep_schedule = true}));
  if (run.outcome == Outcome::failed && run.failure) result.matched = match(failure, *run.failure);
  if (result.matched == FailureMatch::none) {
    result.why = what_happened(run);
    return result;
  }
  result.confirmation = HEDDLE_TRY(confirm(std::move(run), executor, options.rules, options.confirmations));
  if (options.shorten && result.confirmation.confirmed >= options.confirmations && !interrupted())
    HEDDLE_TRY(shorten(result.confirmation, executor, options.rules, *options.shorten));
  return result;
}

}  // namespace heddle
