// A 64-bit tick count on a machine that counts in halves: the interrupt adds to the low half and carries into
// the high half; a reader takes all 64 bits at once.
//
// The bug: between the overflow of the low half and the carry, the clock is 2^32 ticks slow.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A C the low half overflows before the reader looks
// HEDDLE-DECISIVE: C B the reader looks before the carry
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

union clock {
  volatile uint64_t ticks;
  struct {
    volatile uint32_t low;
    volatile uint32_t high;
  } half;
};

union clock now = {0xfffffffe};

#ifdef FIXED
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#endif

static void lock(void) {
#ifdef FIXED
  pthread_mutex_lock(&mutex);
#endif
}

static void unlock(void) {
#ifdef FIXED
  pthread_mutex_unlock(&mutex);
#endif
}

static void* interrupt(void* arg) {
  (void)arg;
  for (int i = 0; i < 3; ++i) {
    lock();
    const uint32_t low = now.half.low + 1;
    now.half.low = low;                               // [A]
    if (low == 0) now.half.high = now.half.high + 1;  // [B]
    unlock();
  }
  return NULL;
}

static void* reader(void* arg) {
  (void)arg;
  lock();
  const uint64_t seen = now.ticks;  // [C]
  unlock();
  assert(seen >= 0xfffffffe);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, reader, NULL);
  pthread_create(&threads[1], NULL, interrupt, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(now.ticks == 0x100000001);
  return 0;
}
