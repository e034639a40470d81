// Which calls of library functions are events of a flow recording, and whether the call is inside its event.
#pragma once

#include "instrument/flow_accesses.h"
#include "program/calls.h"

namespace heddle {

enum class FlowCall {
  none,    // no event, or the runtime makes it (synchronisation, allocation, what brings data in)
  inside,  // the event is about the ranges of the call and lasts as long as the call
  state,   // the same, and about the state of libraries as a whole
  before,  // an event of its own before the call, about the state of libraries: the call may wait, or call the
           // program
};
FlowCall flow_call(const CallInfo& info);

// Whether the program derives classes from the buffers of C++ streams; functions that call such.
bool has_stream_buffers(const llvm::Module& module);
bool calls_stream_buffer(const CallInfo& info);

// Plain: functions that do nothing but read and write their ranges.
FlowInside flow_inside(const CallInfo& info);

// What a function works on without being given it. Input, output, errors: the standard streams. Databases: of
// hosts, services, users, groups; libc keeps what it knows of them under locks of its own, so that calls at the
// same time would depend on their order.
enum class LibraryObject { none, input, output, errors, databases };
LibraryObject library_object(const CallInfo& info);

}  // namespace heddle
