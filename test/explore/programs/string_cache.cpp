// A cache of strings with a lock for readers and writers. BUG: who has waited for the lock does not look again.
// safe: sc tso pso; flags: -O2
#include <cassert>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
class Cache {
 public:
  std::string get(int key) {
    {
      std::shared_lock lock(mutex_);
      const auto found = values_.find(key);
      if (found != values_.end()) return found->second;
    }
    std::unique_lock lock(mutex_);
#ifndef BUG
    const auto found = values_.find(key);
    if (found != values_.end()) return found->second;
#endif
    ++misses_;
    return values_[key] = "v" + std::to_string(key);
  }
  int misses() {
    std::shared_lock lock(mutex_);
    return misses_;
  }

 private:
  std::shared_mutex mutex_;
  std::map<int, std::string> values_;
  int misses_ = 0;
};
int main() {
  Cache cache;
  std::thread a([&] { assert(cache.get(1) == "v1"); }), b([&] { assert(cache.get(1) == "v1"); });
  a.join();
  b.join();
  assert(cache.misses() == 1);
}
