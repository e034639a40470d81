// Subscribers are kept in a vector of shared_ptr behind a shared_mutex. BUG: publishing goes through the vector itself, behind the lock.
// safe: sc tso pso
#include <atomic>
#include <cassert>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

struct Subscriber {
  std::atomic<int> received{0};
};

class Bus {
 public:
  void subscribe(std::shared_ptr<Subscriber> subscriber) {
    std::unique_lock lock(mutex_);
    subscribers_.push_back(std::move(subscriber));
  }
  void publish(int value) {
#ifdef BUG
    for (const auto& each : subscribers_) each->received += value;
#else
    std::vector<std::shared_ptr<Subscriber>> copy;
    {
      std::shared_lock lock(mutex_);
      copy = subscribers_;
    }
    for (const auto& each : copy) each->received += value;
#endif
  }

 private:
  std::shared_mutex mutex_;
  std::vector<std::shared_ptr<Subscriber>> subscribers_;
};

int main() {
  Bus bus;
  auto first = std::make_shared<Subscriber>();
  bus.subscribe(first);
  std::thread publisher([&] { bus.publish(1); });
  std::thread newcomer([&] { bus.subscribe(std::make_shared<Subscriber>()); });
  publisher.join();
  newcomer.join();
  assert(first->received == 1);
}
