// Two threads simulate a few rounds with a std::barrier whose completion function starts the next round. A
// thread that has no work left drops out of the barrier.
//
// The bug: how many are still at work is a count apart from the barrier, and counting down is a load and a
// store. The simulation ends one thread short of zero.
//
// HEDDLE-FAILURE: abort
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B one thread loads the count before the other one stores it (in both directions)
// HEDDLE-SMALL: no
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <thread>

std::atomic<int> at_work{2};
int rounds = 0;

static void stop_working() {
#ifdef FIXED
  at_work.fetch_sub(1);
#else
  const int left = at_work.load() - 1;  // [A]
  at_work.store(left);                  // [B]
#endif
}

int main() {
  std::barrier round(2, []() noexcept { ++rounds; });
  auto simulate = [&](int steps) {
    for (int i = 0; i < steps; ++i) round.arrive_and_wait();
    stop_working();
    round.arrive_and_drop();
  };
  std::thread one(simulate, 2);
  std::thread two(simulate, 2);
  one.join();
  two.join();
  if (at_work.load() != 0 || rounds != 3) std::abort();
}
