// Which steps of a path may not be swapped: what each of them uses, and whose it is.
#pragma once

#include <span>

#include "explore/machine.h"

namespace heddle {

struct PathStep {
  Action action;
  std::vector<Use> uses;  // sorted
  bool is_read = false;   // of memory, or a weak fence: the thread's own stores may become visible before or after it
  bool buffers = false;   // enters the thread's buffer
  uint32_t entered = 0;   // its number there
  std::vector<Store> flushed;  // what becomes visible: the pieces of one store
  bool ends_all = false;  // the process ends, or everybody else has to wait
};

// What the action does at this state; also where it cannot be done now.
PathStep step_at(const Behaviour& behaviour, const OperationalMachine& machine, const MachineState& state,
                 const Action& action);

// Does the later step need the earlier one before it? Of one thread that is so as seldom as possible: a store
// that became visible only because nobody else could tell at that time (closure.h) must not come along with
// everything that the thread does afterwards. Others may want to read there what was before.
bool are_dependent(const OperationalMachine& machine, const PathStep& earlier, const PathStep& later);

// Of the path from this state those steps that the last one needs before it, in their order, and the last one
// itself: the seed interleaving of MCR (definition 3.1.1, property 1 in section 5.3.3). The whole path where
// what is left cannot be carried out.
std::vector<Action> steps_before_last(const Behaviour& behaviour, const OperationalMachine& machine,
                                      const MachineState& start, std::span<const Action> path);

bool is_possible(const OperationalMachine& machine, const MachineState& state, const Action& action);

}  // namespace heddle
