// One search of the ordering engine: for one case of a problem (OrderingCase, AddressCases), until it is
// decided or the effort is too much. It can go on later.
#pragma once

#include <memory>
#include <string>

#include "solve/engine.h"
#include "solve/ordering_sync.h"

namespace heddle {

class OrderingSearch {
 public:
  // How far it goes before it says "undecided".
  struct Effort {
    uint64_t propagations = UINT64_MAX;
  };

  // `problem`: with the addresses of the case; `original`: what is asked. All outlive this.
  OrderingSearch(const Problem& problem, const Problem& original, AddressCases& addresses,
                 const OrderingCase& of, const SolveLimits& limits);
  ~OrderingSearch();

  size_t reads() const { return model_.reads.size(); }
  size_t candidates() const { return model_.candidates; }
  SolveAnswer run(const Effort& effort);
  // Other cases that must be searched before "impossible" holds: where the run could end inside of a step.
  std::vector<EventRef> cuts() const;

 private:
  struct Parts;

  void prepare();
  bool is_stopped();
  void look_at_whole();
  void add_refuted(const ReadsFrom& refuted);
  void add_wrong_read(const OrderingSequence::WrongRead& wrong);
  void finish();
  void note_statistics();

  const Problem& problem_;
  const Problem& original_;
  AddressCases& addresses_;
  const SolveLimits& limits_;
  Effort effort_;
  OrderingModel model_;
  SatSolver solver_;
  std::unique_ptr<Parts> parts_;
  SolveAnswer answer_;
  std::string why_stopped_;
  bool is_prepared_ = false;  // and was not stopped while it was
  uint64_t sequences_ = 0, wrong_reads_ = 0;
};

}  // namespace heddle
