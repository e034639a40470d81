// std::timed_mutex and its relatives: time-outs while it is held, success when it is free.
#include <cassert>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>

using namespace std::chrono_literals;

int main() {
  std::timed_mutex mutex;
  std::recursive_timed_mutex recursive;
  std::shared_timed_mutex shared;
  mutex.lock();
  recursive.lock();
  assert(recursive.try_lock_for(1ms));
  shared.lock();
  std::thread([&] {
    const auto before = std::chrono::steady_clock::now();
    assert(!mutex.try_lock_for(2ms));
    assert(std::chrono::steady_clock::now() - before >= 2ms);
    assert(!recursive.try_lock_until(std::chrono::system_clock::now() + 1ms));
    assert(!recursive.try_lock());
    assert(!shared.try_lock_shared_for(1ms) && !shared.try_lock_for(1ms));
  }).join();
  mutex.unlock();
  recursive.unlock();
  recursive.unlock();
  shared.unlock();
  std::thread([&] {
    assert(mutex.try_lock_for(0ms) && recursive.try_lock_until(std::chrono::steady_clock::now()));
    mutex.unlock();
    recursive.unlock();
    assert(shared.try_lock_shared_for(1ms));
    shared.unlock_shared();
  }).join();
  int counter = 0;
  auto adds = [&] {
    const auto deadline = std::chrono::steady_clock::now() + 1000s;
    std::unique_lock lock(mutex, std::defer_lock);
    while (!lock.try_lock_until(deadline)) assert(std::chrono::steady_clock::now() >= deadline);
    ++counter;
  };
  std::thread a(adds), b(adds);
  a.join();
  b.join();
  assert(counter == 2);
}
