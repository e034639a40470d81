// this_thread::sleep_for and sleep_until, and that the longer sleeper does not wake first by the clock.
#include <cassert>
#include <chrono>
#include <thread>

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

int main() {
  const auto start = Clock::now();
  Clock::time_point early, late;
  std::thread a([&] {
    std::this_thread::sleep_for(2ms);
    early = Clock::now();
  });
  std::thread b([&] {
    std::this_thread::sleep_until(start + 4ms);
    late = Clock::now();
  });
  a.join();
  b.join();
  assert(early - start >= 2ms && late - start >= 4ms);
  const auto end = Clock::now();
  assert(end >= early && end >= late);
  std::this_thread::sleep_for(-1s);
  std::this_thread::sleep_until(start);
}
