/* Every way to ask the time, some with a system call and some without. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void add(long what) {
  pthread_mutex_lock(&lock);
  sum = sum * 31 + what;
  pthread_mutex_unlock(&lock);
}

static void* look(void* unused) {
  static const clockid_t clocks[] = {CLOCK_REALTIME,           CLOCK_MONOTONIC,         CLOCK_MONOTONIC_RAW,
                                     CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID, CLOCK_BOOTTIME};
  for (unsigned i = 0; i < sizeof clocks / sizeof *clocks; ++i) {
    struct timespec now = {0, 0};
    assert(clock_gettime(clocks[i], &now) == 0);
    add(now.tv_nsec);
    add(clock_getres(clocks[i], &now) + now.tv_nsec);
  }
  struct timespec now;
  add(timespec_get(&now, TIME_UTC) + now.tv_nsec);
  struct timeval day;
  add(gettimeofday(&day, NULL) + day.tv_usec);
  struct rusage usage;
  add(getrusage(RUSAGE_SELF, &usage) + usage.ru_utime.tv_usec);
  struct tms ticks;
  add((long)times(&ticks));
  add((long)clock());
  add((long)time(NULL));
  clockid_t own;
  if (pthread_getcpuclockid(pthread_self(), &own) == 0 && clock_gettime(own, &now) == 0) add(now.tv_nsec);
  add(clock_gettime(12345, &now));
  return unused;
}

int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, look, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  look(NULL);
  printf("%ld\n", sum);
  return 0;
}
