// std::condition_variable and _any: predicates, time-outs, notification at thread exit.
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <thread>

using namespace std::chrono_literals;

std::mutex mutex;
std::condition_variable condition;
std::deque<int> queue;
bool finished, exiting;

int main() {
  int sum = 0;
  std::thread consumer([&] {
    std::unique_lock lock(mutex);
    for (;;) {
      condition.wait(lock, [] { return !queue.empty() || finished; });
      if (queue.empty()) return;
      sum += queue.front();
      queue.pop_front();
    }
  });
  for (int i = 1; i <= 3; ++i) {
    {
      const std::lock_guard guard(mutex);
      queue.push_back(i);
    }
    condition.notify_one();
  }
  {
    const std::lock_guard guard(mutex);
    finished = true;
  }
  condition.notify_all();
  consumer.join();
  assert(sum == 6);

  std::condition_variable nobody;
  std::unique_lock lock(mutex);
  const auto before = std::chrono::steady_clock::now();
  assert(!nobody.wait_for(lock, 2ms, [] { return false; }));
  assert(std::chrono::steady_clock::now() - before >= 2ms && lock.owns_lock());
  assert(nobody.wait_until(lock, std::chrono::system_clock::now() - 1s) == std::cv_status::timeout);
  std::thread last([] {
    std::unique_lock inner(mutex);
    exiting = true;
    std::notify_all_at_thread_exit(condition, std::move(inner));
  });
  condition.wait(lock, [] { return exiting; });
  lock.unlock();
  last.join();

  std::shared_mutex shared;
  std::condition_variable_any any;
  bool ready = false;
  std::thread reader([&] {
    std::shared_lock read(shared);
    any.wait(read, [&] { return ready; });
    assert(ready && read.owns_lock());
  });
  {
    const std::unique_lock write(shared);
    ready = true;
  }
  any.notify_all();
  reader.join();
  std::shared_lock read(shared);
  assert(any.wait_for(read, 1ms, [] { return false; }) == false);
}
