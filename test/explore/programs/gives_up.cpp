// A thread that takes one lock, tries another, and gives up after some rounds. BUG: it is expected not to.
// safe: sc tso pso
#include <cassert>
#include <mutex>
#include <thread>
static std::mutex first, second;
static bool gave_up;
static int work;
static void both() {
  for (int round = 0; round < 4; ++round) {
    first.lock();
    if (second.try_lock()) {
      ++work;
      second.unlock();
      first.unlock();
      return;
    }
    first.unlock();
  }
  gave_up = true;
}
int main() {
  std::thread thread(both);
  second.lock();
  ++work;
  second.unlock();
  thread.join();
#ifdef BUG
  assert(!gave_up);
#else
  assert(work == (gave_up ? 1 : 2));
#endif
}
