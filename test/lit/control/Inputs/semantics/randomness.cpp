// Random sources: usable from several threads, within bounds, not all the same.
#include <sys/random.h>
#include <array>
#include <cassert>
#include <cstdlib>
#include <mutex>
#include <random>
#include <set>
#include <thread>

std::mutex mutex;
std::set<unsigned> seen;

static void draws() {
  std::random_device device;
  std::mt19937 generator(device());
  std::array<unsigned, 4> numbers;
  for (auto& number : numbers) number = device();
  unsigned extra;
  assert(getrandom(&extra, sizeof extra, 0) == sizeof extra);
  const int die = std::uniform_int_distribution<int>(1, 6)(generator);
  assert(die >= 1 && die <= 6 && rand() >= 0);
  const std::lock_guard guard(mutex);
  seen.insert(numbers.begin(), numbers.end());
}

int main() {
  std::thread a(draws), b(draws);
  a.join();
  b.join();
  assert(seen.size() > 4);
}
