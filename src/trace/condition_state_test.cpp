#include "trace/condition_state.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

namespace heddle {
namespace {

// Everything that happened, and whether there is a way to give each woken waiter a broadcast, or a signal of
// its own.
class AllWays {
 public:
  void add(char what, unsigned thread = 0) { history_.push_back({what, thread}); }
  void drop() { history_.pop_back(); }

  bool exists(size_t from = 0, std::set<size_t> used = {}) const {
    size_t end = from;
    while (end < history_.size() && history_[end].what != 'e') ++end;
    if (end == history_.size()) return true;
    size_t begin = end;
    while (history_[begin].what != 'w' || history_[begin].thread != history_[end].thread) --begin;
    for (size_t i = begin; i < end; ++i) {
      if (history_[i].what == 'b' && exists(end + 1, used)) return true;
      if (history_[i].what != 's' || used.contains(i)) continue;
      std::set<size_t> more = used;
      more.insert(i);
      if (exists(end + 1, more)) return true;
    }
    return false;
  }

 private:
  struct Item {
    char what;  // w: begins to wait, s: signal, b: broadcast, e: woken, t: timeout
    unsigned thread;
  };
  std::vector<Item> history_;
};

TEST(ConditionState, WakesJustWhomItCould) {
  uint64_t woken = 0, not_woken = 0;
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    std::mt19937_64 random(seed);
    ConditionState state;
    AllWays ways;
    std::optional<uint64_t> began[4];
    for (uint64_t time = 1; time <= 16; ++time) {
      const auto thread = static_cast<unsigned>(random() % 4);
      if (random() % 3 == 0) {
        const bool broadcast = random() % 6 == 0;
        broadcast ? state.broadcast(time) : state.signal(time);
        ways.add(broadcast ? 'b' : 's');
      } else if (!began[thread]) {
        state.begin_wait();
        began[thread] = time;
        ways.add('w', thread);
      } else if (random() % 8 == 0) {
        state.end_wait(*began[thread], false);
        began[thread].reset();
        ways.add('t', thread);
      } else {
        ways.add('e', thread);
        const bool expected = ways.exists();
        ASSERT_EQ(state.is_woken(*began[thread]), expected) << "seed " << seed << " time " << time;
        if (expected) {
          state.end_wait(*began[thread], true);
          began[thread].reset();
        } else {
          ways.drop();
        }
        ++(expected ? woken : not_woken);
      }
    }
  }
  EXPECT_GT(woken, 10'000u);
  EXPECT_GT(not_woken, 10'000u);
}

}  // namespace
}  // namespace heddle
