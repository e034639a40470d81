// Two threads wait with std::atomic::wait until main opens the gate.
//
// The bug: main calls notify_one(). When both have gone to sleep, one of them stays asleep.
//
// HEDDLE-FAILURE: lost-wakeup
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: lost-wakeup
// HEDDLE-DECISIVE: A B both threads wait before the gate opens
// HEDDLE-SMALL: yes
// HEDDLE-ALSO: deadlock
#include <atomic>
#include <thread>

std::atomic<int> open_gate{0};

static void pass() {
  open_gate.wait(0);
}  // [A]

int main() {
  std::thread one(pass);
  std::thread two(pass);
  open_gate.store(1);  // [B]
#ifdef FIXED
  open_gate.notify_all();
#else
  open_gate.notify_one();
#endif
  one.join();
  two.join();
}
