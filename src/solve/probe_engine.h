// The engine `probe`: guided runs (guided_run.h) with no stop, one, or two, at places where a preemption is
// likely to matter. Most failures need few of them (CLAP section 4.3, and CHESS before it), and each run is
// linear, so that long traces are no obstacle. It finds orders or does not; it proves nothing.
//
// Places, the likeliest first: before an access without any lock; before a lock is taken; all others. Of each
// kind they are tried with large distances first, since what is wrong in a loop is wrong in most of its rounds,
// and beginning at the end, since a run from there is short. Then the same with another guide: other threads
// first, and buffered writes later.
#pragma once

#include <memory>

#include "solve/engine.h"

namespace heddle {

std::unique_ptr<Engine> make_probe_engine();

}  // namespace heddle
