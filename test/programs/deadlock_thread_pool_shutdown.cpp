// A thread pool with futures. Main gives it some work of its own and shuts it down while a client may still
// submit; once the pool is shutting down, a client does its work itself.
//
// The bug: submit() looks at the stop flag before it has the lock. The workers can finish between the look and
// the moment the job is queued; nobody will ever run the job, and the client waits for its future forever.
//
// HEDDLE-FAILURE: deadlock
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: order
// HEDDLE-DECISIVE: A B the client looks before the pool is stopped
// HEDDLE-DECISIVE: C D the worker finds nothing to do and leaves before the job is queued
// HEDDLE-SMALL: no
// HEDDLE-ALSO: lost-wakeup
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

class ThreadPool {
 public:
  explicit ThreadPool(std::size_t threads) {
    for (std::size_t i = 0; i < threads; ++i) workers_.emplace_back([this] { work(); });
  }
  ~ThreadPool() { shut_down(); }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Nothing when the pool is shutting down.
  template <typename Function>
  auto submit(Function function) -> std::optional<std::future<decltype(function())>> {
    using Value = decltype(function());
    auto task = std::make_shared<std::packaged_task<Value()>>(std::move(function));
    std::future<Value> result = task->get_future();
#ifndef FIXED
    if (stopping_.load()) return std::nullopt;  // [A]
#endif
    {
      std::lock_guard lock(mutex_);
#ifdef FIXED
      if (stopping_.load()) return std::nullopt;
#endif
      jobs_.emplace_back([task] { (*task)(); });  // [D]
    }
    changed_.notify_one();
    return result;
  }

  void shut_down() {
    {
      std::lock_guard lock(mutex_);
      stopping_.store(true);  // [B]
    }
    changed_.notify_all();
    for (std::thread& worker : workers_) {
      if (worker.joinable()) worker.join();
    }
  }

 private:
  using Job = std::function<void()>;

  std::optional<Job> next_job() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_.load() || !jobs_.empty(); });
    if (jobs_.empty()) return std::nullopt;  // [C]
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
  }

  void work() {
    while (std::optional<Job> job = next_job()) (*job)();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
};

namespace {

int sum_to(int last) {
  int sum = 0;
  for (int i = 1; i <= last; ++i) sum += i;
  return sum;
}

// A client of the pool: it prefers the pool and can do without.
int compute(ThreadPool& pool, int last) {
  auto future = pool.submit([last] { return sum_to(last); });
  return future ? future->get() : sum_to(last);
}

}  // namespace

int main() {
  ThreadPool pool(1);
  int of_client = 0;
  std::thread client([&] { of_client = compute(pool, 10); });
  const int of_main = compute(pool, 4);
  pool.shut_down();
  client.join();
  assert(of_main == 10);
  assert(of_client == 55);
}
