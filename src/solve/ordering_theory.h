// The theory of the ordering engine: which write each read reads from, and the order of moments that follows.
//
// Variables: "this cell of a read is read from this write" and "this moment comes before that one" (made when
// they are needed). True ones put edges into the order; a cycle is a conflict. Further:
//   - from-read and coherence: between a write w and a read r that reads from it, no other write w' of the cell
//     becomes visible. If w' comes before r it comes before w; if it comes after w it comes after r. Of each
//     chain only the last such write before r and the first after w say something new;
//   - a read does not read from what comes after it, nor from what is overwritten before it;
//   - known orders give values to the order's variables.
// That is what "Satisfiability modulo ordering consistency theory" (He, Sun, Fan, PLDI 2021) does, here with a
// store buffer: a read may read its own thread's last write before that is visible; it reads another one only
// if its own came before that.
#pragma once

#include <unordered_map>
#include <vector>

#include "solve/ordering_model.h"
#include "solve/ordering_values.h"
#include "solve/sat_solver.h"

namespace heddle {

class OrderingTheory : public SatTheory {
 public:
  static constexpr uint32_t kNoSource = UINT32_MAX;

  // All outlive this.
  OrderingTheory(OrderingModel& model, SatSolver& solver, OrderingValues& values);

  // Makes the variables of reads; first of all. Ends early if it is stopped; then nothing more is to be asked.
  void add_reads(const std::function<bool()>& stopped);

  // requires: not the same moment
  Literal before(Moment a, Moment b);
  Literal executed(Moment moment) { return before(moment, model_.end); }
  const ChainOrder& order() const { return model_.order; }
  // By read: the candidate it reads from, or kNoSource.
  const std::vector<uint32_t>& sources() const { return sources_; }
  Literal source_literal(uint32_t read, uint32_t candidate) const {
    return Literal::of(model_.reads[read].candidates[candidate].variable);
  }
  // Sections of one mutex: of two that are carried out, one ends before the other begins.
  struct Section {
    Moment begin = 0, end = 0;  // the same as `end` of the model: it does not end
  };
  void add_exclusive(const std::vector<std::vector<Section>>& sections_of_threads);
  // What the order says about its variables that have no value yet. For lemmas.
  void imply_known(Literal literal);

  bool propagate(SatSolver& solver, std::vector<Literal>& conflict) override;
  void new_level() override;
  void backtrack(uint32_t level) override;
  void explain(Literal literal, std::vector<Literal>& clause) override;
  Literal choose(const SatSolver& solver) override;
  void check_all(SatSolver& solver) override;

  std::function<void()> on_all;  // all variables have values

 private:
  struct Variable {
    enum class Kind : uint8_t { other, source, order } kind = Kind::other;
    uint32_t first = 0, second = 0;  // read and candidate; moments
  };
  struct Path {
    Moment from = 0, to = 0;  // the same: none
  };
  struct Cause {     // why a literal must be true
    Literal source;  // this one is; the truth: none
    Path path, more, third;
    uint32_t edges = 0;  // there were so many
  };
  struct SectionPlace {
    uint32_t mutex, section;
  };
  struct Level {
    size_t head;
    uint32_t edges;
    size_t sources;
    size_t first_open;
  };
  struct Place {  // of an access to a cell, by moment
    uint32_t cell, access;
  };
  struct ReadsOfChain {
    uint32_t chain;
    std::vector<uint32_t> places, reads;
  };

  void add_read(uint32_t number);
  Variable& variable(uint32_t number);
  Moment visible(uint32_t write) const { return model_.writes[write].visible; }
  Moment moment_of(const OrderingRead& read) const { return model_.read_events[read.event].moment; }
  void explain_cause(const Cause& cause, std::vector<Literal>& clause) const;
  bool derive(Literal literal, Cause cause);
  bool derive_before(Moment a, Moment b, Cause cause);  // nothing if it is known
  bool add_edge(Moment from, Moment to, Literal literal);
  bool follow(const ChainOrder::Change& change);
  bool follow_write(const ChainOrder::Change& change, const Place& place);
  bool follow_read(const ChainOrder::Change& change, uint32_t read);
  bool exclude_overwritten(uint32_t read, Moment by);
  bool set_source(uint32_t read, uint32_t candidate);
  bool order_others(uint32_t read, uint32_t candidate);
  bool follow_section(const ChainOrder::Change& change, const SectionPlace& place);
  bool exclude_next(uint32_t mutex, const Section& first, uint32_t thread);
  bool exclude_all();
  bool is_executed(Moment moment) const { return order().is_before(moment, model_.end); }
  bool is_decided(uint32_t read) const;
  Literal choose_source(uint32_t read) const;

  OrderingModel& model_;
  SatSolver& solver_;
  OrderingValues& values_;
  std::vector<Variable> variables_;
  std::vector<Cause> causes_;  // by variable
  std::unordered_map<uint64_t, uint32_t> order_variables_;
  std::vector<std::vector<std::pair<Moment, uint32_t>>> orders_of_;  // by moment: the other, the variable
  std::vector<std::vector<Place>> writes_at_, reads_at_;             // by moment
  std::vector<std::vector<ReadsOfChain>> reads_of_cell_;
  std::vector<std::vector<std::vector<Section>>> exclusive_;  // by mutex and thread
  std::vector<std::vector<SectionPlace>> sections_at_;        // by moment: those that begin there
  std::vector<std::vector<uint32_t>> readers_;                // by write: reads that read from it
  std::vector<uint32_t> sources_;
  std::vector<Literal> executed_;      // by read
  std::vector<uint32_t> sources_set_;  // reads, in the order of being set
  std::vector<ChainOrder::Change> changes_;
  std::vector<Level> levels_;
  std::vector<uint32_t> reads_in_time_;  // about as they come
  size_t first_open_ = 0;  // in reads_in_time_: all before it have sources, or are not carried out
  std::vector<Literal>* conflict_ = nullptr;
  size_t head_ = 0;
};

}  // namespace heddle
