// A problem as a formula (CLAP section 3.2): order variables, and what each constraint of an order means for
// them. It says exactly what evaluate() does, the operational store buffers of the dissertation (section 3.2.1)
// included: a formula has a solution if and only if there is an order; where the theory cannot say what a
// machine computes, values are not constrained (`is_approximated()`).
//
// Each event has a variable that says whether it is done, and one for when; a buffered write has the same for
// its flush. The parts:
//   path, failure       smt_encoding.cpp
//   read-write, memory order (Φrw, Φmo)   smt_memory.cpp
//   synchronisation (Φso)                 smt_sync.cpp, smt_objects.cpp
//   context-switch bound (section 4.2)    smt_switches.cpp; preemptions as order_measures.h counts them
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "smt/smt_solver.h"
#include "solve/known_order.h"
#include "solve/order_needs.h"
#include "solve/problem.h"
#include "solve/smt_objects.h"
#include "trace/evaluator.h"

namespace heddle {

class SmtEncoding {
 public:
  SmtEncoding(const Problem& problem, SmtSolver& solver, std::function<bool()> should_end);

  // Why the problem cannot be written down; empty if it can.
  const std::string& refusal() const { return refusal_; }
  // Both: whether they were not ended before, since formulas may become large.
  bool encode();              // all but the bound. requires: no refusal()
  bool encode_preemptions();  // what the bound is about, behind encode()
  SmtTerm at_most_preemptions(unsigned count);
  bool is_approximated() const { return approximated_; }
  // Of Φrw: orders between a write that is read and another one, and how many there would be without facts.
  struct ReadWriteCounts {
    uint64_t constraints = 0, without_facts = 0;
  };
  const ReadWriteCounts& read_write_counts() const { return counts_; }
  // requires: the solver's last answer was satisfiable
  std::vector<OrderItem> order();

 private:
  struct Moment {
    SmtTerm done, when;
  };
  struct Value {
    SmtTerm bits, certain;
  };
  // Memory that is always touched as a whole.
  struct Piece {
    uint64_t address = 0;
    uint32_t size = 0;
  };
  struct Write {
    EventRef event;
    Moment moment;  // of becoming visible
  };
  // A point in the order: before an event, directly behind it, or the end.
  struct Point {
    enum class Kind : uint8_t { before, behind, end } kind = Kind::end;
    EventRef event;
  };

  const Event& event(EventRef ref) const { return problem_.event(ref); }
  const std::vector<Event>& events(uint32_t thread) const { return problem_.trace->threads[thread].events; }
  const Moment& moment(EventRef ref) const { return moments_[ref.thread][ref.event]; }
  uint32_t threads() const { return static_cast<uint32_t>(problem_.trace->threads.size()); }
  bool is_buffered(EventRef ref) const;
  SmtTerm is_before(const Moment& a, const Moment& b) { return solver_.less(a.when, b.when); }
  SmtTerm happened(const Moment& moment, EventRef own, const Point& point);
  SmtTerm is_at_end(uint32_t thread);

  // ---- smt_encoding.cpp
  void make_moments();
  void encode_program_order();
  void encode_steps();
  void encode_facts();
  void encode_path();
  void encode_failure();
  Value expression(uint32_t thread, Expr e);
  SmtTerm holds(uint32_t thread, Expr condition);  // or is not certain

  // ---- smt_memory.cpp
  void find_pieces();
  void encode_flushes();
  void encode_flush_order();
  bool count_constraints(const std::vector<EventRef>& accesses,
                         const std::map<size_t, std::vector<Write>>& writes);
  bool encode_accesses();
  void make_read(EventRef ref);
  void encode_read(EventRef ref, const std::map<size_t, std::vector<Write>>& writes);
  std::vector<Write> candidates(EventRef ref, const std::vector<Write>& writes) const;
  bool is_known_before(EventRef a, EventRef b) const;
  void drop_overwritten(EventRef ref, std::vector<Write>& writes) const;
  std::vector<EventRef> next_on_each(const std::vector<Write>& writes, EventRef after) const;
  bool follows_by_facts(EventRef read, const std::vector<EventRef>& next, EventRef other) const;
  Value read_piece(EventRef ref, size_t piece, const std::vector<Write>& writes);
  std::vector<size_t> pieces_of(EventRef ref) const;
  SmtTerm address_of(EventRef ref);
  SmtTerm touches(EventRef ref, size_t piece);
  Value written(EventRef ref, size_t piece);
  Value memory_before(size_t piece);
  SmtTerm overlap(EventRef a, EventRef b);

  // ---- smt_sync.cpp
  void find_sync();
  bool encode_sync();
  void encode_waits();
  void encode_semaphore_value(EventRef ref, const SmtObjectState& state);
  SmtObjectState state_at(uint64_t object, const Point& point);
  SmtBlockState blocks_at(const Point& point);
  SmtBarrierSeen barrier_seen(uint32_t thread, uint32_t position);
  SmtTerm is_woken(EventRef begin, uint64_t condition, const Point& point);
  SmtTerm is_enabled(uint32_t thread, const Event& operation, uint32_t position, const Point& point);

  // ---- smt_switches.cpp
  SmtTerm is_preempted(EventRef ref);

  const Problem& problem_;
  SmtSolver& solver_;
  std::function<bool()> should_end_;
  OrderNeeds needs_;
  KnownOrder known_;
  ReadWriteCounts counts_;
  std::string refusal_;
  bool approximated_ = false;
  std::vector<std::vector<Moment>> moments_;
  std::map<EventRef, Moment> flushes_;
  std::vector<Piece> pieces_;                              // by address
  std::vector<std::vector<std::optional<Value>>> reads_;   // by thread and event
  std::vector<std::vector<std::optional<Value>>> values_;  // by thread and expression
  std::map<uint64_t, std::vector<EventRef>> operations_;   // by object
  std::map<uint64_t, uint32_t> used_;                      // by object: SmtObjectState::used
  std::map<EventRef, SmtObjectState> after_;               // behind operations
  std::map<EventRef, SmtBarrierSeen> seen_after_;
  std::vector<EventRef> block_operations_;
  std::map<EventRef, SmtBlockState> blocks_after_;
  std::vector<uint64_t> block_addresses_;
  std::map<EventRef, EventRef> wait_begins_;                // of ends of waits
  std::map<uint32_t, EventRef> open_waits_;                 // by thread: at its end it waits
  std::map<std::pair<EventRef, EventRef>, SmtTerm> takes_;  // end of a wait, signal
  std::vector<SmtTerm> preemptions_;
};

}  // namespace heddle
