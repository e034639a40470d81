// A buffer for one item with two producers and two consumers of one item each, and one condition variable for
// both kinds.
//
// The bug: pthread_cond_signal() wakes one thread, of whatever kind. When a consumer wakes the other consumer,
// that one finds nothing and sleeps again, and the producer that could go on is never told.
//
// HEDDLE-FAILURE: lost-wakeup
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: lost-wakeup
// HEDDLE-DECISIVE: A B a consumer waits before the other consumer signals that there is room
// HEDDLE-SMALL: no
// HEDDLE-ALSO: deadlock
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int full;
int item;
int taken;

static void announce(void) {
#ifdef FIXED
  pthread_cond_broadcast(&changed);
#else
  pthread_cond_signal(&changed);  // [B]
#endif
}

static void* producer(void* arg) {
  pthread_mutex_lock(&lock);
  while (full) pthread_cond_wait(&changed, &lock);
  item = *(const int*)arg;
  full = 1;
  announce();
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void* consumer(void* arg) {
  (void)arg;
  pthread_mutex_lock(&lock);
  while (!full) pthread_cond_wait(&changed, &lock);  // [A]
  taken += item;
  full = 0;
  announce();
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  int items[2] = {3, 4};
  pthread_t threads[4];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, producer, &items[i]);
  for (int i = 2; i < 4; ++i) pthread_create(&threads[i], NULL, consumer, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  assert(taken == 7);
  return 0;
}
