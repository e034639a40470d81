// Synchronisation for the ordering engine.
//
// Creation, join and exit are edges of the order (ordering_model.h). Sections of a mutex exclude each other:
// for two of them, one ends before the other begins. All else is asked of SyncState when there is a total
// order: if it refuses an event, the order of the events of the same objects is the reason, and becomes a
// lemma: not all of these in this order, then this one, then the rest. The same with what must be so at the end
// of the run.
#pragma once

#include <map>
#include <vector>

#include "solve/ordering_sequence.h"
#include "solve/ordering_theory.h"

namespace heddle {

class OrderingSync {
 public:
  OrderingSync(const OrderingModel& model, SatSolver& solver, OrderingTheory& theory, OrderingValues& values);

  void add_clauses();  // what is known beforehand
  // Adds lemmas for what is refused in the sequence or, if nothing is, at its end. Whether there were any.
  bool add_lemmas(const OrderingSequence& sequence);
  // Where a part of a step could bring about the failure (OrderingCase::cut).
  std::vector<EventRef> cuts() const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Section {
    uint32_t thread;
    uint32_t begin, end;  // events; end: kNone if it does not end
  };
  struct Mutex {
    bool regular = true;  // each thread unlocks what it locked
    std::vector<Section> sections;
  };

  uint32_t group(uint64_t address, bool block);
  void join_groups(uint32_t a, uint32_t b);
  uint32_t find_group(uint32_t group) const;
  void make_groups();
  void group_blocks();
  uint32_t group_of(const Event& event) const;  // kNone: it has none
  void find_sections();
  void note_mutex_event(uint32_t thread, uint32_t event,
                        std::map<uint64_t, std::pair<uint32_t, uint64_t>>& held);
  void add_exclusion(const Section& a, const Section& b);
  bool exclude_holder(const OrderingSequence& sequence, EventRef refused);
  // The literals that say: the events of the group came in the order of the sequence, up to `stop` (if there is
  // one). `last`: the thread's last ones, the very last first; `next`: their first ones behind.
  std::vector<Literal> order_of(const OrderingSequence& sequence, uint32_t group, std::optional<EventRef> stop,
                                std::vector<EventRef>& last, std::vector<EventRef>& next);
  // All of them, and that `at` comes then.
  std::vector<Literal> order_until(const OrderingSequence& sequence, EventRef at);
  bool add_counts(const OrderingSequence& sequence);
  void add_refusal(const OrderingSequence& sequence, EventRef refused);
  void add_goal(const OrderingSequence& sequence, uint32_t group);
  Moment moment(EventRef ref) const { return model_.moment(ref.thread, ref.event); }
  Literal before(Moment a, Moment b);

  const OrderingModel& model_;
  SatSolver& solver_;
  OrderingTheory& theory_;
  OrderingValues& values_;
  std::map<uint64_t, uint32_t> group_of_address_;
  std::map<uint64_t, uint32_t> group_of_block_;  // by its address
  std::vector<uint32_t> parents_;
  std::map<uint64_t, Mutex> mutexes_;
  std::vector<std::vector<uint32_t>> groups_;  // by thread and event
};

}  // namespace heddle
