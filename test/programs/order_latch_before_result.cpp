// Two workers compute parts of a sum; main waits for both on a std::latch and adds the parts up.
//
// The bug: a worker counts down before it has stored its part.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: order
// HEDDLE-DECISIVE: A B main reads a part before it is stored
// HEDDLE-SMALL: yes
#include <array>
#include <cassert>
#include <latch>
#include <thread>

int main() {
  std::array<volatile int, 2> parts{};
  std::latch ready(2);
  auto compute = [&](int index, int from) {
    int sum = 0;
    for (int i = from; i < from + 5; ++i) sum += i;
#ifdef FIXED
    parts[index] = sum;
    ready.count_down();
#else
    ready.count_down();
    parts[index] = sum;  // [B]
#endif
  };
  std::thread one(compute, 0, 0);
  std::thread two(compute, 1, 5);
  ready.wait();
  const int total = parts[0] + parts[1];  // [A]
  one.join();
  two.join();
  assert(total == 45);
}
