// A ring for one producer and one consumer. BUG: the index is published relaxed, wrong under PSO only.
// safe: sc tso pso; bug: pso
#include <atomic>
#include <cassert>
#include <thread>
std::atomic<unsigned> head{0}, tail{0};
int ring[2];
#ifdef BUG
constexpr auto kOrder = std::memory_order_relaxed;
#else
constexpr auto kOrder = std::memory_order_release;
#endif
bool put(int x) {
  unsigned t = tail.load(std::memory_order_relaxed);
  if (t - head.load(std::memory_order_acquire) == 2) return false;
  ring[t % 2] = x;
  tail.store(t + 1, kOrder);
  return true;
}
bool take(int& x) {
  unsigned h = head.load(std::memory_order_relaxed);
  if (h == tail.load(std::memory_order_acquire)) return false;
  x = ring[h % 2];
  head.store(h + 1, std::memory_order_release);
  return true;
}
int main() {
  std::thread a([] { for (int i = 1; i <= 3; ++i) while (!put(i)) {} });
  std::thread b([] { for (int i = 1, x = 0; i <= 3; ++i) { while (!take(x)) {} assert(x == i); } });
  a.join(); b.join();
}
