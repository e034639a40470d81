// Threads that call a function, a member function, a lambda and a std::function; the last one fails.
#include <cassert>
#include <functional>
#include <thread>

struct Counter {
  int value = 0;
  void add(int n) { value += n; }
};

Counter counter;

void function(int n) {
  counter.value += n;
}

int main() {
  std::thread(function, 1).join();
  std::thread(&Counter::add, &counter, 2).join();
  std::thread([] { counter.value += 3; }).join();
  const std::function<void()> stored = [] { counter.value += 4; };
  std::thread(stored).join();
  std::thread([](int most) { assert(counter.value < most); }, 10).join();
}
