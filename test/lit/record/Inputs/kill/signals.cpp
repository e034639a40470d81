// Threads that never end, throw exceptions and are interrupted by a timer.
#include <csignal>
#include <stdexcept>
#include <sys/time.h>
#include <thread>
#include <vector>

static volatile unsigned shared;
struct Guard {
  ~Guard() { if (shared & 1) shared = shared + 1; }
};
static void on_alarm(int number) {
  for (int i = 0; i < number; ++i) if ((shared + static_cast<unsigned>(i)) & 2) shared = shared + 1;
}
__attribute__((noinline)) static unsigned deep(unsigned depth, unsigned n) {
  Guard guard;
  if (depth == 0) {
    if (n % 3 == 0) throw std::runtime_error("often");
    return n;
  }
  return deep(depth - 1, n) + 1;
}
static void run(unsigned first) {
  for (unsigned n = first;; ++n) {
    std::vector<unsigned> values;
    for (unsigned i = 0; i < n % 10; ++i) values.push_back(i);
    try {
      shared = deep(n % 5, n) + static_cast<unsigned>(values.size());
    } catch (const std::exception&) {
      shared = 1;
    }
  }
}
int main() {
  struct itimerval timer = {{0, 500}, {0, 500}};
  std::signal(SIGALRM, on_alarm);
  setitimer(ITIMER_REAL, &timer, nullptr);
  std::thread first(run, 1), second(run, 2);
  run(3);
}
