// A buffer of one place, two producers and two consumers, two conditions. -DBUG: one condition for both, woken one at a time.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
#ifdef BUG
#define not_empty not_full
#endif
static int full, value, sum;
static void* produce(void* arg) {
  pthread_mutex_lock(&m);
  while (full) pthread_cond_wait(&not_full, &m);
  full = 1; value = (int)(long)arg;
  pthread_cond_signal(&not_empty);
  pthread_mutex_unlock(&m);
  return 0;
}
static void* consume(void* arg) {
  pthread_mutex_lock(&m);
  while (!full) pthread_cond_wait(&not_empty, &m);
  full = 0; sum += value;
  pthread_cond_signal(&not_full);
  pthread_mutex_unlock(&m);
  return arg;
}
int main(void) {
  pthread_t t[5];
  pthread_create(&t[0], 0, consume, 0);
  pthread_create(&t[1], 0, consume, 0);
  pthread_create(&t[2], 0, produce, (void*)1);
  pthread_create(&t[3], 0, produce, (void*)2);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  assert(sum == 3);
}
