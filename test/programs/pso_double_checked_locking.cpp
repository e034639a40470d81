// A configuration made at first use, with double-checked locking.
//
// The bug: the pointer is published and read with relaxed order. Under PSO it can become visible before the
// object's members; a thread that takes the short way around the lock sees an empty configuration. Impossible
// under SC and TSO.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: pso
// HEDDLE-PATTERN: store-buffer
// HEDDLE-DECISIVE: B A the member is read before its initialisation has become visible
// HEDDLE-SMALL: yes
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>

#ifdef FIXED
constexpr auto kPublish = std::memory_order_release;
constexpr auto kConsume = std::memory_order_acquire;
#else
constexpr auto kPublish = std::memory_order_relaxed;
constexpr auto kConsume = std::memory_order_relaxed;
#endif

struct Config {
  void init() { limit.store(100, std::memory_order_relaxed); }       // [A]
  int get() const { return limit.load(std::memory_order_relaxed); }  // [B]
  std::atomic<int> limit{0};
};

Config storage;
std::mutex mutex;
std::atomic<Config*> instance{nullptr};

static Config& config() {
  Config* result = instance.load(kConsume);
  if (result == nullptr) {
    std::lock_guard lock(mutex);
    result = instance.load(std::memory_order_relaxed);
    if (result == nullptr) {
      storage.init();
      result = &storage;
      instance.store(result, kPublish);
    }
  }
  return *result;
}

static void use() {
  assert(config().get() == 100);
}

int main() {
  std::thread first(use);
  std::thread second(use);
  first.join();
  second.join();
}
