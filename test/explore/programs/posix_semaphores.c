// POSIX semaphores around a counter, one with a time limit. BUG: goes on without it.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
sem_t room;
int counter;
void* patient(void* p) {
  sem_wait(&room);
  int seen = counter;
  counter = seen + 1;
  sem_post(&room);
  return p;
}
void* hasty(void* p) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  int got = sem_timedwait(&room, &until);
#ifdef BUG
  (void)got;
#else
  if (got != 0) return p;
#endif
  int seen = counter;
  counter = seen + 1;
  if (got == 0) sem_post(&room);
  return (void*)1;
}
int main(void) {
  pthread_t a, b;
  void* done;
  sem_init(&room, 0, 1);
  pthread_create(&a, 0, patient, 0);
  pthread_create(&b, 0, hasty, 0);
  pthread_join(a, 0);
  pthread_join(b, &done);
  assert(counter == 1 + (done != 0));
}
