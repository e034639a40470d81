// Sleeping takes the time it was asked for, clocks never go back, absolute sleeps end behind their time.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int64_t now(clockid_t clock) {
  struct timespec t;
  assert(clock_gettime(clock, &t) == 0);
  assert(t.tv_nsec >= 0 && t.tv_nsec < 1000000000);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void* sleeper(void* unused) {
  (void)unused;
  int64_t before = now(CLOCK_MONOTONIC);
  struct timespec moment = {0, 2000000}, left;
  assert(nanosleep(&moment, &left) == 0);
  int64_t after = now(CLOCK_MONOTONIC);
  assert(after - before >= 2000000);
  assert(usleep(1000) == 0);
  assert(now(CLOCK_MONOTONIC) - after >= 1000000);
  before = now(CLOCK_MONOTONIC) + 3000000;
  struct timespec deadline = {before / 1000000000, before % 1000000000};
  assert(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == 0);
  assert(now(CLOCK_MONOTONIC) >= before);
  moment.tv_nsec = 1000000000;
  errno = 0;
  assert(nanosleep(&moment, NULL) == -1 && errno == EINVAL);
  assert(clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL) == EINVAL);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  struct timeval day;
  const int64_t start = now(CLOCK_REALTIME);
  for (int i = 0; i < 2; ++i) assert(pthread_create(&threads[i], NULL, sleeper, NULL) == 0);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(gettimeofday(&day, NULL) == 0);
  const int64_t end = now(CLOCK_REALTIME);
  assert(end - start >= 6000000);
  assert(day.tv_sec * 1000000ll + day.tv_usec <= end / 1000);
  assert(time(NULL) >= start / 1000000000);
  return 0;
}
