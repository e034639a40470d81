// Preemptions that give a run which another one has given: of what the thread that was preempted does between
// the two, nothing conflicts with what came in between there.
#pragma once

#include <deque>
#include <vector>

#include "driver/core_candidates.h"
#include "driver/run_conflicts.h"

namespace heddle {

class RepeatedTries {
 public:
  struct Try {
    CoreCandidate made;                 // with the least weight for which further ones were looked for
    std::vector<heddle_event> between;  // until the thread that was preempted went on
    Places places;                      // that these concern
    bool alone = true;                  // they are of one thread
  };

  // Of this run, by preemptions of threads that go on next when the others have stopped.
  explicit RepeatedTries(const std::vector<heddle_event>& events) : events_(events) {}

  // Null: it gives another run than all so far.
  Try* find(const CoreCandidate& candidate);
  // The run that it gave.
  void add(const CoreCandidate& made, const std::vector<heddle_event>& run);

 private:
  // The thread was still awaited when nobody else could go on.
  static bool in_vain(const CoreCandidate& candidate, const Try& of);
  bool same_between(size_t one, size_t other, const Try& of) const;

  const std::vector<heddle_event>& events_;
  std::deque<Try> tries_;  // not all of a long search
  size_t kept_ = 0;        // events of these
};

}  // namespace heddle
