// Workers wait at a gate made of std::atomic::wait; main opens it. BUG: only one of them is woken.
// safe: sc tso pso
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<int> gate{0};
static int settings;
static std::atomic<int> seen{0};

static void work() {
  gate.wait(0);
  seen += settings;
}

int main() {
  std::thread one(work), two(work);
  settings = 3;
  gate = 1;
#ifdef BUG
  gate.notify_one();
#else
  gate.notify_all();
#endif
  one.join();
  two.join();
  assert(seen == 6);
}
