// Whether a trace fits together, so that whoever uses it need not ask: what comes out of a file is checked, and
// what src/symex makes holds it.
//
//   - enumerations have values that exist; numbers of threads, places, approximations and expressions exist;
//   - widths: a value has 8 * size bits, an address 64, a condition 1, and a read is as wide as its event;
//   - expressions depend only on what the thread read before: a write on earlier events, an update also on its
//   own read, a
//     constraint on the events that it says come before it;
//   - accesses have 1 to kLargestAccess bytes and do not go round the end of the address space;
//   - constraints are in the order of their events; a thread is created at most once.
#pragma once

#include "trace/trace.h"

namespace heddle {

Result<void> check_trace(const Trace& trace);

}  // namespace heddle
