// std::atomic wait and notify. BUG: the notification is missing.
// safe: sc tso pso
#include <atomic>
#include <cassert>
#include <thread>
std::atomic<int> ready{0};
int data;
int main() {
  std::thread a([] {
    ready.wait(0);
    assert(data == 42);
  });
  data = 42;
  ready.store(1);
#ifndef BUG
  ready.notify_one();
#endif
  a.join();
}
