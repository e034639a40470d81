// A pool hands out connections by name and takes them back. BUG: it looks for one and makes one in two steps, with the lock given back in between.
// safe: sc tso pso
#include <cassert>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

struct Connection {
  int users = 0;
};

class Pool {
 public:
  std::shared_ptr<Connection> get(const std::string& host) {
    std::unique_lock<std::mutex> lock(mutex_);
    auto found = open_.find(host);
    if (found != open_.end()) return found->second;
#ifdef BUG
    lock.unlock();
    auto fresh = std::make_shared<Connection>();
    lock.lock();
#else
    auto fresh = std::make_shared<Connection>();
#endif
    open_[host] = fresh;
    ++made_;
    return fresh;
  }
  void add_user(const std::shared_ptr<Connection>& connection) {
    std::lock_guard<std::mutex> lock(mutex_);
    ++connection->users;
  }
  int made() const { return made_; }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Connection>> open_;
  int made_ = 0;
};

int main() {
  Pool pool;
  const auto work = [&] { pool.add_user(pool.get("db")); };
  std::thread one(work), two(work);
  one.join();
  two.join();
  assert(pool.made() == 1);
  assert(pool.get("db")->users == 2);
}
