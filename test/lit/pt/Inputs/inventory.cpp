// A stock that two threads take from: each asks first and takes then, under the lock both times. What runs last
// in the threads is a tail call.
#include <cassert>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
class Inventory {
 public:
  void add(const std::string& name, int n) {
    std::lock_guard<std::mutex> g(m_);
    stock_[name] += n;
  }
  bool has(const std::string& name, int n) {
    std::lock_guard<std::mutex> g(m_);
    auto it = stock_.find(name);
    return it != stock_.end() && it->second >= n;
  }
  void take(const std::string& name, int n) {
    std::lock_guard<std::mutex> g(m_);
    stock_[name] -= n;
  }
  int count(const std::string& name) {
    std::lock_guard<std::mutex> g(m_);
    return stock_[name];
  }

 private:
  std::mutex m_;
  std::map<std::string, int> stock_;
};
int main() {
  Inventory inv;
  inv.add("bolt", 5);
  std::vector<std::thread> ts;
  for (int i = 0; i < 2; ++i)
    ts.emplace_back([&inv] {
      if (inv.has("bolt", 3)) inv.take("bolt", 3);
    });
  for (auto& t : ts) t.join();
  assert(inv.count("bolt") >= 0);
}
