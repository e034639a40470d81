// The engine `deep`: goes on as long as it can, and comes back a little where it cannot.
//
// Made for long traces whose threads meet at every turn (racey), where an order has thousands of switches but a
// wrong one is noticed soon: what a thread reads in it does not lead along its path. So the way that was gone
// is right but for its last part, the window in which decisions are still open; behind it states are carried
// along and nothing is decided again. It is a search in depth over the states of search_state.h, in which dead
// ends are taken back one by one, with those states remembered that lie in the window: memory is bounded by the
// window, and what was forgotten costs time only, so an order that it does not find after all is proved
// impossible.
//
// Windows that are cut by stamps beforehand (windows_engine.h) are better where the stamps leave little open
// and wrong values show late, since they are solved with learning; here the border of the window is wherever
// the search stands, and no stamps are needed. Stamps act as order facts and as the preference
// `first_recorded`.
//
// There are two ways to go on, tried in turns with more effort each time: the running thread as long as it can
// (few switches), or who was first in the recording (clocks). Measures are not looked at: fewer_preemptions.h
// does that.
#pragma once

#include <memory>

#include "solve/engine.h"

namespace heddle {

std::unique_ptr<Engine> make_deep_engine();

}  // namespace heddle
