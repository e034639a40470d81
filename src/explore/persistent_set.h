// Who has to go on at a state so that nothing is missed: a persistent set of actions.
//
// Threads and store buffers are members; a set is closed under "somebody outside will do something that
// conflicts with what a member does next". What threads will do is what is known of them so far (explorer.h
// says why that is enough). What ends the process conflicts with everything. Of the sets that are found the
// smallest is taken.
//
// Buffered stores become visible as late as possible: directly before somebody else's next operation touches
// the memory. Every run can be brought into that form: until then nobody can tell, and what empties a buffer
// makes its stores visible anyway.
#pragma once

#include <optional>
#include <vector>

#include "explore/machine.h"

namespace heddle {

class PersistentSet {
 public:
  PersistentSet(const Behaviour& behaviour, const OperationalMachine& machine)
      : behaviour_(behaviour), machine_(machine) {}

  // Empty: nobody can go on. `awaits`: set if a thread could, but only waits for a change (behaviour.h).
  std::vector<Action> find(const MachineState& state, bool& awaits);
  // Whether a thread goes on only when its stores are visible: as under SC.
  void set_at_once(bool at_once) { at_once_ = at_once; }
  // All that could be done in the state that was asked for last.
  std::vector<Action> possible() const;

 private:
  struct Member {
    std::vector<Action> actions;
    std::vector<Use> uses;                      // of those, and of what cannot be done now; sorted
    std::vector<Use> stores;                    // of buffers: of all that is in it
    std::vector<bool> wanted;                   // of buffers: each store
    std::optional<std::vector<size_t>> needed;  // needed_by(), once it was asked for
  };

  void describe_thread(const MachineState& state, uint32_t thread, bool& awaits);
  void describe_buffers(const MachineState& state);
  bool want_more(const MachineState& state);
  bool will_conflict(const MachineState& state, const std::vector<Use>& uses, size_t member) const;
  const std::vector<size_t>& needed_by(const MachineState& state, size_t each);
  std::vector<Action> closed_set(const MachineState& state, size_t first, size_t most);

  const Behaviour& behaviour_;
  const OperationalMachine& machine_;
  bool at_once_ = false;
  uint32_t count_ = 0;           // of threads
  std::vector<Member> members_;  // threads, then their buffers; kept for their memory
  std::vector<size_t> inside_;   // closed_set(): the same
  std::vector<Use> use_;         // want_more(): the same
};

}  // namespace heddle
