// A consumer says that it will sleep, looks once more, and sleeps on a semaphore. The producer sets the flag
// and posts the semaphore only if the consumer sleeps, to save the system call.
//
// The bug: without fences, both stores can be in the store buffers while both loads see the old values: the
// consumer sleeps and the producer does not post. Impossible under sequential consistency.
//
// HEDDLE-FAILURE: lost-wakeup
// HEDDLE-MODEL: tso
// HEDDLE-PATTERN: store-buffer
// HEDDLE-DECISIVE: B C the consumer looks for the item before that has become visible
// HEDDLE-DECISIVE: D A the producer looks for a sleeper before the consumer's note has become visible
// HEDDLE-SMALL: yes
// HEDDLE-ALSO: deadlock
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>

atomic_int sleeping;
atomic_int ready;
sem_t wake_up;

static void fence(void) {
#ifdef FIXED
  atomic_thread_fence(memory_order_seq_cst);
#endif
}

static void* consumer(void* arg) {
  (void)arg;
  atomic_store_explicit(&sleeping, 1, memory_order_relaxed);  // [A]
  fence();
  if (!atomic_load_explicit(&ready, memory_order_relaxed)) sem_wait(&wake_up);  // [B]
  assert(atomic_load_explicit(&ready, memory_order_relaxed));
  return NULL;
}

static void* producer(void* arg) {
  (void)arg;
  atomic_store_explicit(&ready, 1, memory_order_relaxed);  // [C]
  fence();
  if (atomic_load_explicit(&sleeping, memory_order_relaxed)) sem_post(&wake_up);  // [D]
  return NULL;
}

int main(void) {
  sem_init(&wake_up, 0, 0);
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, consumer, NULL);
  pthread_create(&threads[1], NULL, producer, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
