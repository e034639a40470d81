// try_lock_for and sleeping. BUG: goes on without the lock.
// safe: sc tso pso
#include <cassert>
#include <chrono>
#include <mutex>
#include <thread>
using namespace std::chrono_literals;
std::timed_mutex m;
int counter;
void worker() {
  std::this_thread::sleep_for(1ms);
#ifdef BUG
  bool mine = m.try_lock_for(5ms);
  int seen = counter;
  counter = seen + 1;
  if (mine) m.unlock();
#else
  while (!m.try_lock_for(5ms)) {}
  int seen = counter;
  counter = seen + 1;
  m.unlock();
#endif
}
int main() {
  std::thread a(worker), b(worker);
  a.join(); b.join();
  assert(counter == 2);
}
