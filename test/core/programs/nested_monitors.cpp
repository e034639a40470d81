// A store of messages has a monitor, and each mailbox in it. Who takes from an empty mailbox waits in its
// monitor, but inside of that of the store, so nobody can bring a message. Only a reader who looked in before
// the message came gets there.
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
class Mailbox {
 public:
  void put(std::string text) {
    std::lock_guard held(lock_);
    messages_.push_back(std::move(text));
    came_.notify_one();
  }
  std::string take() {
    std::unique_lock held(lock_);
    came_.wait(held, [this] { return !messages_.empty(); });
    std::string text = messages_.front();
    messages_.pop_front();
    return text;
  }
  size_t size() {
    std::lock_guard held(lock_);
    return messages_.size();
  }

 private:
  std::mutex lock_;
  std::condition_variable came_;
  std::deque<std::string> messages_;
};
class Store {
 public:
  Mailbox& box(const std::string& name) {
    std::lock_guard held(lock_);
    return boxes_[name];
  }
  void send(const std::string& name, const std::string& text) {
    std::lock_guard held(lock_);
    ++sent_;
    boxes_[name].put(text);
  }
  std::string receive(const std::string& name) {
#ifdef FIXED
    return box(name).take();
#else
    if (box(name).size() == 0) return box(name).take();
    std::lock_guard held(lock_);
    return boxes_[name].take();
#endif
  }

 private:
  std::mutex lock_;
  std::map<std::string, Mailbox> boxes_;
  int sent_ = 0;
};
int main() {
  Store store;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&store, i] {
      for (int k = 0; k < 3; ++k) store.send(k % 2 ? "ann" : "bob", "message " + std::to_string(i * 10 + k));
    });
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&store, i] {
      for (int k = 0; k < 2; ++k) store.receive(i == 2 || i == k ? "bob" : "ann");
    });
  for (auto& thread : threads) thread.join();
}
