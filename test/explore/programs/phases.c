// Three threads sum neighbours in two phases with pthread_barrier, buffers swapped by the serial thread. -DBUG: the second barrier is missing.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#define N 3
static int buffers[2][N] = {{1, 2, 3}};
static int (*from)[N] = &buffers[0], (*to)[N] = &buffers[1];
static pthread_barrier_t barrier;
static void* work(void* arg) {
  int me = (int)(long)arg;
  for (int round = 0; round < 2; round++) {
    (*to)[me] = (*from)[me] + (*from)[(me + 1) % N];
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) { int (*t)[N] = from; from = to; to = t; }
#ifndef BUG
    pthread_barrier_wait(&barrier);
#endif
  }
  return 0;
}
int main(void) {
  pthread_t t[N];
  pthread_barrier_init(&barrier, 0, N);
  for (long i = 0; i < N; i++) pthread_create(&t[i], 0, work, (void*)i);
  for (int i = 0; i < N; i++) pthread_join(t[i], 0);
  assert((*from)[0] == 8 && (*from)[1] == 9 && (*from)[2] == 7);
}
