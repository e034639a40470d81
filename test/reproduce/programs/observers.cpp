// A temperature sensor that tells its observers, who come and go.
//
// The bug: publish() goes through the list of observers without a lock, while subscribe() may make the vector
// grow: publish() reads an element of the block that was freed, or misses that the vector moved.
//
// HEDDLE-FAILURE: abort
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: race
// HEDDLE-ALSO: use-after-free, segv
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void changed(double value) = 0;
  virtual int seen() const = 0;
};

class Display : public Observer {
 public:
  explicit Display(std::string name) : name_(std::move(name)) {}
  void changed(double value) override {
    last_ = value;
    ++seen_;
  }
  int seen() const override { return seen_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  double last_ = 0;
  int seen_ = 0;
};

class Alarm : public Observer {
 public:
  Alarm(double limit, std::function<void(double)> ring) : limit_(limit), ring_(std::move(ring)) {}
  void changed(double value) override {
    ++seen_;
    if (value > limit_) ring_(value);
  }
  int seen() const override { return seen_; }

 private:
  double limit_;
  std::function<void(double)> ring_;
  int seen_ = 0;
};

class Sensor {
 public:
  void subscribe(std::shared_ptr<Observer> observer) {
    std::lock_guard<std::mutex> lock(mutex_);
    observers_.push_back(std::move(observer));
    expected_ = expected_ + 1;
  }

  void publish(double value) {
    std::size_t told = 0;
    const std::size_t expected = expected_;
    for (const auto& observer : observers_) {
      if (!observer) std::abort();
      observer->changed(value);
      ++told;
    }
    if (told < expected) {
      std::fprintf(stderr, "told %zu of %zu\n", told, expected);
      std::abort();
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Observer>> observers_;
  volatile std::size_t expected_ = 0;
};

int main() {
  Sensor sensor;
  std::map<std::string, int> rings;
  sensor.subscribe(std::make_shared<Display>("hall"));
  sensor.subscribe(std::make_shared<Alarm>(30.0, [&rings](double) { ++rings["kitchen"]; }));
  std::thread publisher([&sensor] {
    for (int i = 0; i < 6; ++i) sensor.publish(20.0 + 3 * i);
  });
  std::thread visitor([&sensor] {
    for (int i = 0; i < 4; ++i) sensor.subscribe(std::make_shared<Display>("visitor " + std::to_string(i)));
  });
  publisher.join();
  visitor.join();
  if (rings["kitchen"] != 2) std::abort();
  return 0;
}
