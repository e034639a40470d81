// A bounded buffer of one place. BUG: one condition for both ends, and notify_one instead of notify_all.
// safe: sc tso pso; bug: sc tso pso
#include <cassert>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
std::mutex m;
std::condition_variable not_full, not_empty;
std::deque<int> items;
int taken;
#ifdef BUG
#define FULL not_full
#define EMPTY not_full
#else
#define FULL not_full
#define EMPTY not_empty
#endif
void put(int x) {
  std::unique_lock lock(m);
  FULL.wait(lock, [] { return items.empty(); });
  items.push_back(x);
  EMPTY.notify_one();
}
void take() {
  std::unique_lock lock(m);
  EMPTY.wait(lock, [] { return !items.empty(); });
  taken += items.front();
  items.pop_front();
  FULL.notify_one();
}
int main() {
  std::thread a([] { put(1); }), b([] { put(2); }), c(take), d(take);
  a.join(); b.join(); c.join(); d.join();
  assert(taken == 3);
}
