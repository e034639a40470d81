// Timed locking: times out when the owner keeps the lock, and then the clock is behind the deadline; takes a
// free lock even when the deadline has passed; bad times are refused.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct timespec soon(clockid_t clock, long nanoseconds) {
  struct timespec t;
  assert(clock_gettime(clock, &t) == 0);
  t.tv_nsec += nanoseconds;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

static int past(clockid_t clock, const struct timespec* t) {
  struct timespec now;
  assert(clock_gettime(clock, &now) == 0);
  return now.tv_sec > t->tv_sec || (now.tv_sec == t->tv_sec && now.tv_nsec >= t->tv_nsec);
}

static void* waiter(void* unused) {
  (void)unused;
  struct timespec deadline = soon(CLOCK_REALTIME, 2000000);
  assert(pthread_mutex_timedlock(&mutex, &deadline) == ETIMEDOUT);
  assert(past(CLOCK_REALTIME, &deadline));
  deadline = soon(CLOCK_MONOTONIC, 2000000);
  assert(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &deadline) == ETIMEDOUT);
  assert(past(CLOCK_MONOTONIC, &deadline));
  deadline.tv_sec = 0;
  assert(pthread_mutex_timedlock(&mutex, &deadline) == ETIMEDOUT);
  deadline.tv_nsec = 1000000000;
  assert(pthread_mutex_timedlock(&mutex, &deadline) == EINVAL);
  return NULL;
}

static void* patient(void* unused) {
  (void)unused;
  struct timespec deadline = soon(CLOCK_REALTIME, 0);
  deadline.tv_sec += 1000;
  const int code = pthread_mutex_timedlock(&mutex, &deadline);
  assert(code == 0 || (code == ETIMEDOUT && past(CLOCK_REALTIME, &deadline)));
  if (code == 0) assert(pthread_mutex_unlock(&mutex) == 0);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_mutex_lock(&mutex);
  assert(pthread_create(&thread, NULL, waiter, NULL) == 0);
  pthread_join(thread, NULL);
  assert(pthread_create(&thread, NULL, patient, NULL) == 0);
  assert(pthread_mutex_unlock(&mutex) == 0);
  struct timespec old = {1, 0};
  pthread_join(thread, NULL);
  assert(pthread_mutex_timedlock(&mutex, &old) == 0);
  assert(pthread_mutex_unlock(&mutex) == 0);
  return 0;
}
