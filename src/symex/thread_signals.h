// Signals that threads send to one another and wait for (pthread_kill, sigwait): the receiving
// thread has a semaphore, whichever signal it is. Its posts are events of synchronisation.cpp.
#pragma once

#include "trace/trace.h"

namespace heddle {

// Where a thread has taken more signals than were sent by the program, others came from outside: then nothing
// is known of their order.
void forget_signals_from_outside(Trace& trace);

}  // namespace heddle
