// Two threads sell from a stock of one, under a std::timed_mutex that is tried for no time at all.
//
// The bug: when the mutex was not to be had, the sale goes on without it ("it will be fine").
//
// HEDDLE-FAILURE: exception
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B each thread looks at the stock before the other one takes from it
// HEDDLE-SMALL: yes
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>

std::timed_mutex mutex;
std::atomic<int> stock{1};

static void take() {
  const int left = stock.load() - 1;
  stock.store(left);  // [B]
  if (left < 0) throw std::logic_error("sold what was not there");
}

static void sell() {
#ifdef FIXED
  std::unique_lock lock(mutex, std::chrono::milliseconds(0));
  if (!lock.owns_lock()) lock.lock();
#else
  std::unique_lock lock(mutex, std::chrono::milliseconds(0));
#endif
  if (stock.load() > 0) take();  // [A]
}

int main() {
  std::thread one(sell);
  std::thread two(sell);
  one.join();
  two.join();
}
