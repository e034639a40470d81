// Engines as the portfolio uses them (portfolio.h).
//
// Clocks are assumptions that make problems small (problem.h): an order that was found by their help need not
// keep to them, and one with fewer preemptions mostly cannot. As soon as an order was refuted by a run they are
// kept: then the trace is not all that matters, and what is nearest to the recording is the best guess.
#pragma once

#include <memory>

#include "solve/engine.h"

namespace heddle {

// Its answers with fewer preemptions (fewer_preemptions.h), and without the clocks.
std::unique_ptr<Engine> make_improving_engine(std::unique_ptr<Engine> engine);

// The engine for the problem without the clocks: what it proves holds without them.
std::unique_ptr<Engine> make_clockless_engine(std::unique_ptr<Engine> engine);

}  // namespace heddle
