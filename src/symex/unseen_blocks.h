// Memory that a library releases or allocates by itself: an exception at the end of its last handler, a string
// that strdup made. Nobody sees that, and what is seen of such memory does not fit together: it is allocated
// again while it is in use.
#pragma once

#include "trace/trace.h"

namespace heddle {

// Allocations and releases that no order could have are events no more (EventKind::sync), and so are all others
// of the same memory; registered as an approximation (D8), since orders are possible now that were not. Without
// a double free, a block that is released once more than it was allocated was allocated by a library in
// between.
enum class DoubleFrees : uint8_t { none, one };
void forget_unseen_blocks(Trace& trace, DoubleFrees double_frees);

// A flag of std::call_once in memory that was released and used again, with another flag there: which of the
// two an event means is not known, so they order nothing.
void forget_reused_flags(Trace& trace);

}  // namespace heddle
