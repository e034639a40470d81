// std::thread: arguments, moves, ids, joinable, detach, errors; mutexes with guards of each kind.
#include <cassert>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

std::mutex mutex;
std::recursive_mutex recursive;
std::set<std::thread::id> ids;
int total;

static void add(int amount, std::unique_ptr<int> more, int& out) {
  const std::lock_guard guard(mutex);
  total += amount + *more;
  out = amount;
  ids.insert(std::this_thread::get_id());
}

static int depth(int n) {
  const std::lock_guard guard(recursive);
  return n == 0 ? 0 : 1 + depth(n - 1);
}

int main() {
  assert(std::thread::hardware_concurrency() > 0);
  int out[3] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(add, i + 1, std::make_unique<int>(10), std::ref(out[i]));
  assert(threads[0].joinable() && threads[0].get_id() != threads[1].get_id());
  for (auto& thread : threads) thread.join();
  assert(!threads[0].joinable() && total == 36 && ids.size() == 3 && out[2] == 3);
  assert(ids.count(std::this_thread::get_id()) == 0);
  try {
    threads[0].join();
    assert(false);
  } catch (const std::system_error& error) {
    assert(error.code() == std::errc::invalid_argument);
  }
  std::unique_lock lock(mutex, std::defer_lock);
  assert(lock.try_lock());
  try {
    lock.lock();
    assert(false);
  } catch (const std::system_error& error) {
    assert(error.code() == std::errc::resource_deadlock_would_occur);
  }
  std::thread([] { assert(!mutex.try_lock()); }).join();
  lock.unlock();
  int reached = 0;
  std::thread a([&] { reached = depth(4); });
  std::thread b = std::move(a);
  assert(!a.joinable() && depth(3) == 3);
  b.join();
  assert(reached == 4);
  std::mutex other;
  auto both = [&](std::mutex& first, std::mutex& second) {
    const std::scoped_lock guard(first, second);  // in any order, without deadlock
    ++total;
  };
  std::thread c(both, std::ref(mutex), std::ref(other)), d(both, std::ref(other), std::ref(mutex));
  c.join();
  d.join();
  assert(total == 38);
}
