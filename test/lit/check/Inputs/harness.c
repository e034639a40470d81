// A harness: one of three inputs, one of them left out; two threads whose steps are not to be interleaved.
#include <assert.h>
#include <heddle.h>
#include <pthread.h>
#include <stdio.h>

static int count;

static void* worker(void* unused) {
  HEDDLE_ATOMIC_BEGIN();
  int seen = count;
  count = seen + 1;
  HEDDLE_ATOMIC_END();
  return unused;
}

int main(void) {
  const unsigned chosen = heddle_choose(3);
  HEDDLE_ASSUME(chosen != 1);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], 0, worker, 0);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], 0);
  printf("chosen %u\n", chosen);
  assert(count == 2);
  assert(chosen != 1);
#ifdef WRONG
  assert(chosen != 2);
#endif
  return 0;
}
