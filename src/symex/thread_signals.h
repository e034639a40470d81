// Signals that threads send to one another and wait for (pthread_kill, sigwait), and requests to end
// (pthread_cancel): the receiving thread has a semaphore for each of the two. Posts are events of
// synchronisation.cpp.
#pragma once

#include "abi/sync_kind.h"
#include "trace/trace.h"

namespace heddle {

// The address of the semaphore. A handle is that of a structure: what is next to it is no other's.
constexpr uint64_t signal_object(uint64_t handle, heddle_sync_kind kind) {
  return handle + (kind == HEDDLE_SYNC_thread_cancel ? 1 : 0);
}

// Where a thread has taken more than the program has sent, others came from outside: then nothing is known of
// their order.
void forget_signals_from_outside(Trace& trace);

}  // namespace heddle
