// What signal handlers of a recording did to memory and semaphores.
//
// A handler has a log of its own (NAME@1 for those that interrupted thread NAME). It says what the handler did,
// but not between which two instructions of the thread. So of memory that handlers write nothing is known
// wherever it is read (D8), and a semaphore that they post orders nothing.
#pragma once

#include <set>

#include "symex/machine.h"
#include "symex/symbolic_trace.h"

namespace heddle {

struct HandlerEffects {
  SharedBytes written;
  std::set<uint64_t> posted;  // semaphores
  bool anywhere = false;      // something was written, nobody knows where
};

HandlerEffects effects_of_handlers(const SymbolicInput& input, CodeCache& code);

// Semaphores that handlers post: their events order nothing.
void forget_posts_of_handlers(const HandlerEffects& handlers, Trace& trace);

}  // namespace heddle
