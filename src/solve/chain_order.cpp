#include "solve/chain_order.h"

#include <algorithm>

#include "base/result.h"

namespace heddle {

void ChainOrder::add_chain(uint32_t length) {
  chain_of_.insert(chain_of_.end(), length, static_cast<uint32_t>(starts_.size() - 1));
  starts_.push_back(starts_.back() + length);
}

void ChainOrder::add_direct_edge(Moment from, Moment to, Literal literal) {
  out_[from].push_back(static_cast<uint32_t>(edges_.size()));
  edges_.push_back({.from = from, .to = to, .literal = literal, .undo_from = undo_.size()});
}

std::vector<Moment> ChainOrder::start(const std::vector<MomentPair>& pairs) {
  after_.resize(size_t{moments()} * chains());
  before_.assign(after_.size(), 0);
  out_.resize(moments());
  came_by_.resize(moments());
  entry_.resize(moments());
  std::vector<uint32_t> waits_for(moments());
  for (Moment moment = 0; moment < moments(); ++moment) waits_for[moment] = place_of(moment) > 0;
  for (const auto& [from, to] : pairs) {
    add_direct_edge(from, to, Literal{});
    ++waits_for[to];
  }

  // In topological order.
  std::vector<Moment> order;
  const auto come = [&](Moment moment) {
    if (--waits_for[moment] == 0) order.push_back(moment);
  };
  const auto has_next = [&](Moment moment) { return place_of(moment) + 1 < length(chain_of(moment)); };
  for (Moment moment = 0; moment < moments(); ++moment)
    if (waits_for[moment] == 0) order.push_back(moment);
  for (size_t i = 0; i < order.size(); ++i) {
    if (has_next(order[i])) come(order[i] + 1);
    for (const uint32_t edge : out_[order[i]]) come(edges_[edge].to);
  }
  std::vector<Moment> never;
  for (Moment moment = 0; moment < moments(); ++moment)
    if (waits_for[moment] > 0) never.push_back(moment);
  if (!never.empty()) {
    std::vector<MomentPair> kept;
    for (const MomentPair& pair : pairs)
      if (waits_for[pair.second] == 0) kept.push_back(pair);
    edges_.clear();
    for (std::vector<uint32_t>& out : out_) out.clear();
    start(kept);
    return never;
  }

  for (Moment moment = 0; moment < moments(); ++moment)
    for (uint32_t chain = 0; chain < chains(); ++chain)
      after_[index(moment, chain)] = chain == chain_of(moment) ? place_of(moment) + 1 : length(chain);
  const auto take_before = [&](Moment from, Moment to) {
    for (uint32_t chain = 0; chain < chains(); ++chain)
      before_[index(to, chain)] = std::max(before_[index(to, chain)], before_[index(from, chain)]);
    uint32_t& own = before_[index(to, chain_of(from))];
    own = std::max(own, place_of(from) + 1);
  };
  for (const Moment moment : order) {
    if (has_next(moment)) take_before(moment, moment + 1);
    for (const uint32_t edge : out_[moment]) take_before(moment, edges_[edge].to);
  }
  const auto take_after = [&](Moment from, Moment to) {
    for (uint32_t chain = 0; chain < chains(); ++chain)
      after_[index(from, chain)] = std::min(after_[index(from, chain)], after_[index(to, chain)]);
    uint32_t& own = after_[index(from, chain_of(to))];
    own = std::min(own, place_of(to));
  };
  for (size_t i = order.size(); i-- > 0;) {
    if (has_next(order[i])) take_after(order[i], order[i] + 1);
    for (const uint32_t edge : out_[order[i]]) take_after(order[i], edges_[edge].to);
  }
  return never;
}

void ChainOrder::insert(Moment from, Moment to, Literal literal, std::vector<Change>& changes) {
  HEDDLE_CHECK(from != to && !is_before(to, from));
  if (is_before(from, to)) return;
  add_direct_edge(from, to, literal);
  for (uint32_t left = 0; left < chains(); ++left) {
    // The last of this chain up to `from`, then the first of each chain from `to` on.
    const uint32_t end = left == chain_of(from) ? place_of(from) + 1 : count_before(from, left);
    if (end == 0) continue;
    for (uint32_t right = 0; right < chains(); ++right) {
      if (right == left) continue;
      const uint32_t begin = right == chain_of(to) ? place_of(to) : first_after(to, right);
      if (begin == length(right)) continue;
      for (uint32_t place = end; place-- > 0;) {
        const Moment moment = at(left, place);
        uint32_t& known = after_[index(moment, right)];
        if (known <= begin) break;
        changes.push_back({.from = moment, .to = right, .now = begin, .old = known});
        undo_.push_back({.place = index(moment, right), .old = known, .after = true});
        known = begin;
      }
      for (uint32_t place = begin; place < length(right); ++place) {
        uint32_t& known = before_[index(at(right, place), left)];
        if (known >= end) break;
        undo_.push_back({.place = index(at(right, place), left), .old = known, .after = false});
        known = end;
      }
    }
  }
}

void ChainOrder::undo(uint32_t edges) {
  if (edges >= edges_.size()) return;
  const size_t keep = edges_[edges].undo_from;
  for (size_t i = undo_.size(); i-- > keep;) (undo_[i].after ? after_ : before_)[undo_[i].place] = undo_[i].old;
  undo_.resize(keep);
  while (edges_.size() > edges) {
    out_[edges_.back().from].pop_back();
    edges_.pop_back();
  }
}

void ChainOrder::explain(Moment from, Moment to, uint32_t edges, std::vector<Literal>& literals) const {
  const uint32_t goal = chain_of(to);
  if (chain_of(from) == goal) return;  // it is their chain
  // Only moments that come before the goal are of interest.
  stretches_.resize(chains());
  for (uint32_t chain = 0; chain < chains(); ++chain) {
    const uint32_t end = chain == goal ? place_of(to) + 1 : count_before(to, chain);
    stretches_[chain] = {.reached = end, .scanned = end};
  }
  stretches_[chain_of(from)].reached = place_of(from);
  frontier_.assign(1, from);
  Moment last = from;
  while (chain_of(last) != goal) {
    HEDDLE_CHECK(!frontier_.empty());
    next_.clear();
    for (const Moment entered : frontier_) {
      Stretch& stretch = stretches_[chain_of(entered)];
      const Moment end = at(chain_of(entered), stretch.scanned);
      if (entered >= end) continue;
      stretch.scanned = place_of(entered);
      for (Moment moment = entered; moment < end; ++moment)
        for (const uint32_t number : out_[moment]) {
          if (number >= edges) break;
          const Edge& edge = edges_[number];
          uint32_t& reached = stretches_[chain_of(edge.to)].reached;
          if (place_of(edge.to) >= reached) continue;
          reached = place_of(edge.to);
          came_by_[edge.to] = number;
          entry_[moment] = entered;
          next_.push_back(edge.to);
          if (chain_of(edge.to) == goal) last = edge.to;
        }
    }
    frontier_.swap(next_);
  }
  while (last != from) {
    const Edge& edge = edges_[came_by_[last]];
    literals.push_back(edge.literal);
    last = entry_[edge.from];
  }
}

}  // namespace heddle
