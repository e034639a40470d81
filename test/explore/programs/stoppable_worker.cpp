// A std::jthread works off a queue until it is asked to stop, and then what is left. BUG: it leaves without looking at the queue again.
// safe: sc tso pso
#include <cassert>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stop_token>
#include <thread>

static std::mutex lock;
static std::condition_variable_any changed;
static std::deque<int> jobs;
static int done;

static void work(std::stop_token stop) {
  std::unique_lock guard(lock);
  for (;;) {
    changed.wait(guard, stop, [] { return !jobs.empty(); });
#ifdef BUG
    if (stop.stop_requested()) return;
#else
    if (jobs.empty()) return;
#endif
    done += jobs.front();
    jobs.pop_front();
  }
}

int main() {
  {
    std::jthread worker(work);
    {
      std::lock_guard guard(lock);
      jobs.push_back(5);
    }
    changed.notify_one();
  }
  assert(done == 5);
}
