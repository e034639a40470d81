// Results are kept in a map behind a shared_mutex: looked up under the shared lock, made under the exclusive one. BUG: not looked up again there.
// safe: sc tso pso
#include <cassert>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex lock;
static std::map<int, int> results;
static int computed;

static int square(int number) {
  {
    std::shared_lock shared(lock);
    if (auto found = results.find(number); found != results.end()) return found->second;
  }
  std::unique_lock exclusive(lock);
#ifndef BUG
  if (auto found = results.find(number); found != results.end()) return found->second;
#endif
  ++computed;
  return results[number] = number * number;
}

int main() {
  int left = 0, right = 0;
  std::thread one([&] { left = square(7); });
  std::thread two([&] { right = square(7); });
  one.join();
  two.join();
  assert(left == 49 && right == 49);
  assert(computed == 1);
}
