// From a flow recording of a failure to a schedule of a controlled run: the order of its replay is followed by
// names, confirmed and made shorter like the answers of the engines.
#pragma once

#include "driver/confirm.h"
#include "driver/failure_match.h"
#include "replay/guide.h"

namespace heddle {

struct FlowReproduceOptions {
  RunRules rules;
  unsigned confirmations = 3;
  std::optional<std::chrono::milliseconds> shorten;  // none: as it was found
};

struct FlowReproduction {
  FailureMatch matched = FailureMatch::none;
  std::string why;  // none: what the controlled run did instead
  Confirmation confirmation;
};

Result<FlowReproduction> reproduce_flow(const Guide& guide, const RecordedFailure& failure, Executor& executor,
                                        const FlowReproduceOptions& options);

}  // namespace heddle
