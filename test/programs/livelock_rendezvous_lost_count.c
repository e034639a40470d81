// Two threads meet: each counts itself as arrived and spins until both are there.
//
// The bug: arriving is a load and a store. When one arrival is lost the count never reaches two and both
// threads spin forever, awake and without progress.
//
// HEDDLE-FAILURE: livelock
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B one thread loads the count before the other one stores it (in both directions)
// HEDDLE-SMALL: yes
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

atomic_int arrived;

static void* meet(void* arg) {
  (void)arg;
#ifdef FIXED
  atomic_fetch_add(&arrived, 1);
#else
  const int before = atomic_load(&arrived);  // [A]
  atomic_store(&arrived, before + 1);        // [B]
#endif
  while (atomic_load(&arrived) != 2) sched_yield();
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, meet, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
