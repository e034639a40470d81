// Orders in a map, a hash table of lists and a set, under one lock: values that come from shared memory go through iterators, pairs and strings, and
// through code of the library models.
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct Order {
  int id = 0;
  std::string customer;
};

class Book {
 public:
  void put(const Order& order) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      by_id_[order.id] = order;
      by_customer_[order.customer].push_back(order.id);
      customers_.insert(order.customer);
    }
    changed_.notify_one();
  }

  bool take(Order& out) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return !by_id_.empty() || closed_; });
    if (by_id_.empty()) return false;
    const auto first = by_id_.begin();
    out = first->second;
    by_id_.erase(first);
    std::list<int>& of_customer = by_customer_[out.customer];
    of_customer.remove(out.id);
    if (of_customer.empty()) {
      by_customer_.erase(out.customer);
      customers_.erase(out.customer);
    }
    return true;
  }

  void close() {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  size_t left() const { return by_id_.size() + by_customer_.size() + customers_.size(); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  std::map<int, Order> by_id_;
  std::unordered_map<std::string, std::list<int>> by_customer_;
  std::set<std::string> customers_;
};

static int compare(const void* a, const void* b) {
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

int main() {
  Book book;
  std::vector<int> taken[2];
  const auto work = [&](int number) {
    Order order;
    while (book.take(order)) taken[number].push_back(order.id);
    std::qsort(taken[number].data(), taken[number].size(), sizeof(int), compare);
  };
  std::thread one(work, 0), two(work, 1);
  for (int i = 0; i < 12; ++i) book.put({i * 5 % 12, "a customer with a long name, number " + std::to_string(i % 3)});
  book.close();
  one.join();
  two.join();
  const int key = 5;
  const bool found = std::any_of(std::begin(taken), std::end(taken), [&](const std::vector<int>& ids) {
    return std::bsearch(&key, ids.data(), ids.size(), sizeof(int), compare) != nullptr;
  });
  std::printf("%zu taken, %zu left, %s\n", taken[0].size() + taken[1].size(), book.left(), found ? "found" : "lost");
}
