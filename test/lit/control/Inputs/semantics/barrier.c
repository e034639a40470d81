// Barriers: nobody leaves before all have come, one of them is told that it is the serial thread, rounds do not
// mix.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { kThreads = 3, kRounds = 2 };
pthread_barrier_t barrier;
atomic_int arrived, serial;

static void* worker(void* unused) {
  (void)unused;
  for (int round = 1; round <= kRounds; ++round) {
    atomic_fetch_add(&arrived, 1);
    const int code = pthread_barrier_wait(&barrier);
    assert(code == 0 || code == PTHREAD_BARRIER_SERIAL_THREAD);
    if (code != 0) atomic_fetch_add(&serial, 1);
    assert(atomic_load(&arrived) >= round * kThreads);
    pthread_barrier_wait(&barrier);
    assert(atomic_load(&serial) == round);
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  assert(pthread_barrier_init(&barrier, NULL, 0) == EINVAL);
  assert(pthread_barrier_init(&barrier, NULL, kThreads) == 0);
  for (int i = 0; i < kThreads; ++i) assert(pthread_create(&threads[i], NULL, worker, NULL) == 0);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  assert(arrived == kThreads * kRounds);
  assert(pthread_barrier_destroy(&barrier) == 0);
  assert(pthread_barrier_init(&barrier, NULL, 1) == 0);
  assert(pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
  assert(pthread_barrier_destroy(&barrier) == 0);
  return 0;
}
