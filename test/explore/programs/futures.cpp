// A promise and its future. BUG: the shared variable is written behind set_value.
// safe: sc tso pso
#include <cassert>
#include <future>
#include <thread>
int shared;
int main() {
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  std::thread a([&] {
#ifndef BUG
    shared = 7;
#endif
    promise.set_value(3);
#ifdef BUG
    shared = 7;
#endif
  });
  int got = future.get();
  assert(got + shared == 10);
  a.join();
}
