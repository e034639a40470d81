// A total order made from the partial one that the ordering engine has: the running thread goes on as long as
// it can. What is still wrong with it says what the partial order lacks.
//
// A thread can go on if all that comes before its next moment is done, synchronisation allows it (SyncState),
// and nothing is overwritten that is still to be read; the last only if there is a choice.
#pragma once

#include <optional>
#include <vector>

#include "solve/ordering_model.h"
#include "trace/evaluator.h"
#include "trace/sync_state.h"

namespace heddle {

class OrderingSequence {
 public:
  // Who comes next, where there is a choice.
  enum class Next : uint8_t {
    round,     // the running thread; else the next one, in turn
    earliest,  // the running thread; else the earliest by OrderingModel::times
    in_time,   // always the earliest
  };
  // Carries out all that comes before the end. `sources`: by read, the candidate that it reads from, if it has
  // one.
  OrderingSequence(const OrderingModel& model, const std::vector<uint32_t>& sources, Next next);

  struct WrongRead {  // finds this write instead of what it is to read
    uint32_t read, write;
  };
  const std::vector<WrongRead>& wrong_reads() const { return wrong_; }
  // Events that synchronisation does not allow, though all that comes before them is done. None: it is
  // complete.
  const std::vector<EventRef>& refused() const { return refused_; }
  struct Count {  // of a semaphore, read by the event
    EventRef event;
    uint64_t count;
  };
  const std::vector<Count>& counts() const { return counts_; }
  const std::vector<Moment>& moments() const { return moments_; }
  const SyncState& sync() const { return sync_; }
  std::vector<OrderItem> items() const;

 private:
  std::optional<Moment> choose(uint32_t running, bool careful) const;
  bool can_come(uint32_t chain, bool careful) const;
  bool is_ready(Moment moment) const;
  bool overwrites(Moment moment) const;  // what is still to be read
  bool overwrites(uint32_t write, Moment moment) const;
  void perform(Moment moment);
  void read(uint32_t number);
  void make_visible(uint32_t write);
  void note_refused();
  uint32_t& unread(uint32_t write, uint32_t cell) {
    return write == kInitial ? unread_initial_[cell]
                             : unread_[first_unread_[write] + cell - model_.writes[write].first_cell];
  }

  const OrderingModel& model_;
  const std::vector<uint32_t>& sources_;
  Next next_;
  std::vector<uint32_t> limits_, done_;            // by chain: how many come before the end, and are done
  std::vector<uint32_t> first_unread_;             // by write: in unread_
  std::vector<uint32_t> unread_initial_, unread_;  // how many are still to read it
  std::vector<uint32_t> memory_;                   // by cell: the write that is there
  std::vector<bool> visible_;                      // by write
  std::vector<Moment> moments_;
  std::vector<WrongRead> wrong_;
  std::vector<EventRef> refused_;
  std::vector<Count> counts_;
  SyncState sync_;
};

}  // namespace heddle
