/* posix_spawn. libc's child has all signals blocked, so it would not live through the trap of its first system
 * call (system.c). Here the child is a copy of the process, in which that trap only performs the call. Like
 * libc's it does nothing of the program's own: no handlers, neither of forks nor of signals. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/flow/entry.h"
#include "runtime/flow/flow.h"

/* What posix_spawn_file_actions_t leads to in the GNU C library, which has no functions to read it by. */
struct file_action {
  enum {
    ACTION_CLOSE,
    ACTION_DUP2,
    ACTION_OPEN,
    ACTION_CHDIR,
    ACTION_FCHDIR,
    ACTION_CLOSEFROM,
    ACTION_TCSETPGRP
  } what;
  union {
    int descriptor;
    struct {
      int from, to;
    } dup2;
    struct {
      int descriptor;
      char* path;
      int flags;
      mode_t mode;
    } open;
    char* folder;
  };
};

static int open_as(int descriptor, const char* path, int flags, mode_t mode) {
  close(descriptor);
  const int opened = open(path, flags, mode);
  if (opened < 0 || opened == descriptor) return opened;
  const int result = dup2(opened, descriptor);
  close(opened);
  return result;
}

static int perform(const struct file_action* action) {
  switch (action->what) {
    case ACTION_CLOSE:
      close(action->descriptor); /* it need not be open */
      return 0;
    case ACTION_DUP2:
      if (action->dup2.from == action->dup2.to) return fcntl(action->dup2.to, F_SETFD, 0);
      return dup2(action->dup2.from, action->dup2.to);
    case ACTION_OPEN:
      return open_as(action->open.descriptor, action->open.path, action->open.flags, action->open.mode);
    case ACTION_CHDIR:
      return chdir(action->folder);
    case ACTION_FCHDIR:
      return fchdir(action->descriptor);
    case ACTION_CLOSEFROM:
      closefrom(action->descriptor);
      return 0;
    case ACTION_TCSETPGRP:
      return tcsetpgrp(action->descriptor, getpgrp());
  }
  errno = EINVAL;
  return -1;
}

/* The mask comes last, when there are no handlers any more. */
static bool take_attributes(const posix_spawnattr_t* attributes, uint64_t* mask) {
  short flags = 0;
  sigset_t defaults, blocked;
  sigemptyset(&defaults);
  if (attributes != NULL) posix_spawnattr_getflags(attributes, &flags);
  if (flags & POSIX_SPAWN_SETSIGDEF) posix_spawnattr_getsigdefault(attributes, &defaults);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action;
    if (number == SIGSYS || rt_sigaction(number, NULL, &action) != 0) continue;
    if (action.sa_handler == SIG_DFL || (action.sa_handler == SIG_IGN && !sigismember(&defaults, number)))
      continue;
    rt_sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
  }
  if (flags & (POSIX_SPAWN_SETSCHEDPARAM | POSIX_SPAWN_SETSCHEDULER)) {
    struct sched_param parameters;
    int policy = sched_getscheduler(0);
    posix_spawnattr_getschedparam(attributes, &parameters);
    if (flags & POSIX_SPAWN_SETSCHEDULER) posix_spawnattr_getschedpolicy(attributes, &policy);
    if (sched_setscheduler(0, policy, &parameters) != 0) return false;
  }
  if ((flags & POSIX_SPAWN_SETSID) && setsid() < 0) return false;
  if (flags & POSIX_SPAWN_SETPGROUP) {
    pid_t group;
    posix_spawnattr_getpgroup(attributes, &group);
    if (setpgid(0, group) != 0) return false;
  }
  if ((flags & POSIX_SPAWN_RESETIDS) && (setegid(getgid()) != 0 || seteuid(getuid()) != 0)) return false;
  if (flags & POSIX_SPAWN_SETSIGMASK) {
    posix_spawnattr_getsigmask(attributes, &blocked);
    memcpy(mask, &blocked, sizeof *mask);
  }
  return true;
}

struct start {
  const char* program;
  bool in_path;
  const posix_spawn_file_actions_t* actions;
  const posix_spawnattr_t* attributes;
  char* const* arguments;
  char* const* environment;
};

static int become(const struct start* start, uint64_t mask) {
  if (!take_attributes(start->attributes, &mask)) return errno;
  if (start->actions != NULL) {
    const struct file_action* const actions = (const struct file_action*)start->actions->__actions;
    for (int i = 0; i < start->actions->__used; ++i)
      if (perform(&actions[i]) < 0) return errno;
  }
  rt_restore_signals(mask);
  if (start->in_path)
    execvpe(start->program, start->arguments, start->environment);
  else
    execve(start->program, start->arguments, start->environment);
  return errno;
}

/* The caller goes on when the child has become the program, or has left in this memory why not. */
static int start_child(const struct start* start, pid_t* child) {
  int* const error =
      (int*)RT_SYS6(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if ((uintptr_t)error >= (uintptr_t)-4096) return ENOMEM;
  const uint64_t mask = rt_block_signals();
  const long id = RT_SYS4(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0);
  if (id == 0) {
    rt_fl_in_child();
    *error = become(start, mask);
    for (;;) RT_SYS1(SYS_exit_group, 127);
  }
  rt_restore_signals(mask);
  const int result = id < 0 ? (int)-id : *error;
  if (id > 0 && result != 0) RT_SYS4(SYS_wait4, id, NULL, 0, NULL);
  RT_SYS2(SYS_munmap, error, 4096);
  *child = (pid_t)id;
  return result;
}

static int spawn(const struct start* start, pid_t* to) {
  pid_t child = 0;
  int error = rt_fl_replaying() ? 0 : start_child(start, &child);
  error = (int)heddle_flow_told((uint64_t)error);
  child = (pid_t)heddle_flow_told((uint64_t)child);
  if (error == 0 && to != NULL) rt_fl_write_event(to, &child, sizeof child);
  return error;
}

#define PARAMETERS                                                           \
  pid_t *to, const char *program, const posix_spawn_file_actions_t *actions, \
      const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]
int rt_do_posix_spawn(PARAMETERS);
int rt_do_posix_spawnp(PARAMETERS);

RT_FL_ENTRY(posix_spawn);
int rt_do_posix_spawn(PARAMETERS) {
  return spawn(&(struct start){program, false, actions, attributes, arguments, environment}, to);
}
RT_FL_ENTRY(posix_spawnp);
int rt_do_posix_spawnp(PARAMETERS) {
  return spawn(&(struct start){program, true, actions, attributes, arguments, environment}, to);
}
