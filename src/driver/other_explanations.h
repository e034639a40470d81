// What else may have led to a recorded failure, when no run shows it that follows the events which lead the
// failing thread to its end: the trace knows what threads did to memory, and the failure may lie in something
// else.
//
// - All that was recorded came first. What other threads did outside memory counts then too (a file that was
// cut, a
//   message that was sent). The failing thread goes on last.
// - A block was used, or released, after its release by another thread. The C library notices damage to its
// heap
//   later and elsewhere ("malloc(): unaligned tcache chunk detected"), or never: a controlled run notices the
//   use. So for aborts and faults the uses of blocks that another thread releases are tried, those nearest to
//   the end first.
//
// As everywhere, only a run that fails is a result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "recording/recording_info.h"
#include "trace/trace.h"

namespace heddle {

struct Explanation {
  Trace trace;                   // with another failure to look for, and maybe an earlier end of a thread
  std::optional<uint32_t> last;  // this thread goes on behind the order
  std::string text;              // "all that was recorded came first"
};

class OtherExplanations {
 public:
  // The trace outlives this.
  OtherExplanations(const Trace& trace, const RecordedFailure& failure);

  std::optional<Explanation> next();

 private:
  struct Use {
    uint32_t thread = 0, event = 0;  // uses the block
    uint64_t address = 0;
    uint32_t releaser = 0;
  };

  void find_uses();
  Explanation all_first() const;
  Explanation used_after_release(const Use& use) const;

  const Trace& trace_;
  bool all_first_ = false;  // is still to be tried
  std::vector<Use> uses_;   // the best last
};

}  // namespace heddle
