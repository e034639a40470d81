// Three threads add up numbers in two rounds. After the barrier of a round its serial thread notes the total
// and sets it back to zero.
//
// The bug: the others go on into the next round at once and may add before the total has been set back.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: order
// HEDDLE-DECISIVE: A B a thread adds for the next round before the serial thread sets back
// HEDDLE-SMALL: no
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

enum { kThreads = 3, kRounds = 2 };

pthread_barrier_t barrier;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int total;
int totals[kRounds];

static void* work(void* arg) {
  const int number = *(const int*)arg;
  for (int round = 0; round < kRounds; ++round) {
    pthread_mutex_lock(&lock);
    total += number;  // [A]
    pthread_mutex_unlock(&lock);
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
      pthread_mutex_lock(&lock);
      totals[round] = total;
      total = 0;  // [B]
      pthread_mutex_unlock(&lock);
    }
#ifdef FIXED
    pthread_barrier_wait(&barrier);
#endif
  }
  return NULL;
}

int main(void) {
  int numbers[kThreads] = {1, 2, 4};
  pthread_t threads[kThreads];
  pthread_barrier_init(&barrier, NULL, kThreads);
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, &numbers[i]);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&barrier);
  for (int round = 0; round < kRounds; ++round) assert(totals[round] == 7);
  return 0;
}
