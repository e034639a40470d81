// A crash in the fourth round of a loop: over a vector from its second element on, backwards through an array, by a number that begins with an
// argument, and in an inner loop that begins where the outer one stands, in the second round of that.
#include <pthread.h>

#include <cstdlib>
#include <vector>

static int one = 1, two = 2;
static volatile unsigned third = 3, twelve = 12;

[[gnu::noinline]] static int forwards(const std::vector<int*>& values) {
  int total = 0;
  for (auto value = values.begin() + 1; value != values.end(); ++value) total += **value;
  return total;
}

[[gnu::noinline]] static int backwards(int* const* last, int* const* first) {
  int total = 0;
  for (; last > first; --last) total += **last;
  return total;
}

[[gnu::noinline]] static int by_number(int* const* values, unsigned number, unsigned end) {
  int total = 0;
  for (; number < end; number += 2) total += *values[number];
  return total;
}

[[gnu::noinline]] static int nested(int* const* values, int* const* end) {
  int total = 0;
  for (int* const* outer = values + 2; outer < end; ++outer)
    for (int* const* inner = outer; *inner != &one; ++inner) total += **inner;
  return total;
}

static void* work(void* argument) {
  std::vector<int*> values(12, &one);
  switch (*static_cast<int*>(argument)) {
    case 0:
      values[4] = nullptr;
      return forwards(values) != 0 ? argument : nullptr;
    case 1:
      values[4] = nullptr;
      return backwards(&values[7], &values[0]) != 0 ? argument : nullptr;
    case 2:
      values[9] = nullptr;
      return by_number(values.data(), third, twelve) != 0 ? argument : nullptr;
    default:
      values[3] = values[4] = values[5] = &two;
      values[6] = nullptr;
      return nested(values.data(), values.data() + 12) != 0 ? argument : nullptr;
  }
}

int main(int argc, char** argv) {
  int way = argc > 1 ? std::atoi(argv[1]) : 0;
  pthread_t thread;
  pthread_create(&thread, nullptr, work, &way);
  pthread_join(thread, nullptr);
}
