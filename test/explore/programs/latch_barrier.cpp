// std::latch and std::barrier. BUG: the result is read before the barrier.
// safe: sc tso pso
#include <barrier>
#include <cassert>
#include <latch>
#include <thread>
int parts[2];
std::latch start(1);
std::barrier phase(2);
int main() {
  int sum = 0;
  std::thread a([&] { start.wait(); parts[0] = 1; phase.arrive_and_wait(); });
  std::thread b([&] {
    start.wait(); parts[1] = 2;
#ifdef BUG
    sum = parts[0] + parts[1];
    phase.arrive_and_wait();
#else
    phase.arrive_and_wait();
    sum = parts[0] + parts[1];
#endif
  });
  start.count_down();
  a.join(); b.join();
  assert(sum == 3);
}
