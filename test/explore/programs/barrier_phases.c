// pthread barriers, two phases. BUG: the second barrier is missing.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
pthread_barrier_t barrier;
int values[2], sums[2];
void* worker(void* p) {
  long me = (long)p;
  values[me] = (int)me + 1;
  pthread_barrier_wait(&barrier);
  sums[me] = values[0] + values[1];
#ifndef BUG
  pthread_barrier_wait(&barrier);
#endif
  values[me] = 0;
  return 0;
}
int main(void) {
  pthread_t t[2];
  pthread_barrier_init(&barrier, 0, 2);
  for (long i = 0; i < 2; ++i) pthread_create(&t[i], 0, worker, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(t[i], 0);
  assert(sums[0] == 3 && sums[1] == 3);
}
