// std::jthread: joins by itself, asks its function to stop; stop callbacks; waiting that a stop request ends.
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

int main() {
  std::atomic<int> ended = 0, called = 0;
  std::mutex mutex;
  std::condition_variable_any condition;
  {
    std::jthread spins([&](std::stop_token stop) {
      while (!stop.stop_requested()) std::this_thread::yield();
      ++ended;
    });
    std::jthread waits([&](std::stop_token stop) {
      std::unique_lock lock(mutex);
      assert(!condition.wait(lock, stop, [] { return false; }));
      assert(lock.owns_lock() && stop.stop_requested());
      ++ended;
    });
    std::stop_callback callback(spins.get_stop_token(), [&] { ++called; });
    assert(spins.get_stop_source().stop_possible());
  }
  assert(ended == 2);
  std::stop_source source;
  std::stop_token token = source.get_token();
  std::stop_callback first(token, [&] { ++called; });
  {
    std::stop_callback gone(token, [&] { called += 100; });
  }
  std::jthread requests([&] { source.request_stop(); });
  std::jthread too([&] { source.request_stop(); });
  requests.join();
  too.join();
  assert(token.stop_requested() && called == 1);
  std::stop_callback late(token, [&] { ++called; });
  assert(called == 2 && !source.request_stop());
}
