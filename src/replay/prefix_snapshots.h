// Which runs begin at a snapshot of the prefix that they have in common with an earlier one, instead of at the
// start (section 5 of Weeratunge et al. suggests it; runtime/control/prefix_snapshot.c performs it).
//
// A snapshot costs a copy of the process, for itself and for each run that begins there. The first run of a
// series is therefore performed in a process of its own that leaves snapshots where much processor time has
// passed, several times as much as a copy takes (both are measured). When there is no such place, runs go on in
// one process that is reset; a run that took long there asks the question again. Snapshots from which runs take
// hardly less time than from the start (they copy what they write to) are given up, too.
//
// What a run does is not changed: schedules, values and results are those of a run from the start.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "replay/executor.h"
#include "replay/session.h"

namespace heddle {

enum class SnapshotUse : uint8_t { never, automatic, always };  // always: whatever they cost; for tests

struct SnapshotCounts {
  uint64_t taken = 0;
  uint64_t runs = 0;  // that began at one
};

class PrefixSnapshots {
 public:
  explicit PrefixSnapshots(SnapshotUse use) : use_(use) {}

  // Whether this plan is to be performed with them. Requires of who asks: fibres, and no program start per run.
  bool wanted(const ExecutionPlan& plan) const;

  // Fills in what `plan` says of snapshots; the rest of it must be what the runtime gets.
  SnapshotRequest request(heddle_plan& plan, const GivenSteps& given);
  // Of the request before it. False: it came to nothing, the plan is to be performed again without snapshots.
  bool performed(const SessionAnswer& answer);

  // A run from the start, by other means.
  void note_run(const heddle_result& result);
  void session_ended();  // and all snapshots with it

  uint32_t kept() const;  // bits: for requests that have nothing to do with snapshots
  const SnapshotCounts& counts() const { return counts_; }

 private:
  struct Snapshot {
    heddle_plan plan{};  // without the schedule
    GivenSteps given;    // up to where it stands
    uint64_t events = 0;
    uint32_t parent = 0;
    uint64_t used = 0;  // by which request, at last
  };
  static bool fits(const Snapshot& snapshot, const heddle_plan& plan, const GivenSteps& given);
  void drop(uint32_t number);
  void make_room(uint32_t server);

  SnapshotUse use_;
  bool refused_ = false;
  bool worth_ = true;     // as far as is known
  uint32_t in_vain_ = 0;  // runs that could have left one, and did not
  std::array<std::optional<Snapshot>, HEDDLE_CONTROL_SNAPSHOTS> snapshots_;
  uint64_t requests_ = 0;
  uint64_t longest_ = 0;  // events of a run that passed
  uint64_t fork_time_ = 0;
  uint64_t start_time_ = 0;                  // processor time of a run from the start, at last
  uint64_t branch_time_ = 0, branches_ = 0;  // of those from snapshots: sum, number
  struct {
    heddle_plan plan{};
    GivenSteps given;
    uint32_t server = 0;
  } last_;
  SnapshotCounts counts_;
};

}  // namespace heddle
