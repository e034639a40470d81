// atomic_flag as a lock with wait/notify, atomic_ref on a plain counter, a counter of double. -DBUG: the lock is given up before the second change.
// safe: sc tso pso
#include <atomic>
#include <cassert>
#include <thread>
static std::atomic_flag busy = ATOMIC_FLAG_INIT;
static int plain;
static double money;
static std::atomic<double> total{0.0};
static void lock() { while (busy.test_and_set(std::memory_order_acquire)) busy.wait(true, std::memory_order_relaxed); }
static void unlock() { busy.clear(std::memory_order_release); busy.notify_one(); }
static void work() {
  lock();
#ifdef BUG
  unlock();
#endif
  money += 1.5;
#ifndef BUG
  unlock();
#endif
  std::atomic_ref<int>(plain).fetch_add(1, std::memory_order_relaxed);
  total.fetch_add(0.5);
}
int main() {
  std::thread a(work), b(work);
  a.join(); b.join();
  assert(money == 3.0 && plain == 2 && total == 1.0);
}
