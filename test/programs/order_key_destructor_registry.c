// Detached workers keep their statistics in thread-specific data, created once. At thread exit the key's
// destructor adds them to a registry on the heap. Main waits for the workers and frees the registry.
//
// The bug: a worker announces its end before its destructors have run; main can free the registry first.
//
// HEDDLE-FAILURE: segv
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: order
// HEDDLE-DECISIVE: A B main lets go of the registry before the destructor uses it
// HEDDLE-SMALL: yes
// HEDDLE-ALSO: use-after-free
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

struct registry {
  long reserved;
  atomic_long total;
};

pthread_once_t once = PTHREAD_ONCE_INIT;
pthread_key_t key;
struct registry* volatile registry;
sem_t finished;

static void add_to_registry(void* statistics) {
  atomic_fetch_add(&registry->total, *(long*)statistics);  // [B]
  free(statistics);
#ifdef FIXED
  sem_post(&finished);
#endif
}

static void create_key(void) {
  pthread_key_create(&key, add_to_registry);
}

static void count(long amount) {
  pthread_once(&once, create_key);
  long* mine = pthread_getspecific(key);
  if (mine == NULL) {
    mine = calloc(1, sizeof *mine);
    pthread_setspecific(key, mine);
  }
  *mine += amount;
}

static void* worker(void* arg) {
  (void)arg;
  count(1);
  count(2);
#ifndef FIXED
  sem_post(&finished);
#endif
  return NULL;
}

int main(void) {
  registry = calloc(1, sizeof *registry);
  sem_init(&finished, 0, 0);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], &attributes, worker, NULL);
  for (int i = 0; i < 2; ++i) sem_wait(&finished);
  pthread_attr_destroy(&attributes);
  assert(registry->total <= 6);
  struct registry* old = registry;
  registry = NULL;  // [A]
  free(old);
  return 0;
}
