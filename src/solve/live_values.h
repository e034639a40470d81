// The values of one thread's expressions while its events are carried out, as few as will do: those that later
// events, constraints or the failure need, each computed as soon as the reads in it are known.
//
// What becomes of a thread depends on nothing else of what it read. So two runs in which these values agree are
// the same from there on, though the reads may have differed; and what a step changes is small, so that it can
// be taken back.
//
// A position is the number of events that the thread has done. A value is in a slot from the position at which
// it becomes known until the last one at which something is made of it; slots are used again.
#pragma once

#include <optional>
#include <vector>

#include "base/hash128.h"
#include "trace/trace.h"

namespace heddle {

struct LiveValue {
  const uint64_t* words = nullptr;  // the lowest first
  bool certain = true;              // as in expression_values.h
};

// What is known before anything is carried out: when each expression is computed, and where it is kept.
class LivePlan {
 public:
  // The trace outlives this. `number`: of the thread; `failure`: its condition, if it is about this thread
  LivePlan(const ThreadTrace& thread, uint32_t number, Expr failure);

  const ThreadTrace& thread() const { return *thread_; }
  size_t frame_words() const { return frame_words_; }

 private:
  friend class LiveValues;

  static constexpr uint32_t kNoSlot = UINT32_MAX;

  void find_uses(Expr failure);
  void use(Expr e, uint32_t position);
  void give_slots();

  const ThreadTrace* thread_;
  uint32_t number_;
  std::vector<uint32_t> known_;      // by expression: the first position
  std::vector<uint32_t> last_use_;   // the last position; 0: not needed
  std::vector<uint32_t> slots_;      // in the frame: certain or not, then the words; constants: in constants_
  std::vector<uint64_t> constants_;  // of 64 bits at most
  std::vector<std::vector<uint32_t>> computed_, dropped_;  // by position: expressions
  size_t frame_words_ = 0;
};

class LiveValues {
 public:
  explicit LiveValues(const LivePlan& plan);

  // The words that were changed, the oldest first: to be put back from the end.
  struct Change {
    uint32_t word;
    uint64_t old;
  };
  using Changes = std::vector<Change>;

  // On the way to a position, what becomes known there is computed. `read`: what the event before it read, if
  // it reads.
  void go_on(uint32_t to, LiveValue read);
  // Then the thread is there: what is no longer needed is dropped.
  void arrive(Changes& changes);
  void give_up() { to_.reset(); }  // or it does not arrive
  void take_back(const Change& change) { frame_[change.word] = change.old; }

  // requires: it is needed where the thread is, or on its way
  LiveValue value(Expr e) const;
  // Whether it has a value without what will be read on the way to the position.
  bool is_known_before(Expr e, uint32_t position) const { return plan_->known_[e.number] < position; }
  // Of the values that are kept. take_back() leaves it to the caller.
  Hash128 hash = {};

 private:
  void compute(Expr e, LiveValue read);
  void keep(Expr e, Changes& changes);
  void set(uint32_t word, uint64_t value, Changes& changes);
  Hash128 hash_of_slot(Expr e) const;

  const LivePlan* plan_;
  std::optional<uint32_t> to_;  // on the way
  std::vector<uint64_t> frame_;
  std::vector<uint64_t> fresh_;         // of expressions computed by the last go_on(), as in slots
  std::vector<uint32_t> fresh_places_;  // by expression; valid for those
};

}  // namespace heddle
