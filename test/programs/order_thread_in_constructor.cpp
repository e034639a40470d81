// A base class starts a thread that calls a virtual function of the derived class.
//
// The bug: the thread is started in the base constructor. When it is fast, the derived class is not there yet,
// and a pure virtual function is called: the library ends the program.
//
// HEDDLE-FAILURE: abort
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: order
// HEDDLE-DECISIVE: A B the thread reads the object's class before the derived constructor has set it
// HEDDLE-SMALL: yes
// HEDDLE-ALSO: exception, assert
#include <cassert>
#include <thread>

class Service {
 public:
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  void stop() { thread_.join(); }

 protected:
  Service() {
#ifndef FIXED
    start();
#endif
  }
  virtual ~Service() = default;
  void start() {
    thread_ = std::thread([this] { run(); });  // [A]
  }
  virtual void run() = 0;

 private:
  std::thread thread_;
};

class Clock final : public Service {
 public:
  Clock() {  // [B]
#ifdef FIXED
    start();
#endif
  }
  int ticks() const { return ticks_; }

 private:
  void run() override { ++ticks_; }
  int ticks_ = 0;
};

int main() {
  Clock clock;
  clock.stop();
  assert(clock.ticks() == 1);
}
