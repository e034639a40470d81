// A timer thread calls back once a millisecond; sessions set and cancel their callback.
//
// The bug: cancel() does not wait for a callback that is running, so a session is destroyed under it.
//
// HEDDLE-FAILURE: exception
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: order
// HEDDLE-ALSO: use-after-free, abort, segv
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
using namespace std::chrono_literals;
class Timer {
 public:
  Timer() : t_([this] { run(); }) {}
  ~Timer() {
    {
      std::lock_guard l(m_);
      stop_ = true;
    }
    cv_.notify_one();
    t_.join();
  }
  void set(std::function<void()> f) {
    std::lock_guard l(m_);
    f_ = std::move(f);
    cv_.notify_one();
  }
  void cancel() {
    std::lock_guard l(m_);
    f_ = nullptr;
  }

 private:
  void run() {
    std::unique_lock l(m_);
    while (!stop_) {
      cv_.wait_for(l, 1ms);
      if (f_) {
        auto f = f_;
        l.unlock();
        f();
        l.lock();
      }
    }
  }
  std::mutex m_;
  std::condition_variable cv_;
  std::function<void()> f_;
  bool stop_ = false;
  std::thread t_;
};
struct Session {
  std::vector<int> log;
  Timer& timer;
  explicit Session(Timer& t) : timer(t) {
    log.assign(8, 1);
    timer.set([this] { tick(); });
  }
  ~Session() {
    timer.cancel();
    for (int& x : log) x = -1;
    log.clear();
    log.shrink_to_fit();
  }
  void tick() {
    int s = 0;
    for (size_t i = 0; i < 8; ++i) s += log.at(i);
    if (s != 8) std::abort();
  }
};
int main() {
  Timer timer;
  for (int i = 0; i < 5; ++i) {
    Session s(timer);
    std::this_thread::sleep_for(1200us);
  }
  std::puts("done");
}
