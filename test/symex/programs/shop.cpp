// A shop: orders go through a queue of texts to workers, which look prices up in a map, add what was sold to shared counters through virtual functions, and throw
// where something is not sold. Strings, maps, exceptions and virtual calls on memory that threads share.
#include <cassert>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct NotSold : std::runtime_error {
  explicit NotSold(const std::string& what) : std::runtime_error("not sold: " + what) {}
};

class Counter {
 public:
  virtual ~Counter() = default;
  virtual void add(int price) = 0;
  virtual long result() const = 0;
};

class Sum : public Counter {
 public:
  void add(int price) override { sum_ += price; }
  long result() const override { return sum_; }

 private:
  long sum_ = 0;
};

class Largest : public Counter {
 public:
  void add(int price) override { largest_ = price > largest_ ? price : largest_; }
  long result() const override { return largest_; }

 private:
  int largest_ = 0;
};

class Queue {
 public:
  void put(std::string text) {
    const std::lock_guard lock(mutex_);
    texts_.push_back(std::move(text));
    changed_.notify_one();
  }
  bool get(std::string& text) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !texts_.empty(); });
    if (texts_.empty()) return false;
    text = std::move(texts_.front());
    texts_.pop_front();
    return true;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> texts_;
  bool closed_ = false;
};

class Shop {
 public:
  Shop() {
    prices_["an apple"] = 3;
    prices_["a loaf of the finest bread"] = 7;
    counters_.push_back(std::make_unique<Sum>());
    counters_.push_back(std::make_unique<Largest>());
  }
  void set(const std::string& name, int price) {
    const std::lock_guard lock(mutex_);
    prices_[name] = price;
  }
  void sell(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = prices_.find(name);
    if (found == prices_.end()) throw NotSold(name);
    for (const auto& counter : counters_) counter->add(found->second);
  }
  long result(size_t number) const { return counters_[number]->result(); }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int> prices_;
  std::vector<std::unique_ptr<Counter>> counters_;
};

}  // namespace

int main() {
  Shop shop;
  Queue queue;
  std::mutex refusals_mutex;
  int refusals = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < 2; ++i) {
    workers.emplace_back([&] {
      for (std::string text; queue.get(text);) {
        try {
          shop.sell(text);
        } catch (const NotSold& refused) {
          const std::lock_guard lock(refusals_mutex);
          refusals += refused.what()[0] == 'n';
        }
      }
    });
  }
  shop.set("cheese", 9);
  for (const char* name : {"an apple", "a loaf of the finest bread", "cheese", "a unicorn", "an apple"}) queue.put(name);
  queue.close();
  for (std::thread& worker : workers) worker.join();
  assert(shop.result(0) == 3 + 7 + 9 + 3 && shop.result(1) == 9 && refusals == 1);
}
