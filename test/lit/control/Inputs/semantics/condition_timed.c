// Timed waits on condition variables: nobody signals, so the time ends them, by the clock of the attribute or
// of the call, with the mutex held again; a signal that is sure to come needs no time.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t realtime = PTHREAD_COND_INITIALIZER, monotonic;
int flag;

static struct timespec soon(clockid_t clock) {
  struct timespec t;
  assert(clock_gettime(clock, &t) == 0);
  t.tv_nsec += 3000000;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

static int past(clockid_t clock, const struct timespec* t) {
  struct timespec now;
  assert(clock_gettime(clock, &now) == 0);
  return now.tv_sec > t->tv_sec || (now.tv_sec == t->tv_sec && now.tv_nsec >= t->tv_nsec);
}

static void* impatient(void* unused) {
  (void)unused;
  int code;
  pthread_mutex_lock(&mutex);
  struct timespec deadline = soon(CLOCK_REALTIME);
  do code = pthread_cond_timedwait(&realtime, &mutex, &deadline);
  while (code == 0);
  assert(code == ETIMEDOUT && past(CLOCK_REALTIME, &deadline));
  deadline = soon(CLOCK_MONOTONIC);
  do code = pthread_cond_timedwait(&monotonic, &mutex, &deadline);
  while (code == 0);
  assert(code == ETIMEDOUT && past(CLOCK_MONOTONIC, &deadline));
  deadline = soon(CLOCK_MONOTONIC);
  do code = pthread_cond_clockwait(&realtime, &mutex, CLOCK_MONOTONIC, &deadline);
  while (code == 0);
  assert(code == ETIMEDOUT && past(CLOCK_MONOTONIC, &deadline));
  deadline.tv_nsec = -1;
  assert(pthread_cond_timedwait(&realtime, &mutex, &deadline) == EINVAL);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void* signaller(void* unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  flag = 1;
  pthread_cond_broadcast(&monotonic);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(void) {
  pthread_condattr_t attributes;
  clockid_t clock;
  pthread_t threads[2];
  assert(pthread_condattr_init(&attributes) == 0);
  assert(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
  assert(pthread_condattr_getclock(&attributes, &clock) == 0 && clock == CLOCK_MONOTONIC);
  assert(pthread_cond_init(&monotonic, &attributes) == 0);
  assert(pthread_create(&threads[0], NULL, impatient, NULL) == 0);
  assert(pthread_create(&threads[1], NULL, signaller, NULL) == 0);
  pthread_mutex_lock(&mutex);
  struct timespec deadline = soon(CLOCK_MONOTONIC);
  deadline.tv_sec += 1000;
  int code = 0;
  while (!flag && code == 0) code = pthread_cond_timedwait(&monotonic, &mutex, &deadline);
  assert(code == 0 || (code == ETIMEDOUT && past(CLOCK_MONOTONIC, &deadline)));
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(flag);
  return 0;
}
