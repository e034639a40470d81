// An event loop and a thread that fires timers. Handlers may cancel timers; cancelling takes the timer out of
// the list and destroys it, but the timer thread has looked it up under the lock and fires it outside of it.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

class Timer {
 public:
  Timer(int id, unsigned due, std::function<void(int)> action)
      : id_(id), due_(due), action_(std::move(action)) {}
  virtual ~Timer() { cancelled_ = true; }
  virtual void fire() {
    if (action_ == nullptr) __builtin_trap();
    action_(id_);
  }
  int id() const { return id_; }
  unsigned due() const { return due_; }
  void cancel() { action_ = nullptr; }

 protected:
  int id_;
  unsigned due_;
  bool cancelled_ = false;
  std::function<void(int)> action_;
};

class Loop {
 public:
  void post(int event) {
    {
      const std::lock_guard<std::mutex> held(lock_);
      events_.push_back(event);
    }
    wake_.notify_one();
  }

  void add_timer(int id, unsigned due) {
    const std::lock_guard<std::mutex> held(timers_lock_);
    timers_.push_back(std::make_shared<Timer>(id, due, [this](int timer) { post(timer); }));
  }

  // The timer whose turn it is; null: none is left.
  Timer* due(unsigned now) {
    const std::lock_guard<std::mutex> held(timers_lock_);
    const auto found = std::find_if(timers_.begin(), timers_.end(),
                                    [&](const std::shared_ptr<Timer>& timer) { return timer->due() == now; });
    return found != timers_.end() ? found->get() : nullptr;
  }

  void cancel(int id) {
    const std::lock_guard<std::mutex> held(timers_lock_);
    const auto found = std::find_if(timers_.begin(), timers_.end(),
                                    [&](const std::shared_ptr<Timer>& timer) { return timer->id() == id; });
    if (found == timers_.end()) return;
    (*found)->cancel();
    retired_.push_back(*found);
    timers_.erase(found);
  }

  void run(int until) {
    for (;;) {
      std::unique_lock<std::mutex> held(lock_);
      wake_.wait(held, [&] { return !events_.empty(); });
      const int event = events_.front();
      events_.pop_front();
      held.unlock();
      ++handled_;
      if (event == until) return;
      if (event % 3 == 0) cancel(event + 2);  // what was to come is not wanted any more
    }
  }
  int handled() const { return handled_; }

 private:
  std::mutex lock_, timers_lock_;
  std::condition_variable wake_;
  std::deque<int> events_;
  std::vector<std::shared_ptr<Timer>> timers_, retired_;
  int handled_ = 0;
};

constexpr int kTimers = 16, kEnd = 1000;

void fire_timers(Loop& loop) {
  for (unsigned now = 0; now < kTimers; ++now)
    if (Timer* timer = loop.due(now); timer != nullptr) timer->fire();
  loop.post(kEnd);
}

}  // namespace

int main() {
  Loop loop;
  for (int i = 0; i < kTimers; ++i) loop.add_timer(i, static_cast<unsigned>(i));
  std::thread timers(fire_timers, std::ref(loop));
  loop.run(kEnd);
  timers.join();
  std::printf("%d events\n", loop.handled());
}
