/* Virtual time.
 *
 * The clock of an execution stands still but for what happens in it: each event and each look at a clock takes
 * a microsecond, and when a timed wait ends by its time the clock jumps to its deadline. So times are a
 * function of the schedule, waiting costs nothing, and loops that wait for a time to come get there.
 *
 * Deadlines (op.deadline) are on the scale of rt_clock(CLOCK_MONOTONIC).
 */
#include <errno.h>
#include <sys/time.h>
#include <sys/timeb.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "runtime/control/control.h"

#define SECOND 1000000000ull
#define START (1000 * SECOND) /* CLOCK_MONOTONIC at the start of an execution */
#define EVENT 1000            /* nanoseconds */

static uint64_t looks; /* of the program at a clock: reset with it */

static uint64_t passed(void) {
  return rt.now + (rt.events + looks) * EVENT;
}

uint64_t rt_clock(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_REALTIME_ALARM:
    case CLOCK_TAI:
      return RT_EPOCH + passed();
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM:
      return START + passed();
    default: /* of processor time: waiting takes none; all threads share it */
      return (rt.events + looks) * EVENT;
  }
}

uint64_t rt_deadline(clockid_t clock, const struct timespec* absolute) {
  const uint64_t at =
      absolute->tv_sec < 0 ? 0 : (uint64_t)absolute->tv_sec * SECOND + (uint64_t)absolute->tv_nsec;
  const uint64_t now = rt_clock(clock);
  return rt_clock(CLOCK_MONOTONIC) + (at > now ? at - now : 0);
}

void rt_advance_clock(uint64_t deadline) {
  const uint64_t now = rt_clock(CLOCK_MONOTONIC);
  if (deadline > now) rt.now += deadline - now;
}

bool rt_valid_timespec(const struct timespec* t) {
  return t->tv_nsec >= 0 && t->tv_nsec < (long)SECOND;
}

/* ---- looking at clocks */
static uint64_t look(clockid_t clock) {
  ++looks;
  return rt_clock(clock);
}

uint64_t heddle_control_clock(void) {
  return look(CLOCK_MONOTONIC);
}

static struct timespec timespec_of(uint64_t nanoseconds) {
  return (struct timespec){.tv_sec = (time_t)(nanoseconds / SECOND), .tv_nsec = (long)(nanoseconds % SECOND)};
}

/* Negative numbers are clocks of other processes and threads, or of devices. */
static bool exists(clockid_t clock) {
  return clock < 0 || clock <= CLOCK_TAI;
}

int clock_gettime(clockid_t clock, struct timespec* result) {
  if (!exists(clock)) {
    errno = EINVAL;
    return -1;
  }
  *result = timespec_of(look(clock));
  return 0;
}

int clock_getres(clockid_t clock, struct timespec* result) {
  if (!exists(clock)) {
    errno = EINVAL;
    return -1;
  }
  if (result != NULL) *result = timespec_of(1);
  return 0;
}

int timespec_get(struct timespec* result, int base) {
  if (base != TIME_UTC) return 0;
  *result = timespec_of(look(CLOCK_REALTIME));
  return base;
}

time_t time(time_t* result) {
  const time_t now = (time_t)(look(CLOCK_REALTIME) / SECOND);
  if (result != NULL) *result = now;
  return now;
}

int gettimeofday(struct timeval* restrict result, void* restrict zone) {
  const uint64_t now = look(CLOCK_REALTIME);
  *result = (struct timeval){.tv_sec = (time_t)(now / SECOND), .tv_usec = (suseconds_t)(now % SECOND / 1000)};
  if (zone != NULL) *(struct timezone*)zone = (struct timezone){0};
  return 0;
}

int ftime(struct timeb* result) {
  const uint64_t now = look(CLOCK_REALTIME);
  *result = (struct timeb){.time = (time_t)(now / SECOND), .millitm = (unsigned short)(now % SECOND / 1000000)};
  return 0;
}

clock_t clock(void) {
  return (clock_t)(look(CLOCK_PROCESS_CPUTIME_ID) / (SECOND / CLOCKS_PER_SEC));
}

clock_t times(struct tms* result) {
  const uint64_t tick = SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
  if (result != NULL) *result = (struct tms){.tms_utime = (clock_t)(look(CLOCK_PROCESS_CPUTIME_ID) / tick)};
  return (clock_t)(look(CLOCK_MONOTONIC) / tick);
}
