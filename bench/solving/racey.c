/* racey, after the description in Xu, Bodik, Hill: "A flight data recorder for full-system multiprocessor deterministic
 * replay" (ISCA 2003): two threads mix numbers of a small shared array without any synchronisation, so that nearly every
 * order of accesses ends with another signature. Its failure: the signature is not the one of running the threads one
 * after the other.
 *
 *   racey ROUNDS */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 2, ELEMENTS = 64, SPACING = 16 };

struct numbers {
  volatile unsigned shared[ELEMENTS * SPACING];
  unsigned ends[THREADS];
};

static struct numbers together, one_by_one;
static volatile int ready, go;
static int rounds;

static unsigned mix(unsigned a, unsigned b) {
  return (a * 31 + b * 17 + 5) % 1000003;
}

static void prepare(struct numbers *numbers) {
  for (unsigned i = 0; i < ELEMENTS; ++i) numbers->shared[i * SPACING] = mix(i, i);
}

static void turn(struct numbers *numbers, unsigned me) {
  unsigned number = me + 1;
  for (int i = 0; i < rounds; ++i) {
    volatile unsigned *const first = &numbers->shared[number % ELEMENTS * SPACING];
    number = mix(number, *first);
    volatile unsigned *const second = &numbers->shared[number % ELEMENTS * SPACING];
    number = mix(number, *second);
    *first = number;
    *second = mix(number, me);
  }
  numbers->ends[me] = number;
}

static unsigned signature(const struct numbers *numbers) {
  unsigned all = mix(numbers->ends[0], numbers->ends[1]);
  for (unsigned i = 0; i < ELEMENTS; ++i) all = mix(all, numbers->shared[i * SPACING]);
  return all;
}

static void *run(void *argument) {
  ready = 1;
  while (!go) {
  }
  turn(&together, (unsigned)(size_t)argument);
  return argument;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  rounds = atoi(argv[1]);
  prepare(&one_by_one);
  for (unsigned i = 0; i < THREADS; ++i) turn(&one_by_one, i);
  prepare(&together);
  pthread_t threads[THREADS];
  for (size_t i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, run, (void *)i);
  while (!ready) {
  }
  go = 1;
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  assert(signature(&together) == signature(&one_by_one));
  return 0;
}
