// Values that reads of the ordering engine have, as variables "this read has this value".
//
// Where a read can have only few values (found by going round: what its writes can write, what conditions on it
// alone leave), all of them have variables and all that follows from what is written as clauses beforehand, so
// that a condition also says what is not read. Elsewhere variables and clauses are made when a value comes out:
// a read's, when its sources and what they depend on are known; a condition's, when its reads are known.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "solve/address_cases.h"
#include "solve/ordering_model.h"
#include "solve/sat_solver.h"
#include "solve/value_table.h"

namespace heddle {

class OrderingValues {
 public:
  // Ends early if it is stopped, or if values depend on too many reads: then it is not complete, and nothing
  // more is to be asked.
  OrderingValues(const OrderingModel& model, SatSolver& solver, AddressCases& addresses,
                 const std::function<bool()>& stopped);
  bool is_complete() const { return complete_; }

  // Finds out which values are possible. Ends early if it is stopped; then nothing more is to be asked.
  void find_possible(const std::function<bool()>& stopped);
  // requires: the reads' variables exist. Makes the clauses there are beforehand; `executed`: the literal.
  void encode(const std::function<Literal(Moment)>& executed, const std::function<bool()>& stopped);

  // "The count of a semaphore that is read here is this."
  Literal count_literal(uint32_t read_event, uint64_t count) {
    return literal_of(read_event, table_.number({&count, 1}));
  }

  // For the theory: this read has a source; this literal (perhaps one of these) is true.
  void note_source(uint32_t read, const std::vector<uint32_t>& sources);
  void note_value(Literal literal, const std::vector<uint32_t>& sources);
  void new_level() { levels_.push_back(set_.size()); }
  void backtrack(uint32_t level);

  uint64_t closed_reads() const { return closed_reads_; }

 private:
  static constexpr ValueNumber kNone = UINT32_MAX;
  using ReadSet = std::vector<uint32_t>;  // read events

  struct Condition {
    uint32_t thread;
    Expr expression;
    ReadSet reads;
    Moment guard;     // must hold if this is carried out
    uint32_t access;  // its address (AddressCases), which must be as the case says; kNone: a plain condition
    Literal guarded{};
    bool clauses = false;  // written beforehand
  };
  struct Domain {
    bool open = false;
    std::vector<ValueNumber> values;
  };

  bool find_dependences(const std::function<bool()>& stopped);
  void add_condition(uint32_t thread, Expr expression, Moment guard, uint32_t access = kNone);
  bool holds(const Condition& condition, std::span<const ValueNumber> tuple);
  ReadSet reads_in(uint32_t thread, Expr expression);
  bool is_always_guarded(const Condition& condition, uint32_t read_event) const;
  bool has_simple_sources(const OrderingReadEvent& event) const;
  ValueNumber initial_value(const OrderingReadEvent& event);
  bool each_tuple(const ReadSet& reads, size_t most,
                  const std::function<void(std::span<const ValueNumber>)>& visit);
  ValueNumber evaluate(uint32_t thread, Expr expression, const ReadSet& reads,
                       std::span<const ValueNumber> tuple);
  bool fits(uint32_t read_event, ValueNumber value);
  void find_written(uint32_t write);
  size_t clauses_beforehand();     // how many there would be
  bool grow(uint32_t read_event);  // its domain, by its sources; whether it did
  Literal literal_of(uint32_t read_event, ValueNumber value);
  void encode_source(uint32_t read_event, const OrderingCandidate& candidate);
  void encode_condition(Condition& condition);
  bool has_values(const ReadSet& reads) const;
  void try_value(uint32_t read_event, const std::vector<uint32_t>& sources);
  void check(const Condition& condition);
  const Event& event_of(const OrderingWrite& write) const { return model_.event(write.thread, write.event); }

  const OrderingModel& model_;
  SatSolver& solver_;
  AddressCases& addresses_;
  ValueTable table_;
  std::vector<PoolEvaluator> pools_;
  std::vector<ReadSet> write_reads_;  // by write: what its value depends on
  std::vector<std::vector<uint32_t>> dependent_writes_, dependent_conditions_;  // by read event
  std::vector<std::vector<uint32_t>> write_candidates_;                         // by write: read events
  std::vector<Condition> conditions_;
  std::vector<Domain> domains_;   // by read event
  std::vector<Domain> written_;   // by write
  std::vector<uint32_t> groups_;  // by read event
  std::vector<std::unordered_map<ValueNumber, uint32_t>> variables_;
  struct Meaning {
    uint32_t read_event = UINT32_MAX;
    ValueNumber value = 0;
  };
  std::vector<Meaning> meanings_;    // by variable
  std::vector<ValueNumber> values_;  // by read event: now
  std::vector<uint32_t> set_;        // read events, in the order of being set
  std::vector<size_t> levels_;
  bool complete_ = false;
  uint64_t dependences_ = 0;  // of all writes and conditions on reads
  uint64_t closed_reads_ = 0;
};

}  // namespace heddle
