// A recording by Stride's bounded linkage (Zhou et al., ICSE 2012), a baseline: of each location the writes are
// known in their order, and of each read the write that it saw. From that follows what flow recording writes
// down: a read came after its write, and before the next write there.
#pragma once

#include <vector>

#include "recording/flow_log.h"

namespace heddle {

// Adds edges for the versions of all threads; each thread's edges are in order of its events again.
void resolve_links(std::vector<FlowThread>& threads);

}  // namespace heddle
