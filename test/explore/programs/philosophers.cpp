// Three dining philosophers. BUG: all take the left fork first.
// safe: sc tso pso
#include <mutex>
#include <thread>
#include <vector>
std::mutex forks[3];
void dine(int i) {
  int first = i, second = (i + 1) % 3;
#ifndef BUG
  if (first > second) std::swap(first, second);
#endif
  std::lock_guard a(forks[first]);
  std::lock_guard b(forks[second]);
}
int main() {
  std::vector<std::thread> all;
  for (int i = 0; i < 3; ++i) all.emplace_back(dine, i);
  for (auto& each : all) each.join();
}
