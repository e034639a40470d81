#include "explore/dependence.h"

#include <algorithm>

namespace heddle {

PathStep step_at(const Behaviour& behaviour, const OperationalMachine& machine, const MachineState& state,
                 const Action& action) {
  PathStep step{.action = action};
  const ThreadState& self = state.threads[action.thread];
  if (action.flush) {
    const auto found = std::ranges::find(self.buffer, *action.flush, &Store::address);
    for (auto each = found; each != self.buffer.end() && each->number == found->number; ++each) {
      add_memory(step.uses, each->address, each->size, true);
      step.flushed.push_back(*each);
    }
    std::ranges::sort(step.uses);
    return step;
  }
  const Behaviour::Node& node = behaviour.node(self.node);
  if (node.state != Behaviour::State::goes_on) return step;
  const Operation& operation = node.operation;
  behaviour.uses(node, step.uses);
  step.is_read = operation.kind == HEDDLE_EVENT_read ||
                 (operation.kind == HEDDLE_EVENT_fence && operation.order != HEDDLE_ORDER_seq_cst);
  step.buffers = machine.buffers(operation);
  if (step.buffers) {
    step.uses.clear();
    step.entered = self.next_number;
  }
  behaviour.uses_always(node, step.uses);
  if (!step.is_read && !step.buffers)
    for (const Store& store : self.buffer) add_memory(step.uses, store.address, store.size, true);
  std::ranges::sort(step.uses);
  if (!action.timeout)
    step.ends_all = machine.ends_all(state, action.thread) || machine.begins_alone(state, action.thread);
  return step;
}

bool are_dependent(const OperationalMachine& machine, const PathStep& earlier, const PathStep& later) {
  if (earlier.ends_all || later.ends_all) return true;
  const bool first_flushes = earlier.action.flush.has_value(), second_flushes = later.action.flush.has_value();
  if (earlier.action.thread == later.action.thread) {
    if (!first_flushes && !second_flushes) return true;
    if (first_flushes && second_flushes)
      return std::ranges::any_of(earlier.flushed, [&](const Store& older) {
        return std::ranges::any_of(later.flushed, [&](const Store& younger) {
          return older.number < younger.number && machine.holds_back(older, younger);
        });
      });
    const PathStep& run = first_flushes ? later : earlier;
    if (run.is_read) return false;
    if (!run.buffers) return true;  // empties the buffer
    return second_flushes && !later.flushed.empty() && earlier.entered == later.flushed.front().number;
  }
  return conflict(earlier.uses, later.uses);
}

bool is_possible(const OperationalMachine& machine, const MachineState& state, const Action& action) {
  if (action.thread >= state.threads.size() || !state.threads[action.thread].there) return false;
  if (action.timeout) return machine.may_time_out(state, action.thread);
  if (!action.flush) return machine.is_enabled(state, action.thread);
  const std::vector<Action> flushes = machine.flushes(state, action.thread);
  return std::ranges::find(flushes, action) != flushes.end();
}

std::vector<Action> steps_before_last(const Behaviour& behaviour, const OperationalMachine& machine,
                                      const MachineState& start, std::span<const Action> path) {
  std::vector<PathStep> steps;
  MachineState state = start;
  for (const Action& action : path) {
    steps.push_back(step_at(behaviour, machine, state, action));
    if (steps.size() < path.size()) machine.perform(state, action);
  }
  const MachineState before_last = state;
  std::vector<bool> needed(steps.size());
  needed.back() = true;
  for (size_t i = steps.size() - 1; i-- > 0;)
    for (size_t j = i + 1; j < steps.size() && !needed[i]; ++j)
      needed[i] = needed[j] && are_dependent(machine, steps[i], steps[j]);
  std::vector<Action> out;
  state = start;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!needed[i]) continue;
    const bool is_last = i + 1 == steps.size();
    if (!is_possible(machine, state, path[i]) ||
        (!is_last && machine.perform(state, path[i]) == OperationalMachine::Step::unknown))
      return {path.begin(), path.end()};
    out.push_back(path[i]);
  }
  const uint32_t thread = path.back().thread;
  const bool same = state.threads[thread].node == before_last.threads[thread].node &&
                    machine.next_input(state, thread) == machine.next_input(before_last, thread);
  return same ? out : std::vector<Action>(path.begin(), path.end());
}

}  // namespace heddle
