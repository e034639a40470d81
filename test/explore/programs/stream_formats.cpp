// Threads print with manipulators, to a stream of their own and to standard output. BUG: the counter is not protected.
// safe: sc tso pso
#include <cassert>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
static std::mutex mutex;
static int counter;
static std::string label(int number) {
  std::ostringstream out;
  out << std::setw(4) << std::setfill('0') << std::hex << number;
  return out.str();
}
static void work(int number) {
  std::cout << std::setw(6) << std::setfill('.') << label(number) << '\n';
#ifndef BUG
  std::lock_guard lock(mutex);
#endif
  int seen = counter;
  counter = seen + 1;
}
int main() {
  std::thread a(work, 10), b(work, 11);
  a.join();
  b.join();
  assert(counter == 2);
}
