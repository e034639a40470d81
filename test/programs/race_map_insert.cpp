// Two threads each enter one name into the same std::map.
//
// The bug: no lock. Both look for the place first; both find the same empty one, and the second node replaces
// the first. The map says two and holds one.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: race
// HEDDLE-DECISIVE: A A the two insertions overlap: both look for the place before one has entered its node
// HEDDLE-SMALL: yes
// HEDDLE-ALSO: segv
#include <cassert>
#include <map>
#include <mutex>
#include <thread>

std::map<int, int> births;
#ifdef FIXED
std::mutex mutex;
#endif

static void enter(int name, int year) {
#ifdef FIXED
  std::lock_guard lock(mutex);
#endif
  births.emplace(name, year);  // [A]
}

int main() {
  std::thread one(enter, 1, 1815);
  std::thread two(enter, 2, 1912);
  one.join();
  two.join();
  assert(births.contains(1));
  assert(births.contains(2));
}
