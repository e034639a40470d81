/* Waiting for the end of children: an event that is ready when one has ended, while other threads run.
 *
 * A child is seen to end by a descriptor (pidfd_open), so that its end is one more thing that comes from
 * outside (files.c). Which of several has ended first is up to the system. For runs that are to be the same
 * again, who waits for any child gets the oldest that has ended, and waits for the oldest a little longer than
 * for others.
 *
 * Left to the system: waiting for groups, and for children that are stopped or continued.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/control/control.h"

#define MOST_AWAITED 64 /* of those that have not been waited for, the oldest */
/* Milliseconds for the oldest, where the call waits and where it only looks. */
#define LONGER 50
#define BRIEFLY 5
#define HIGH 700 /* descriptors of this size are hardly the program's */

struct awaited {
  pid_t ids[MOST_AWAITED]; /* real */
  struct pollfd files[MOST_AWAITED];
  uint32_t count;
};

static void add(struct awaited* all, pid_t id) {
  const long file = RT_SYS2(SYS_pidfd_open, id, 0);
  if (file < 0) return;
  const long high = RT_SYS3(SYS_fcntl, file, F_DUPFD_CLOEXEC, HIGH);
  if (high >= 0) RT_SYS1(SYS_close, file);
  all->ids[all->count] = id;
  all->files[all->count++] = (struct pollfd){.fd = (int)(high >= 0 ? high : file), .events = POLLIN};
}

/* Also those that have ended. Not: those that were waited for. */
static bool is_child(pid_t id) {
  siginfo_t information;
  return RT_SYS6(SYS_waitid, P_PID, id, &information, WEXITED | WNOHANG | WNOWAIT, NULL, 0) == 0;
}

/* `id` 0: of all. */
static void open_awaited(struct awaited* all, pid_t id) {
  all->count = 0;
  pid_t child;
  for (uint32_t i = 0; (child = rt_child_at(i)) != 0 && all->count < MOST_AWAITED; ++i) {
    if ((id != 0 && child != id) || !is_child(child)) continue;
    add(all, child);
    if (id != 0) return;
  }
}

static void close_awaited(const struct awaited* all) {
  for (uint32_t i = 0; i < all->count; ++i) RT_SYS1(SYS_close, all->files[i].fd);
}

/* The oldest that has ended, or 0. */
static pid_t first_ended(struct awaited* all, int milliseconds) {
  if (all->count > 0) RT_SYS3(SYS_poll, all->files, 1, milliseconds);
  if (RT_SYS3(SYS_poll, all->files, all->count, 0) <= 0) return 0;
  for (uint32_t i = 0; i < all->count; ++i)
    if (all->files[i].revents != 0 && is_child(all->ids[i])) return all->ids[i];
  return 0;
}

enum answer { ENDED, NOBODY, INTERRUPTED };

static enum answer await_once(pid_t* id, bool dont_wait) {
  struct awaited all;
  enum answer answer = ENDED;
  open_awaited(&all, *id);
  if (!rt_before_process_call(all.files, all.count, dont_wait || all.count == 0)) {
    answer = INTERRUPTED;
  } else if (all.count > 0) {
    const pid_t ended = first_ended(&all, dont_wait ? BRIEFLY : LONGER);
    if (ended != 0)
      *id = ended;
    else
      answer = NOBODY; /* or another thread was faster */
  }
  close_awaited(&all);
  return answer;
}

/* Performs the event. `id`: of the child, 0 for any. ENDED: it is now a child that has, or one that there is
 * not.
 */
static enum answer await_end(pid_t* id, bool dont_wait) {
  enum answer answer = await_once(id, dont_wait);
  while (answer == NOBODY && !dont_wait) answer = await_once(id, dont_wait);
  return answer;
}

static void note(pid_t result) {
  const int error = errno;
  rt_value(rt.current, rt.current->op.site, (uint64_t)result); /* a replay that gets another has diverged */
  if (result == 0) rt_unchanged(rt.current);
  errno = error;
}

pid_t wait4(pid_t id, int* status, int options, struct rusage* usage) {
  RT_STATE static pid_t (*original)(pid_t, int*, int, struct rusage*);
  if (original == NULL) original = (pid_t(*)(pid_t, int*, int, struct rusage*))rt_real("wait4");
  if (!rt.active || id == 0 || id < -1 || (options & ~WNOHANG) != 0)
    return rt_child_of(original(rt_real_id(id), status, options, usage));
  pid_t child = id == -1 ? 0 : rt_real_id(id), result = 0;
  switch (await_end(&child, (options & WNOHANG) != 0)) {
    case ENDED:
      result = rt_child_of(original(child == 0 ? -1 : child, status, options, usage));
      break;
    case NOBODY:
      break;
    case INTERRUPTED:
      errno = EINTR;
      result = -1;
      break;
  }
  note(result);
  return result;
}

pid_t waitpid(pid_t id, int* status, int options) {
  return wait4(id, status, options, NULL);
}

pid_t wait3(int* status, int options, struct rusage* usage) {
  return wait4(-1, status, options, usage);
}

pid_t wait(int* status) {
  return wait4(-1, status, 0, NULL);
}

int waitid(idtype_t type, id_t id, siginfo_t* information, int options) {
  RT_STATE static int (*original)(idtype_t, id_t, siginfo_t*, int);
  if (original == NULL) original = (int (*)(idtype_t, id_t, siginfo_t*, int))rt_real("waitid");
  if (type == P_PID || type == P_PGID) id = (id_t)rt_real_id((pid_t)id);
  enum answer answer = ENDED;
  const bool under_control =
      rt.active && (type == P_PID || type == P_ALL) && (options & ~(WNOHANG | WNOWAIT)) == WEXITED;
  if (under_control) {
    pid_t child = type == P_PID ? (pid_t)id : 0;
    answer = await_end(&child, (options & WNOHANG) != 0);
    if (answer == ENDED && child != 0) {
      type = P_PID;
      id = (id_t)child;
    }
  }
  int result = -1;
  if (answer == INTERRUPTED)
    errno = EINTR;
  else
    result = original(type, id, information, options);
  if (result == 0 && information != NULL) information->si_pid = rt_child_of(information->si_pid);
  if (under_control) note(result == 0 && information != NULL ? information->si_pid : result);
  return result;
}
