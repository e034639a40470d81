/* Descriptors: each thread that runs has a file of the runtime open. Their numbers are beyond those that the
 * program gets, and the limit of the process is raised for them, if that may be; the program sees the one that
 * it had, and changes that. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "runtime/flow/flow.h"

#define OWN (HEDDLE_FLOW_SLOTS + 64)

static struct rlimit seen; /* by the program */
static uint64_t floor;     /* numbers from here on are the runtime's */

/* For so many of the program's, and ours, which stay where they are when the program wants less. As many as may
 * be. */
static void set_limit(uint64_t wanted) {
  struct rlimit now = seen;
  RT_SYS4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &now);
  struct rlimit limit = {.rlim_cur = (wanted > floor ? wanted : floor) + OWN, .rlim_max = now.rlim_max};
  if (limit.rlim_cur > limit.rlim_max) limit.rlim_max = limit.rlim_cur; /* who is privileged may */
  if (RT_SYS4(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL) == 0) return;
  limit.rlim_cur = limit.rlim_max = now.rlim_max;
  RT_SYS4(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL);
}

void rt_fl_descriptors_init(void) {
  RT_SYS4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &seen);
  set_limit(seen.rlim_cur);
  struct rlimit now = seen;
  RT_SYS4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &now);
  floor = now.rlim_cur >= seen.rlim_cur + OWN ? seen.rlim_cur : now.rlim_cur / 2;
}

void rt_fl_restore_descriptors(void) {
  RT_SYS4(SYS_prlimit64, 0, RLIMIT_NOFILE, &seen, NULL);
}

int rt_fl_move_file(long descriptor) {
  if (descriptor < 0) return -1;
  const long moved = RT_SYS3(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, floor);
  RT_SYS1(SYS_close, descriptor);
  return moved < 0 ? -1 : (int)moved;
}

bool rt_fl_limits_descriptors(long number, const long a[6]) {
  return number == SYS_prlimit64 && rt_fl.mode == FL_RECORD && a[1] == RLIMIT_NOFILE &&
         (a[0] == 0 || a[0] == RT_SYS0(SYS_getpid));
}

long rt_fl_limit_descriptors(const long a[6]) {
  const struct rlimit* const wanted = (const struct rlimit*)a[2];
  const struct rlimit before = seen;
  if (wanted != NULL) {
    const struct rlimit next = *wanted;
    if (next.rlim_cur > next.rlim_max) return -EINVAL;
    if (next.rlim_max > seen.rlim_max) { /* whether it may, the kernel knows */
      const long result = RT_SYS4(SYS_prlimit64, 0, RLIMIT_NOFILE, &next, NULL);
      if (result != 0) return result;
    }
    seen = next;
    set_limit(next.rlim_cur);
  }
  if (a[3] != 0) *(struct rlimit*)a[3] = before;
  return 0;
}
