// The worker is started before the configuration that it needs is there.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: order
// HEDDLE-DECISIVE: A B the worker reads the limit before main sets it
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

atomic_int limit;

static void* worker(void* arg) {
  (void)arg;
  const int seen = atomic_load(&limit);  // [A]
  assert(seen == 8);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  atomic_store(&limit, 8);  // [B]
  pthread_join(thread, NULL);
  return 0;
}
