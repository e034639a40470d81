// Main leaves by pthread_exit while a detached thread finishes and a semaphore tells. -DBUG: the count is read again after it was lowered: freed twice.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
struct job { atomic_int users; char text[32]; };
static sem_t done;
static void leave(struct job* job) {
#ifdef BUG
  atomic_fetch_sub(&job->users, 1);
  if (atomic_load(&job->users) == 0) free(job);
#else
  if (atomic_fetch_sub(&job->users, 1) == 1) free(job);
#endif
}
static void* work(void* arg) {
  struct job* job = arg;
  strcpy(job->text, "done");
  sem_post(&done);
  leave(job);
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_attr_t attr;
  sem_init(&done, 0, 0);
  struct job* job = calloc(1, sizeof *job);
  job->users = 2;
  pthread_attr_init(&attr);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  pthread_create(&t, &attr, work, job);
  sem_wait(&done);
  assert(strcmp(job->text, "done") == 0);
  leave(job);
  pthread_exit(0);
}
