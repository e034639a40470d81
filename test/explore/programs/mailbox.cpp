// Two actors with a mailbox each (std::deque of std::variant), ping and pong and a stop. -DBUG: empty() is asked without the lock.
// safe: sc tso pso
#include <cassert>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
struct Stop {};
using Message = std::variant<Stop, int, std::string>;
class Mailbox {
 public:
  void post(Message m) { { std::lock_guard g(mutex_); queue_.push_back(std::move(m)); } some_.notify_one(); }
  Message take() {
    std::unique_lock g(mutex_);
    some_.wait(g, [&] { return !queue_.empty(); });
    Message m = std::move(queue_.front());
    queue_.pop_front();
    return m;
  }
  std::optional<Message> try_take() {
#ifdef BUG
    if (queue_.empty()) return std::nullopt;
    std::lock_guard g(mutex_);
#else
    std::lock_guard g(mutex_);
    if (queue_.empty()) return std::nullopt;
#endif
    Message m = queue_.front();
    assert(!queue_.empty());
    queue_.pop_front();
    return m;
  }
 private:
  std::mutex mutex_;
  std::condition_variable some_;
  std::deque<Message> queue_;
};
int main() {
  Mailbox in;
  int seen = 0;
  std::mutex m;
  auto poll = [&] { if (auto got = in.try_take()) { std::lock_guard g(m); assert(std::holds_alternative<int>(*got)); seen++; } };
  std::thread a(poll), b(poll), c([&] { in.post(1); });
  a.join(); b.join(); c.join();
  while (in.try_take()) seen++;
  assert(seen == 1);
}
