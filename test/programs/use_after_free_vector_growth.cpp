// One thread adds measurements to a vector, another one looks at the first of them.
//
// The bug: push_back() moves the elements when the vector grows; a reader without the lock may look into the
// freed block.
//
// HEDDLE-FAILURE: use-after-free
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: race
// HEDDLE-DECISIVE: A B the vector grows and frees its block before the reader loads the element
// HEDDLE-SMALL: yes
// HEDDLE-ALSO: assert
#include <cassert>
#include <mutex>
#include <thread>
#include <vector>

std::vector<long> measurements(1, 42);
std::mutex mutex;

static void add() {
  std::lock_guard lock(mutex);
  measurements.push_back(43);  // [A]
}

static void look() {
#ifdef FIXED
  std::lock_guard lock(mutex);
#endif
  const long first = measurements[0];  // [B]
  assert(first == 42);
}

int main() {
  std::thread reader(look);
  std::thread writer(add);
  reader.join();
  writer.join();
}
