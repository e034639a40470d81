// std::shared_mutex and std::call_once. BUG: the writer locks shared.
// safe: sc tso pso
#include <cassert>
#include <mutex>
#include <shared_mutex>
#include <thread>
std::shared_mutex m;
std::once_flag once;
int a, b, start;
int main() {
  auto init = [] { std::call_once(once, [] { start = 1; }); };
  std::thread w([&] {
    init();
#ifdef BUG
    std::shared_lock lock(m);
#else
    std::unique_lock lock(m);
#endif
    a = start; b = start;
  });
  std::thread r([&] { init(); assert(start == 1); std::shared_lock lock(m); assert(a == b); });
  w.join(); r.join();
}
