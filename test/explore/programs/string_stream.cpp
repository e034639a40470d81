// Two threads put something into one string stream, whoever comes first. -DBUG: one order is expected.
// safe: sc tso pso
#include <cassert>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
static std::ostringstream out;
static std::mutex mutex;
static void put(int number) {
  std::lock_guard lock(mutex);
  out << number << ' ';
}
int main() {
  std::thread a(put, 1), b(put, 2);
  a.join();
  b.join();
  const std::string text = out.str();
#ifdef BUG
  assert(text == "1 2 ");
#else
  assert(text == "1 2 " || text == "2 1 ");
#endif
}
