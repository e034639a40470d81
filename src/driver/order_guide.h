// An order of a trace's events as a guide for a controlled run.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "replay/guide.h"
#include "trace/evaluator.h"

namespace heddle {

struct OrderGuide {
  Guide guide;
  std::vector<size_t> items;  // by step of the guide: the last item of the order that it carries out
};

// A thread of a recording as schedules name it.
Result<ThreadName> recorded_thread(std::string_view text);

// Threads of the trace are those of the recording; the error names one whose creator has no log.
Result<OrderGuide> guide_of(const Trace& trace, std::span<const OrderItem> order);

}  // namespace heddle
