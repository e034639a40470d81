// A std::jthread waits for work on a condition_variable_any; main asks it to stop.
//
// The bug: it waits with a predicate that looks at the stop token, instead of passing the token to wait(). A
// request to stop that comes between the predicate and the wait wakes nobody, and the destructor joins forever.
//
// HEDDLE-FAILURE: lost-wakeup
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: lost-wakeup
// HEDDLE-DECISIVE: A B the worker looks at its token before main asks it to stop
// HEDDLE-DECISIVE: C D main notifies before the worker waits
// HEDDLE-SMALL: yes
// HEDDLE-ALSO: deadlock
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

std::mutex mutex;
std::condition_variable_any changed;
int jobs = 0;
int done = 0;

static void work(std::stop_token token) {
  std::unique_lock lock(mutex);
#ifdef FIXED
  changed.wait(lock, token, [] { return jobs > 0; });
#else
  while (jobs == 0 && !token.stop_requested()) {  // [A]
    changed.wait(lock);                           // [D]
  }
#endif
  if (jobs > 0) done = jobs;
}

int main() {
  std::jthread worker(work);
  worker.request_stop();  // [B]
  changed.notify_all();   // [C]
  worker.join();
  assert(done == 0);
}
