// A strict partial order of moments that grows edge by edge and shrinks again in the opposite order.
//
// Moments lie in chains (a thread's events, a store buffer's flushes), each in order from the start. For each
// moment and chain the order knows the first moment of the chain that comes after it, and the last that comes
// before it, through any number of edges. So asking is one comparison, and a new edge costs as much as there is
// that it changes: what is known behind (in front of) one moment of a chain is known behind (in front of) the
// next. The number of chains is meant to be small.
//
// Edges carry a literal, for explanations: a path between two moments, with few literals, by breadth-first
// search over the edges there were at a time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "solve/sat_solver.h"

namespace heddle {

using Moment = uint32_t;

class ChainOrder {
 public:
  // The moment `from` now also comes before the moment at `now` of the chain `to`, and those behind; before, it
  // was `old` (one behind the end: none).
  struct Change {
    Moment from;
    uint32_t to;
    uint32_t now, old;
  };

  using MomentPair = std::pair<Moment, Moment>;

  void add_chain(uint32_t length);  // its moments follow those of the chain before
  // The order that there is from the start. Moments that would have to come before themselves, and all that
  // comes after those, are answered; nothing but their chains says something about their order.
  std::vector<Moment> start(const std::vector<MomentPair>& edges);

  uint32_t chains() const { return static_cast<uint32_t>(starts_.size() - 1); }
  uint32_t moments() const { return starts_.back(); }
  uint32_t length(uint32_t chain) const { return starts_[chain + 1] - starts_[chain]; }
  Moment at(uint32_t chain, uint32_t place) const { return starts_[chain] + place; }
  uint32_t chain_of(Moment moment) const { return chain_of_[moment]; }
  uint32_t place_of(Moment moment) const { return moment - starts_[chain_of_[moment]]; }

  // The place of the first moment of the chain after this one (its length: none); how many of its moments come
  // before.
  uint32_t first_after(Moment moment, uint32_t chain) const { return after_[index(moment, chain)]; }
  uint32_t count_before(Moment moment, uint32_t chain) const { return before_[index(moment, chain)]; }
  bool is_before(Moment a, Moment b) const { return first_after(a, chain_of(b)) <= place_of(b); }

  // requires: not is_before(to, from), not the same. Nothing happens if it is known already. Changes are added.
  void insert(Moment from, Moment to, Literal literal, std::vector<Change>& changes);
  uint32_t edges() const { return static_cast<uint32_t>(edges_.size()); }
  void undo(uint32_t edges);  // back to so many edges

  // Adds the literals of a path that consists of the first `edges` edges. requires: there is one
  void explain(Moment from, Moment to, uint32_t edges, std::vector<Literal>& literals) const;

 private:
  struct Edge {
    Moment from, to;
    Literal literal;
    size_t undo_from;  // in undo_
  };
  struct Undo {
    size_t place;
    uint32_t old;
    bool after;
  };

  void add_direct_edge(Moment from, Moment to, Literal literal);
  size_t index(Moment moment, uint32_t chain) const { return size_t{moment} * chains() + chain; }

  std::vector<uint32_t> starts_ = {0};
  std::vector<uint32_t> chain_of_;
  std::vector<uint32_t> after_, before_;
  std::vector<Edge> edges_;
  std::vector<std::vector<uint32_t>> out_;  // by moment: edges, growing
  std::vector<Undo> undo_;

  // of explain(), kept to save allocations
  struct Stretch {
    uint32_t reached, scanned;  // moments from these places on
  };
  mutable std::vector<Stretch> stretches_;  // by chain
  mutable std::vector<Moment> frontier_, next_;
  mutable std::vector<uint32_t> came_by_;  // by moment: the edge that led to it
  mutable std::vector<Moment> entry_;      // by moment that an edge leaves: where its chain was entered
};

}  // namespace heddle
