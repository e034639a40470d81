// Threads that print. BUG: a counter without its lock.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int counter;
void* worker(void* p) {
  printf("worker %ld starts\n", (long)p);
#ifndef BUG
  pthread_mutex_lock(&m);
#endif
  int mine = ++counter;
#ifndef BUG
  pthread_mutex_unlock(&m);
#endif
  printf("worker %ld: %d\n", (long)p, mine);
  return 0;
}
int main(void) {
  pthread_t t[2];
  for (long i = 0; i < 2; ++i) pthread_create(&t[i], 0, worker, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(t[i], 0);
  printf("%d\n", counter);
  assert(counter == 2);
}
