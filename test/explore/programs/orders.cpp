// Message passing, store buffering and a reference count, each with the weakest orders that are right. -DBUG: the fence of the store buffering is missing.
// safe: sc tso pso; bug: tso pso
#include <atomic>
#include <cassert>
#include <thread>
static std::atomic<int> x, y, flag, count{2};
static int data, r1, r2;
static std::atomic<int> freed;
static void drop() { if (count.fetch_sub(1, std::memory_order_release) == 1) { std::atomic_thread_fence(std::memory_order_acquire); freed.fetch_add(1, std::memory_order_relaxed); } }
static void one() {
  data = 42;
  flag.store(1, std::memory_order_release);
  x.store(1, std::memory_order_relaxed);
#ifndef BUG
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  r1 = y.load(std::memory_order_relaxed);
  drop();
}
static void two() {
  if (flag.load(std::memory_order_acquire)) assert(data == 42);
  y.store(1, std::memory_order_relaxed);
#ifndef BUG
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  r2 = x.load(std::memory_order_relaxed);
  drop();
}
int main() {
  std::thread a(one), b(two);
  a.join(); b.join();
  assert(r1 || r2);
  assert(freed == 1);
}
