// A promise whose value others see when the thread has ended. BUG: it is set at once, before the work is done.
// safe: sc tso pso
#include <cassert>
#include <future>
#include <thread>
static int done;
int main() {
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  std::thread worker([&] {
#ifdef BUG
    promise.set_value(7);
#else
    promise.set_value_at_thread_exit(7);
#endif
    done = 1;
  });
  int value = future.get();
  assert(value == 7 && done == 1);
  worker.join();
}
