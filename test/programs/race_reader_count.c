// A read-write lock of one's own: a count of readers, a mutex and a condition variable. Two readers, one
// writer.
//
// The bug: leaving counts down without the mutex. A reader that enters at the same time is not counted, and the
// writer comes in while that one is reading.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B the leaving reader loads the count before the entering one stores it
// HEDDLE-DECISIVE: B C the entering reader stores before the leaving one
// HEDDLE-SMALL: no
// HEDDLE-ALSO: lost-wakeup, deadlock
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t no_readers = PTHREAD_COND_INITIALIZER;
volatile int readers;
volatile int left_page = 1;
volatile int right_page = 1;

static void enter(void) {
  pthread_mutex_lock(&lock);
  readers = readers + 1;  // [B]
  pthread_mutex_unlock(&lock);
}

static void leave(void) {
#ifdef FIXED
  pthread_mutex_lock(&lock);
  readers = readers - 1;
  if (readers == 0) pthread_cond_signal(&no_readers);
  pthread_mutex_unlock(&lock);
#else
  const int now = readers - 1;  // [A]
  readers = now;                // [C]
  if (now == 0) {
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&no_readers);
    pthread_mutex_unlock(&lock);
  }
#endif
}

static void* reader(void* arg) {
  (void)arg;
  enter();
  const int left = left_page;
  const int right = right_page;
  leave();
  assert(left == right);
  return NULL;
}

static void* writer(void* arg) {
  (void)arg;
  pthread_mutex_lock(&lock);
  while (readers > 0) pthread_cond_wait(&no_readers, &lock);
  left_page = 2;
  right_page = 2;
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, reader, NULL);
  pthread_create(&threads[2], NULL, writer, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return 0;
}
