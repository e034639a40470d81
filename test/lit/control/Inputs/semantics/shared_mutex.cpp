// std::shared_mutex: readers together, a writer alone.
#include <atomic>
#include <barrier>
#include <cassert>
#include <mutex>
#include <shared_mutex>
#include <thread>

int main() {
  std::shared_mutex mutex;
  std::barrier both(2);
  std::atomic<int> readers = 0, writers = 0;
  int value = 0;
  auto reads = [&] {
    const std::shared_lock lock(mutex);
    ++readers;
    both.arrive_and_wait();  // only possible when both are inside
    assert(writers == 0 && readers == 2);
    both.arrive_and_wait();
    --readers;
  };
  std::thread a(reads), b(reads);
  a.join();
  b.join();
  auto writes = [&] {
    const std::unique_lock lock(mutex);
    assert(writers++ == 0 && readers == 0);
    ++value;
    --writers;
  };
  std::thread c(writes), d(writes), e([&] {
    const std::shared_lock lock(mutex);
    assert(writers == 0);
    const int seen = value;
    assert(seen >= 0 && seen <= 2 && value == seen);
  });
  c.join();
  d.join();
  e.join();
  assert(value == 2);
  const std::shared_lock held(mutex);
  std::thread([&] {
    assert(!mutex.try_lock() && mutex.try_lock_shared());
    mutex.unlock_shared();
  }).join();
}
