// An order of a trace's events as a guide for a controlled run.
#pragma once

#include <span>

#include "base/result.h"
#include "replay/guide.h"
#include "trace/evaluator.h"

namespace heddle {

// Threads of the trace are those of the recording; the error names one whose creator has no log.
Result<Guide> guide_of(const Trace& trace, std::span<const OrderItem> order);

}  // namespace heddle
