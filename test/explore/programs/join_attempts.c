// Threads that are asked whether they have ended, and waited for with a time limit. -DBUG: the answers are not looked at.
// safe: sc tso pso
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>
static int results[2];
static void* work(void* p) {
  *(int*)p = 1;
  return p;
}
int main(void) {
  pthread_t quick, slow;
  void* of_quick = 0;
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  pthread_create(&quick, 0, work, &results[0]);
  pthread_create(&slow, 0, work, &results[1]);
  const int busy = pthread_tryjoin_np(quick, &of_quick);
  const int late = pthread_timedjoin_np(slow, 0, &until);
#ifndef BUG
  if (busy == EBUSY) pthread_join(quick, &of_quick);
  if (late == ETIMEDOUT) pthread_join(slow, 0);
#endif
  assert(of_quick == &results[0] && results[0] == 1 && results[1] == 1);
}
