// What SyncState (trace/sync_state.h) does to one object, as terms: the state behind an operation from that
// before it, and whether the operation is possible.
#pragma once

#include <map>

#include "smt/smt_solver.h"
#include "trace/trace.h"

namespace heddle {

// Whatever is at an address. Threads are their number and 1; 0 is nobody.
struct SmtObjectState {
  static constexpr unsigned kFields = 11;
  enum Field : unsigned {
    holder,
    levels,
    readers,
    writer,
    count,
    arrived,
    inside,
    round,
    semaphore,
    runner,
    done,
  };
  SmtTerm fields[kFields];
  uint32_t used = 0;  // bits: fields that operations on this object look at
};

uint32_t used_fields(EventKind kind);

// What a thread knows of the barrier at which it arrived.
struct SmtBarrierSeen {
  SmtTerm round, last;
};

// Sizes of blocks by address; 0: there is none.
struct SmtBlockState {
  std::map<uint64_t, SmtTerm> used, released;
};

class SmtObjects {
 public:
  explicit SmtObjects(SmtSolver& solver) : solver_(solver) {}

  SmtObjectState initial();
  SmtObjectState variable(uint64_t address, uint32_t used);
  SmtTerm same(const SmtObjectState& a, const SmtObjectState& b);  // in what a uses
  SmtTerm can_lock(const SmtObjectState& mutex, uint32_t thread, bool recursive);
  // For all kinds but waits (smt_sync.cpp), threads and blocks.
  SmtTerm is_enabled(const SmtObjectState& object, uint32_t thread, const Event& event,
                     const SmtBarrierSeen& seen);
  SmtObjectState after(const SmtObjectState& object, uint32_t thread, const Event& event,
                       const SmtBarrierSeen& seen);
  SmtObjectState locked(SmtObjectState mutex, uint32_t thread);
  SmtObjectState unlocked(const SmtObjectState& mutex, bool recursive);
  SmtBarrierSeen seen_after(const SmtObjectState& object, const Event& event, const SmtBarrierSeen& seen);

  SmtTerm is_free(const SmtBlockState& blocks, uint64_t address, uint64_t size);
  SmtTerm is_released(const SmtBlockState& blocks, uint64_t address);
  SmtBlockState after(const SmtBlockState& blocks, const Event& event);

 private:
  SmtTerm is(SmtTerm field, int64_t value) { return solver_.equal(field, solver_.number(value)); }
  SmtTerm is_positive(SmtTerm field) { return solver_.less(solver_.number(0), field); }
  SmtTerm covers(const std::map<uint64_t, SmtTerm>& blocks, uint64_t address);

  SmtSolver& solver_;
};

}  // namespace heddle
