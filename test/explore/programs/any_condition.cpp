// condition_variable_any over a shared_mutex with a stop_token. -DBUG: the value is set after the notification.
// safe: sc tso pso
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>
static std::shared_mutex mutex;
static std::condition_variable_any changed;
static int value;
int main() {
  const bool wait_first = true;
  bool stopped = false;
  int seen = 0;
  std::jthread reader([&](std::stop_token stop) {
    std::shared_lock lock(mutex);
    if (changed.wait(lock, stop, [] { return value != 0; })) seen = value;
    else stopped = true;
  });
#ifdef BUG
  changed.notify_all();
#endif
  { std::unique_lock lock(mutex); value = 5; }
#ifndef BUG
  changed.notify_all();
#endif
  if (wait_first) reader.join();
  reader.request_stop();
  if (!wait_first) reader.join();
  assert(seen == 5 || stopped);
}
