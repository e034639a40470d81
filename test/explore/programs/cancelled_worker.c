// A worker that can be cancelled between two steps only: its two counts are equal. -DBUG: within a step, too.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
static int begun, done;
static sem_t go;
static void* work(void* p) {
  int before;
  for (int i = 0; i < 2; i++) {
    sem_wait(&go);
#ifndef BUG
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
#endif
    begun++;
    pthread_testcancel();
    done++;
#ifndef BUG
    pthread_setcancelstate(before, 0);
#endif
  }
  return p;
}
int main(void) {
  pthread_t t;
  sem_init(&go, 0, 0);
  pthread_create(&t, 0, work, 0);
  sem_post(&go);
  pthread_cancel(t);
  sem_post(&go);
  pthread_join(t, 0);
  assert(begun == done);
}
