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
// Windows that are cut by stamps beforehand and solved one after another would need the same: a state between
// two windows that has to be taken back when the next one cannot go on from it. Here the border of the window
// is wherever the search stands, so none can lie badly, and how far it goes back is not decided beforehand.
// Stamps act as order facts and as the preference `first_recorded`. Where facts leave much open at a time, the
// engine `ordering` is better: it learns from conflicts over the whole trace, and the facts take candidates
// from its reads before it begins, which makes windows of their own (the ladder with n = 5000: 5.4 s with
// stamps, 8.5 s without; docs/reproduce.md).
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
