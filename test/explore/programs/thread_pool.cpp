// A thread pool that is closed: all work is done. BUG: the flag is set without the lock.
// safe: sc tso pso
#include <cassert>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>
class Pool {
 public:
  explicit Pool(int n) { for (int i = 0; i < n; ++i) workers_.emplace_back([this] { work(); }); }
  void add(std::function<void()> job) {
    { std::lock_guard lock(m_); jobs_.push(std::move(job)); }
    c_.notify_one();
  }
  ~Pool() {
#ifdef BUG
    closed_ = true;
#else
    { std::lock_guard lock(m_); closed_ = true; }
#endif
    c_.notify_all();
    for (auto& each : workers_) each.join();
  }
 private:
  void work() {
    for (;;) {
      std::unique_lock lock(m_);
      c_.wait(lock, [&] { return closed_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      auto job = std::move(jobs_.front());
      jobs_.pop();
      lock.unlock();
      job();
    }
  }
  std::mutex m_;
  std::condition_variable c_;
  std::queue<std::function<void()>> jobs_;
  bool closed_ = false;
  std::vector<std::thread> workers_;
};
int done[2];
int main() {
  {
    Pool pool(1);
    pool.add([] { done[0] = 1; });
    pool.add([] { done[1] = 1; });
  }
  assert(done[0] + done[1] == 2);
}
