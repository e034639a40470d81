// What the control runtime answered, copied out of the shared memory and checked: from here on no index or
// count can be out of bounds, whatever the program did to that memory.
#pragma once

#include <string>
#include <vector>

#include "abi/control.h"
#include "base/result.h"
#include "schedule/thread_name.h"

namespace heddle {

struct Answer {
  heddle_result result{};  // text is terminated; counts match the lists below
  std::vector<heddle_step> steps;
  std::vector<heddle_thread_entry> threads;
  std::vector<heddle_wait> waits;
  std::vector<heddle_event> events;  // performed, then pending
  std::vector<heddle_move> moves;
};

// Names of the threads by the chain of their creators; requires a checked answer.
std::vector<ThreadName> thread_names(const std::vector<heddle_thread_entry>& threads);

// The error about memory that cannot have been written by the runtime.
Error damaged_answer(std::string where);

// Checks what refers to something else: creators, threads of steps, waits and events. The error says what is
// wrong: the program has overwritten heddle's memory.
Result<void> check_answer(const Answer& answer);

}  // namespace heddle
