// The engine `search`: schedules with 0, 1, 2, ... preemptions, without duplicates, cut at the first constraint
// that does not hold (CLAP section 4.3). Its answers have the fewest preemptions. How it goes: searcher.h; what
// it leaves out, and why it may: search_state.h.
#pragma once

#include <memory>

#include "solve/engine.h"

namespace heddle {

std::unique_ptr<Engine> make_search_engine();

}  // namespace heddle
