// A cache of strings that throws out what was used longest ago: a list in order of use, and a table of places
// in the list.
//
// The bug: get() reads the table under a shared lock and moves the entry to the front afterwards, under the
// exclusive lock, without looking again: another thread may have thrown the entry out. splice() then works on
// an element of the list that is gone.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-ALSO: use-after-free, segv
#include <cassert>
#include <cstddef>
#include <cstdio>
#include <list>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

class Lru {
 public:
  explicit Lru(std::size_t most) : most_(most) {}

  bool get(const std::string& key, std::string& value) {
    Places::iterator found;
    {
      std::shared_lock lock(mutex_);
      found = places_.find(key);
      if (found == places_.end()) return false;
    }
    std::unique_lock lock(mutex_);
    assert(!order_.empty());
    const Order::iterator place = found->second;
    assert(place->key == key && "the entry is another one's now");
    order_.splice(order_.begin(), order_, place);
    value = place->value;
    return true;
  }

  void put(const std::string& key, std::string value) {
    std::unique_lock lock(mutex_);
    if (const auto found = places_.find(key); found != places_.end()) {
      found->second->value = std::move(value);
      order_.splice(order_.begin(), order_, found->second);
      return;
    }
    order_.push_front({key, std::move(value)});
    places_[key] = order_.begin();
    if (order_.size() > most_) {
      Entry& oldest = order_.back();
      const std::string gone = oldest.key;
      oldest.key = "(free)";
      places_.erase(gone);
      order_.pop_back();
    }
  }

  std::size_t size() {
    std::shared_lock lock(mutex_);
    return order_.size();
  }

 private:
  struct Entry {
    std::string key, value;
  };
  using Order = std::list<Entry>;
  using Places = std::unordered_map<std::string, Order::iterator>;

  std::size_t most_;
  std::shared_mutex mutex_;
  Order order_;
  Places places_;
};

static std::string page(int i) {
  return "https://example.org/page/" + std::to_string(i) + "/index.html";
}

int main() {
  Lru cache(3);
  for (int i = 0; i < 3; ++i) cache.put(page(i), "old");
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&cache, t] {
      for (int i = 0; i < 4; ++i) {
        std::string value;
        if (!cache.get(page(i + t), value)) cache.put(page(i + t), "page " + std::to_string(i));
      }
    });
  for (std::thread& thread : threads) thread.join();
  assert(cache.size() <= 3);
  std::printf("%zu pages\n", cache.size());
  return 0;
}
