/* Threads that go through parts of shared arrays, up and down, by all sizes: what a thread comes to next is
 * taken over many words at a time, from whoever has it, while others come from the other side. Some sweep under
 * a lock, some copy whole parts. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define THREADS 4
#define ROUNDS 60
#define NUMBERS 20000

static struct {
  uint64_t wide[NUMBERS];
  uint32_t numbers[NUMBERS];
  uint8_t bytes[NUMBERS];
} shared;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static unsigned next(unsigned* random) {
  return (*random = *random * 1664525 + 1013904223) >> 8;
}

static uint64_t sweep(unsigned* random) {
  const unsigned what = next(random) % 8;
  long length = 1 + next(random) % (what == 0 ? NUMBERS : 1500), at = next(random) % (NUMBERS - length + 1);
  uint64_t sum = 0;
  switch (what) {
    case 0:
      while (length-- > 0) sum += shared.numbers[at + length];
      break;
    case 1:
      for (; length-- > 0; ++at) shared.numbers[at] += (uint32_t)at;
      break;
    case 2:
      while (length-- > 0) ++shared.wide[at + length];
      break;
    case 3:
      for (; length-- > 0; ++at) sum = sum * 3 + shared.wide[at];
      break;
    case 4:
      while (length-- > 0) shared.bytes[at + length] ^= 1;
      break;
    case 5:
      for (; length-- > 0; ++at) sum += shared.bytes[at]++;
      break;
    case 6:
      memmove(&shared.wide[at / 2], &shared.wide[at], (size_t)length * 8);
      break;
    default:
      for (; length > 2; ++at, length -= 2) /* from both sides */
        shared.numbers[at] = shared.numbers[at + length - 1];
  }
  return sum;
}

static void* work(void* seed) {
  unsigned random = (unsigned)(uintptr_t)seed;
  uint64_t sum = 0;
  for (unsigned i = 0; i < ROUNDS; ++i) {
    const int locks = next(&random) % 3 == 0;
    if (locks) pthread_mutex_lock(&mutex);
    sum += sweep(&random);
    if (locks) pthread_mutex_unlock(&mutex);
  }
  return (void*)(uintptr_t)sum;
}

int main(void) {
  pthread_t threads[THREADS];
  uintptr_t sum = 0;
  for (uintptr_t t = 0; t < THREADS; ++t) pthread_create(&threads[t], NULL, work, (void*)(t + 1));
  for (unsigned t = 0; t < THREADS; ++t) {
    void* of_one;
    pthread_join(threads[t], &of_one);
    sum += (uintptr_t)of_one;
  }
  printf("%lx\n", (unsigned long)sum);
  return 0;
}
