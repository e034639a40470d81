// wait_for with a predicate; whoever ran out of time must not use the data. BUG: it does.
// safe: sc tso pso
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
std::mutex m;
std::condition_variable c;
bool ready;
int data;
int main() {
  std::thread a([] {
    std::unique_lock lock(m);
    data = 5;
    ready = true;
    c.notify_one();
  });
  {
    std::unique_lock lock(m);
    bool in_time = c.wait_for(lock, std::chrono::milliseconds(10), [] { return ready; });
#ifdef BUG
    (void)in_time;
    assert(data == 5);
#else
    if (in_time) assert(data == 5);
#endif
  }
  a.join();
}
