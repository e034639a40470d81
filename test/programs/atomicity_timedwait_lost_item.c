// A consumer waits for an item until a deadline (which has passed: it gives the producer one chance) and then
// gives up, in which case the producer is to process the item itself.
//
// The bug: after ETIMEDOUT the consumer does not look again. The item may have come between the timeout and the
// moment the consumer had the lock again; then nobody processes it.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B the consumer starts to wait before the item comes
// HEDDLE-DECISIVE: B C the item comes before the consumer gives up
// HEDDLE-SMALL: yes
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int ready;
int gave_up;
int processed;

static void* consumer(void* arg) {
  (void)arg;
  const struct timespec deadline = {0, 0};
  pthread_mutex_lock(&lock);
  int result = 0;
  while (!ready && result != ETIMEDOUT) result = pthread_cond_timedwait(&changed, &lock, &deadline);  // [A]
#ifdef FIXED
  if (!ready) {
#else
  if (result == ETIMEDOUT) {
#endif
    gave_up = 1;  // [C]
  } else {
    ready = 0;
    ++processed;
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void* producer(void* arg) {
  (void)arg;
  pthread_mutex_lock(&lock);
  if (gave_up) {
    ++processed;
  } else {
    ready = 1;  // [B]
    pthread_cond_signal(&changed);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, consumer, NULL);
  pthread_create(&threads[1], NULL, producer, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(processed == 1);
  return 0;
}
