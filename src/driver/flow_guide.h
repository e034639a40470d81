// The order of a replayed flow recording as a guide for a controlled run: so a flow recording becomes a
// schedule, which can be made shorter, opened in gdb and reported on. The replay says what the last event of
// each of its steps was (abi/flow.h); what it cannot name (libraries, the heap) the controlled run does in its
// own time.
#pragma once

#include <span>

#include "abi/flow.h"
#include "base/result.h"
#include "program/program.h"
#include "recording/flow_log.h"
#include "replay/guide.h"

namespace heddle {

Result<Guide> flow_guide(const std::vector<FlowThread>& threads, std::span<const heddle_flow_name> names,
                         const Program& program);

}  // namespace heddle
