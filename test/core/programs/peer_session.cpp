// A session starts the thread of its events in its constructor, before it has set up the bandwidth that the
// first peers are given. A peer who connects early has none; what he gets is used much later, when he is
// served.
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
struct Bandwidth {
  explicit Bandwidth(int limit) : limit(limit) {}
  int limit, used = 0;
  std::vector<int> history;
};
struct Peer {
  int id;
  Bandwidth* bandwidth;
  int received = 0;
};
class Session {
 public:
  explicit Session(int limit)
#ifdef FIXED
      : bandwidth_(std::make_unique<Bandwidth>(limit)), events_([this] { run(); }) {
#else
      : events_([this] { run(); }) {
#endif
    for (int i = 0; i < 16; ++i) ports_.push_back(6881 + i);
#ifndef FIXED
    bandwidth_ = std::make_unique<Bandwidth>(limit);
#endif
  }
  ~Session() {
    {
      std::lock_guard held(lock_);
      closing_ = true;
    }
    changed_.notify_all();
    events_.join();
  }
  void serve() {
    std::lock_guard held(lock_);
    for (Peer& peer : peers_) {
      peer.bandwidth->used += 4;
      peer.bandwidth->history.push_back(peer.id);
      peer.received += peer.bandwidth->limit / static_cast<int>(peers_.size());
    }
  }
  size_t peers() {
    std::lock_guard held(lock_);
    return peers_.size();
  }

 private:
  void run() {
    for (int i = 0; i < 3; ++i) accept(i);
    std::unique_lock held(lock_);
    changed_.wait(held, [this] { return closing_; });
  }
  void accept(int id) {
    std::lock_guard held(lock_);
    peers_.push_back(Peer{id, bandwidth_.get()});
    changed_.notify_all();
  }
  std::mutex lock_;
  std::condition_variable changed_;
  bool closing_ = false;
  std::deque<Peer> peers_;
  std::vector<int> ports_;
  std::unique_ptr<Bandwidth> bandwidth_;
  std::thread events_;
};
int main() {
  Session session(100);
  std::vector<std::thread> clients;
  for (int i = 0; i < 2; ++i)
    clients.emplace_back([&] {
      while (session.peers() < 3) std::this_thread::yield();
      for (int round = 0; round < 3; ++round) session.serve();
    });
  for (auto& client : clients) client.join();
}
