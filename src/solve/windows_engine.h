// The engine `windows`: the engine `ordering` on one part of a long trace after the other.
//
// Facts about time cut the trace: at each of some times there are events that had ended by then, and events
// that had not begun; the former come before the latter. A window has what may have happened up to such a time
// behind the state that was reached, and is solved so that all is done that had ended (window_problem.h). Of
// its order only the part up to the time before is kept: what comes behind it says whether that part was right,
// since wrong values show later. The next window begins in the state behind it (carried_state.h). The time that
// this takes grows with the length of the trace, not faster. (The ladder, solve/ladder.h, with n = 20,000:
// docs/reproduce.md. A wrong value shows where a branch depends on it, so a window should have some hundred
// events: with 150 some were taken back, with 300 to 1,000 nearly none, and larger ones take longer.)
//
// A window that has no order (or takes too much effort) began in a wrong state: it begins one window earlier
// then, or two, or four: at last it is the whole beginning of the trace. So nothing is lost by a bad cut. If
// facts say too little for windows, or windows lead nowhere, the engine `ordering` gets the whole problem; only
// it says "impossible".
//
// For SC, and addresses that do not depend on reads; else it is the engine `ordering`.
#pragma once

#include <memory>

#include "solve/engine.h"

namespace heddle {

// `events`: that a window has, about. Traces with fewer than two are not cut.
std::unique_ptr<Engine> make_windows_engine(uint32_t events = 400);

}  // namespace heddle
