// Two threads go through the stages of a pipeline together. BUG: one of the barriers is missing.
// safe: sc tso pso
#include <barrier>
#include <cassert>
#include <thread>
static int stage[2], sums[2];
int main() {
  std::barrier together(2);
  auto run = [&](int id) {
    stage[id] = id + 1;
#ifndef BUG
    together.arrive_and_wait();
#endif
    sums[id] = stage[0] + stage[1];
    together.arrive_and_wait();
    assert(sums[1 - id] == 3);
  };
  std::thread a(run, 0), b(run, 1);
  a.join();
  b.join();
}
