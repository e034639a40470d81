#include "solve/searcher.h"

#include <algorithm>

namespace heddle {

Searcher::Searcher(SearchCommon& common) : common_(common), state_(common.plan) {
  state_.begin();  // its outcome is the engine's matter
}

void Searcher::search_all() {
  search({.way = nullptr, .mark = state_.mark(), .moves = moves_of_others()});
}

void Searcher::search_from(const SearchWay& way) {
  go_to(way);
  search({.way = &way, .mark = state_.mark(), .moves = moves_of_others()});
}

// Moves of all threads but the one that runs, those first that were first in the recording.
std::vector<OrderItem> Searcher::moves_of_others() const {
  std::vector<OrderItem> moves;
  for (uint32_t t = 0; t < common_.plan.values.size(); ++t)
    if (state_.running() != t && state_.may_move(t)) moves.push_back({.thread = t});
  std::ranges::sort(moves, {}, [&](const OrderItem& move) {
    return std::pair(common_.plan.times[move.thread][state_.position(move.thread)], move.thread);
  });
  return moves;
}

// Those that are no preemption.
std::vector<OrderItem> Searcher::free_moves() const {
  std::vector<OrderItem> moves;
  const uint32_t running = *state_.running();
  if (!state_.can_go_on(running))
    moves = moves_of_others();
  else if (state_.may_move(running))
    moves = {{.thread = running}};
  const std::vector<OrderItem> flushes = state_.flushes();
  moves.insert(moves.end(), flushes.begin(), flushes.end());
  return moves;
}

const SearchWay* Searcher::lengthened(const SearchWay* way, const OrderItem& move) {
  common_.ways_bytes.fetch_add(sizeof(SearchWay), std::memory_order_relaxed);
  return &ways_.emplace_back(SearchWay{.before = way,
                                       .thread = move.thread,
                                       .flush = move.flush ? move.event + 1 : 0,
                                       .length = (way == nullptr ? 0 : way->length) + 1});
}

bool Searcher::may_preempt() const {
  if (!state_.can_go_on(*state_.running())) return false;
  for (uint32_t t = 0; t < common_.plan.values.size(); ++t)
    if (state_.running() != t && state_.may_move(t)) return true;
  return false;
}

// The state behind a move.
void Searcher::visit(const SearchWay* before, const OrderItem& move, std::vector<Choice>& open) {
  if (!common_.visited.insert(state_.hash())) return;
  const SearchWay* way = lengthened(before, move);
  if (may_preempt()) next_.push_back(way);
  std::vector<OrderItem> moves = free_moves();
  if (!moves.empty()) open.push_back({.way = way, .mark = state_.mark(), .moves = std::move(moves)});
}

void Searcher::search(Choice first) {
  std::vector<Choice> open = {std::move(first)};
  while (!open.empty() && !common_.end.load(std::memory_order_relaxed)) {
    Choice& choice = open.back();
    state_.back_to(choice.mark);
    if (choice.tried == choice.moves.size()) {
      open.pop_back();
      continue;
    }
    const OrderItem move = choice.moves[choice.tried++];
    if (++moves_ % 256 == 0) check_limits();
    if (move.flush) {
      state_.flush(move.thread, move.event);
    } else {
      const SearchState::Outcome outcome = state_.move(move.thread);
      if (outcome == SearchState::Outcome::refused) continue;
      if (outcome == SearchState::Outcome::failure) {
        const std::lock_guard lock(common_.mutex);
        if (!common_.found) common_.found = state_.order();
        common_.end = true;
        return;
      }
    }
    visit(choice.way, move, open);
  }
}

void Searcher::go_to(const SearchWay& way) {
  std::vector<const SearchWay*> missing;  // the last first
  const SearchWay* at = &way;
  while (at != nullptr && (at->length > path_.size() || path_[at->length - 1].first != at)) {
    missing.push_back(at);
    at = at->before;
  }
  const size_t common = at == nullptr ? 0 : at->length;
  if (path_.size() > common) {
    state_.back_to(path_[common].second);
    path_.resize(common);
  }
  for (; !missing.empty(); missing.pop_back()) {
    const SearchWay& next = *missing.back();
    path_.push_back({&next, state_.mark()});
    if (next.flush != 0)
      state_.flush(next.thread, next.flush - 1);
    else
      HEDDLE_CHECK(state_.move(next.thread) == SearchState::Outcome::done);
  }
}

void Searcher::check_limits() {
  common_.moves.fetch_add(256, std::memory_order_relaxed);
  if (common_.limits.reached()) {
    const bool stopped = common_.limits.stop != nullptr && *common_.limits.stop;
    common_.end_by(stopped ? "stopped" : "out of time");
  } else if (common_.visited.bytes() + common_.ways_bytes > common_.limits.most_bytes) {
    common_.end_by("out of memory");
  }
}

}  // namespace heddle
