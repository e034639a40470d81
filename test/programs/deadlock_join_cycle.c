// Three services in a ring. When one stops it joins its neighbour, unless that one has stopped already. Main
// waits for all.
//
// The bug: a service looks at its neighbour before it says that it has stopped itself. All three can find their
// neighbour running, and each joins the next. (glibc refuses a cycle of two with EDEADLK, not one of three.)
//
// HEDDLE-FAILURE: deadlock
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: deadlock
// HEDDLE-DECISIVE: A B each service looks before its neighbour has said that it stopped
// HEDDLE-SMALL: no
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>

enum { kServices = 3 };

pthread_t services[kServices];
atomic_int stopped[kServices];
pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
sem_t finished;

static void* service(void* arg) {
  const int me = *(const int*)arg;
  const int next = (me + 1) % kServices;
  pthread_mutex_lock(&gate);  // opened when all have been created
  pthread_mutex_unlock(&gate);
#ifdef FIXED
  stopped[me] = 1;
  const int join_next = !stopped[next];
#else
  const int join_next = !stopped[next];  // [A]
  stopped[me] = 1;                       // [B]
#endif
  if (join_next) assert(pthread_join(services[next], NULL) == 0);
  sem_post(&finished);
  return NULL;
}

int main(void) {
  static int ids[kServices] = {0, 1, 2};
  sem_init(&finished, 0, 0);
  pthread_mutex_lock(&gate);
  for (int i = 0; i < kServices; ++i) pthread_create(&services[i], NULL, service, &ids[i]);
  pthread_mutex_unlock(&gate);
  for (int i = 0; i < kServices; ++i) sem_wait(&finished);
  return 0;
}
