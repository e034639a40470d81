// Double-checked initialisation. BUG: the flag is relaxed, wrong under PSO only.
// safe: sc tso pso; bug: pso
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>
struct Thing { int value; };
std::atomic<bool> made{false};
std::mutex m;
Thing thing;
#ifdef BUG
constexpr auto kOrder = std::memory_order_relaxed;
#else
constexpr auto kOrder = std::memory_order_release;
#endif
int get() {
  if (!made.load(std::memory_order_acquire)) {
    std::lock_guard lock(m);
    if (!made.load(std::memory_order_relaxed)) {
      thing.value = 9;
      made.store(true, kOrder);
    }
  }
  return thing.value;
}
int main() {
  std::thread a([] { assert(get() == 9); }), b([] { assert(get() == 9); });
  a.join(); b.join();
}
