// std::latch and std::barrier: counting down, completion once for each phase, leaving for good.
#include <atomic>
#include <barrier>
#include <cassert>
#include <latch>
#include <thread>

int main() {
  std::latch started(2), go(1);
  std::atomic<int> before = 0;
  auto waits = [&] {
    ++before;
    started.count_down();
    go.wait();
    assert(before == 2);
  };
  std::thread a(waits), b(waits);
  started.wait();
  assert(before == 2 && started.try_wait());
  go.count_down();
  a.join();
  b.join();
  std::latch together(2);
  std::thread c([&] { together.arrive_and_wait(); });
  together.arrive_and_wait();
  c.join();

  int phases = 0, work[3] = {};
  auto completion = [&]() noexcept {
    ++phases;
    for (int done : work) assert(done >= phases || done < 0);
  };
  std::barrier barrier(3, completion);
  auto works = [&](int me) {
    ++work[me];
    barrier.arrive_and_wait();
    assert(phases >= 1);
    if (me == 2) {
      work[me] = -1;
      barrier.arrive_and_drop();
      return;
    }
    ++work[me];
    barrier.arrive_and_wait();
    assert(phases == 2);
  };
  std::thread d(works, 0), e(works, 1), f(works, 2);
  d.join();
  e.join();
  f.join();
  assert(phases == 2);
}
