// Runs a program at full speed and waits for it, as a debugger that looks only when a thread is about to die of
// a signal: which one, where, of what address. Where ptrace is forbidden, how it ends is all that is known.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "pt/traced_end.h"

namespace heddle {

// After the time limit it is killed, which is a hang.
Result<TracedEnd> run_and_wait(const std::vector<std::string>& command,
                               std::optional<std::chrono::milliseconds> time_limit);

// What a signal that comes now does to this process.
enum class SignalEffect { none, caught, deadly };
SignalEffect effect_of_signal(int pid, int signal);

}  // namespace heddle
