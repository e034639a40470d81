// Parallel sort over one shared array: each thread sorts its part (quicksort, insertion sort for short pieces),
// then pairs of parts are merged, half as many threads in each step; a barrier between the steps.
//
//   sort NUMBERS
#include <pthread.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

constexpr unsigned kThreads = 4;

std::vector<uint32_t> numbers, scratch;
pthread_barrier_t barrier;

size_t part_begin(unsigned part) {
  return numbers.size() * part / kThreads;
}

void insertion_sort(uint32_t* first, uint32_t* last) {
  for (uint32_t* i = first + 1; i < last; ++i) {
    const uint32_t value = *i;
    uint32_t* to = i;
    for (; to > first && to[-1] > value; --to) *to = to[-1];
    *to = value;
  }
}

uint32_t median(uint32_t a, uint32_t b, uint32_t c) {
  if (a > b) std::swap(a, b);
  if (b > c) b = c;
  return a > b ? a : b;
}

void quicksort(uint32_t* first, uint32_t* last) {
  while (last - first > 16) {
    const uint32_t pivot = median(*first, first[(last - first) / 2], last[-1]);
    uint32_t *left = first, *right = last - 1;
    while (left <= right) {
      while (*left < pivot) ++left;
      while (*right > pivot) --right;
      if (left <= right) std::swap(*left++, *right--);
    }
    quicksort(first, right + 1);
    first = left;
  }
  insertion_sort(first, last);
}

void merge(const uint32_t* a, const uint32_t* a_end, const uint32_t* b, const uint32_t* b_end, uint32_t* out) {
  while (a < a_end && b < b_end) *out++ = *b < *a ? *b++ : *a++;
  while (a < a_end) *out++ = *a++;
  while (b < b_end) *out++ = *b++;
}

void* work(void* argument) {
  const auto me = static_cast<unsigned>(reinterpret_cast<uintptr_t>(argument));
  quicksort(&numbers[part_begin(me)], &numbers[0] + part_begin(me + 1));
  for (unsigned step = 1; step < kThreads; step *= 2) {
    pthread_barrier_wait(&barrier);
    if (me == 0 && step > 1) numbers.swap(scratch);
    pthread_barrier_wait(&barrier);
    if (me % (2 * step) != 0) continue;
    uint32_t* in = numbers.data();
    merge(in + part_begin(me), in + part_begin(me + step), in + part_begin(me + step),
          in + part_begin(me + 2 * step), scratch.data() + part_begin(me));
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto count = static_cast<size_t>(std::atol(argv[1]));
  numbers.resize(count);
  scratch.resize(count);
  uint32_t random = 1;
  for (uint32_t& number : numbers) number = random = random * 1664525 + 1013904223;
  pthread_barrier_init(&barrier, nullptr, kThreads);
  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; ++i)
    pthread_create(&threads[i], nullptr, work, reinterpret_cast<void*>(i));
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  uint64_t sum = 0;
  uint32_t before = 0;
  for (const uint32_t number : scratch) {
    if (number < before) return 1;
    before = number;
    sum = sum * 31 + number;
  }
  std::printf("sum %016llx\n", static_cast<unsigned long long>(sum));
  return 0;
}
