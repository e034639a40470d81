// A thread pool whose tasks submit further tasks.
//
// The bug: a task asks whether the pool is closing and submits afterwards; the pool may close in between.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
class Pool {
 public:
  explicit Pool(int n) {
    for (int i = 0; i < n; ++i) threads_.emplace_back([this] { work(); });
  }
  void submit(std::function<void()> f) {
    std::lock_guard<std::mutex> g(m_);
    assert(!closed_ && "submit after close");
    q_.push_back(std::move(f));
    cv_.notify_one();
  }
  bool closing() {
    std::lock_guard<std::mutex> g(m_);
    return closed_;
  }
  ~Pool() {
    {
      std::lock_guard<std::mutex> g(m_);
      closed_ = true;
    }
    cv_.notify_all();
    for (auto& t : threads_) t.join();
  }

 private:
  void work() {
    for (;;) {
      std::function<void()> f;
      {
        std::unique_lock<std::mutex> l(m_);
        cv_.wait(l, [this] { return closed_ || !q_.empty(); });
        if (q_.empty()) return;
        f = std::move(q_.front());
        q_.pop_front();
      }
      f();
    }
  }
  std::mutex m_;
  std::condition_variable cv_;
  std::deque<std::function<void()>> q_;
  std::vector<std::thread> threads_;
  bool closed_ = false;
};
std::atomic<int> done{0};
int main() {
  {
    Pool pool(2);
    for (int i = 0; i < 3; ++i)
      pool.submit([&pool, i] {
        done.fetch_add(1);
        if (i == 1 && !pool.closing()) pool.submit([] { done.fetch_add(10); });
      });
  }
  std::printf("%d\n", done.load());
}
