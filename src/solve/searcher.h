// Goes through the states of a problem level by level: a level has all that can be reached with the same number
// of preemptions (CLAP section 4.3, where a schedule is its set of context-switch points).
//
// Within a level, a searcher goes deep first and takes its moves back. Where the running thread could go on,
// the state is written down as the way to it: from there the next level goes on, with each other thread. A way
// is a chain of moves; ways share their beginnings, and a searcher that takes the next way redoes only what
// differs. Ways are all that searchers tell each other, so that they need no common memory but the visited
// states.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "solve/engine.h"
#include "solve/search_state.h"
#include "solve/visited_states.h"

namespace heddle {

struct SearchWay {
  const SearchWay* before = nullptr;  // null: nothing was done
  uint32_t thread = 0, flush = 0;     // flush: a write's event and 1, or 0: a move
  uint32_t length = 0;
};

// What all searchers of a problem share.
struct SearchCommon {
  const SearchPlan& plan;
  const SolveLimits& limits;
  VisitedStates visited;
  std::atomic<uint64_t> ways_bytes = 0, moves = 0;
  std::atomic<bool> end = false;  // found, or a limit
  std::mutex mutex;               // of what follows
  std::optional<SearchedOrder> found;
  std::string why;  // a limit ended it

  void end_by(std::string reason) {
    const std::lock_guard lock(mutex);
    if (why.empty()) why = std::move(reason);
    end = true;
  }
};

class Searcher {
 public:
  explicit Searcher(SearchCommon& common);

  // The first level.
  void search_all();
  // Those beyond: from one of the ways that the level before has found.
  void search_from(const SearchWay& way);
  // The ways from which the next level goes on; valid as long as all searchers are there.
  std::vector<const SearchWay*> take_next() { return std::move(next_); }

 private:
  struct Choice {
    const SearchWay* way;
    SearchState::Mark mark;
    std::vector<OrderItem> moves;  // event: only of flushes
    size_t tried = 0;
  };

  void search(Choice first);
  void visit(const SearchWay* before, const OrderItem& move, std::vector<Choice>& open);
  std::vector<OrderItem> free_moves() const;
  std::vector<OrderItem> moves_of_others() const;
  bool may_preempt() const;
  const SearchWay* lengthened(const SearchWay* way, const OrderItem& move);
  void go_to(const SearchWay& way);
  void check_limits();

  SearchCommon& common_;
  SearchState state_;
  std::deque<SearchWay> ways_;
  std::vector<const SearchWay*> next_;
  std::vector<std::pair<const SearchWay*, SearchState::Mark>>
      path_;  // to where the state is, with marks before
  uint64_t moves_ = 0;
};

}  // namespace heddle
