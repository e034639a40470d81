// libstdc++ spins before it waits (__atomic_spin in <bits/atomic_wait.h>): it reads a word up to 16 times, and
// gives way after each of the last four. What it does then does not depend on how often it has read in vain, so
// a change that comes meanwhile can as well come before the first of these reads: whoever has begun to spin
// goes on to the end, alone.
//
// Recognised by its shape, as far as a run has shown it: reads of other loops in code of the C++ library may be
// counted by the program (`while (!flag.load() && tries < 10) ++tries`, where load() is a function of a
// header).
#pragma once

#include <cstdint>
#include <optional>

#include "explore/behaviour.h"

namespace heddle {

inline constexpr uint64_t kStepsOfLibrarySpin = 20;

// The thread has read there, and is about to do so again: it may have begun to spin, and what it does then is
// not known. What it has read.
std::optional<uint64_t> library_read_again(const Behaviour& behaviour, NodeId at);

// The thread has begun to spin there, and goes on if it reads this again (where it does not read next: at
// once).
std::optional<uint64_t> library_spin(const Behaviour& behaviour, NodeId at);

}  // namespace heddle
