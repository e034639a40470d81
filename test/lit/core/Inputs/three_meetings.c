// A thread fails when it sees each of three steps of another one: they take turns, which is more than two
// preemptions. With SLOW set the clock makes them do so.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

atomic_int step;
int slow;

static void rest(unsigned milliseconds) {
  if (slow) usleep(milliseconds * 1000);
}

static void* walk(void* arg) {
  (void)arg;
  for (int i = 1; i <= 3; ++i) {
    atomic_store(&step, i);
    rest(200);
  }
  return NULL;
}

static void* watch(void* arg) {
  (void)arg;
  int met = 0;
  rest(100);
  for (int i = 1; i <= 3; ++i) {
    if (atomic_load(&step) == i) ++met;
    rest(200);
  }
  if (met == 3) abort();
  return NULL;
}

int main(void) {
  slow = getenv("SLOW") != NULL;
  pthread_t walker, watcher;
  pthread_create(&walker, NULL, walk, NULL);
  pthread_create(&watcher, NULL, watch, NULL);
  pthread_join(walker, NULL);
  pthread_join(watcher, NULL);
  return 0;
}
