// Two jobs need both of two units at a time. A job reserves by subtracting, and when that was too much puts the
// units back and tries again.
//
// The bug: releasing is a load and a store. A unit pair put back by the other job in between is forgotten, and
// that job reserves and puts back forever: it writes all the time and gets nowhere.
//
// HEDDLE-FAILURE: livelock
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A C the release loads before the other job puts back
// HEDDLE-DECISIVE: C B the other job puts back before the release stores
// HEDDLE-SMALL: no
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

enum { kUnits = 2 };

atomic_int available = kUnits;

static void reserve(void) {
  while (atomic_fetch_sub(&available, kUnits) < kUnits) {
    atomic_fetch_add(&available, kUnits);  // [C]
    sched_yield();
  }
}

static void release(void) {
#ifdef FIXED
  atomic_fetch_add(&available, kUnits);
#else
  const int before = atomic_load(&available);  // [A]
  atomic_store(&available, before + kUnits);   // [B]
#endif
}

static void* job(void* arg) {
  (void)arg;
  reserve();
  release();
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, job, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
