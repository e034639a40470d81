/* Numbers by which the program knows itself and its machine, the same in every run: process and thread ids,
 * processors.
 *
 * Ids lie above any that the kernel gives (pid_max is at most 2^22), so they are never mistaken for those of
 * another process, and functions that take one know that this process is meant. Children that the program forks
 * are numbered in the order of their creation; programs that they execute see their real ids.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/control/control.h"

#define PARENT 5000000
#define PROCESS (PARENT + 1) /* thread n has PROCESS + n */
#define CHILD (PROCESS + HEDDLE_CONTROL_MAX_THREADS + 1)
#define MOST_CHILDREN 4096 /* those behind have their real ids */

/* Thread pools are made as large as there are processors, so the number must not depend on where a schedule is
 * replayed. Four are enough for threads to meet, and few enough to explore. */
#define PROCESSORS 4

static bool is_own(pid_t id) {
  return id >= PROCESS && id <= PROCESS + HEDDLE_CONTROL_MAX_THREADS;
}

static pid_t children[MOST_CHILDREN]; /* real ids */
static uint32_t child_count;
static pid_t own_name; /* of a forked child */

pid_t rt_next_child(void) {
  return child_count < MOST_CHILDREN ? (pid_t)(CHILD + child_count) : 0;
}

bool rt_had_children(void) {
  return child_count != 0;
}

void rt_child_begins(pid_t name) {
  own_name = name;
}

pid_t rt_name_child(pid_t id) {
  const pid_t name = rt_next_child();
  if (name == 0) return id;
  children[child_count++] = id;
  return name;
}

/* The kernel uses ids again: the last child of that id is meant. */
pid_t rt_child_of(pid_t id) {
  for (uint32_t i = child_count; id > 0 && i-- > 0;)
    if (children[i] == id) return (pid_t)(CHILD + i);
  return id;
}

pid_t rt_child_at(uint32_t number) {
  return number < child_count ? children[number] : 0;
}

bool rt_has_children(void) {
  for (uint32_t i = 0; i < child_count; ++i) {
    siginfo_t information = {0};
    if (RT_SYS6(SYS_waitid, P_PID, children[i], &information, WEXITED | WNOHANG | WNOWAIT, NULL, 0) == 0 &&
        information.si_pid == 0)
      return true;
  }
  return false;
}

/* For the kernel. To a forked child, PROCESS is its parent. */
pid_t rt_real_id(pid_t id) {
  if (id < -1) return -rt_real_id(-id); /* a group */
  if (id != 0 && id == own_name) return (pid_t)RT_SYS0(SYS_getpid);
  if (id >= CHILD && id < (pid_t)(CHILD + child_count)) return children[id - CHILD];
  if (id == PARENT || (is_own(id) && rt.forked)) return (pid_t)RT_SYS0(SYS_getppid);
  return is_own(id) ? (pid_t)RT_SYS0(SYS_getpid) : id;
}

static long with_errno(long result) {
  if (result >= 0) return result;
  errno = (int)-result;
  return -1;
}

/* ---- ids */
pid_t getpid(void) {
  if (rt.forked) return own_name != 0 ? own_name : (pid_t)RT_SYS0(SYS_getpid);
  return PROCESS;
}

pid_t getppid(void) {
  return rt.forked ? PROCESS : PARENT;
}

pid_t gettid(void) {
  if (rt.forked) return (pid_t)RT_SYS0(SYS_gettid);
  return PROCESS + (pid_t)(rt.current != NULL ? rt.current->index : 0);
}

int kill(pid_t id, int number) {
  if (rt.active && is_own(id) && number > 0 && number <= 64 && rt_send_to_process(number)) return 0;
  return (int)with_errno(RT_SYS2(SYS_kill, rt_real_id(id), number));
}

pid_t getpgid(pid_t id) {
  return rt_child_of((pid_t)with_errno(RT_SYS1(SYS_getpgid, rt_real_id(id))));
}

int setpgid(pid_t id, pid_t group) {
  return (int)with_errno(RT_SYS2(SYS_setpgid, rt_real_id(id), rt_real_id(group)));
}

pid_t getsid(pid_t id) {
  return (pid_t)with_errno(RT_SYS1(SYS_getsid, rt_real_id(id)));
}

/* ---- processors: where a thread runs makes no difference, since one runs at a time */
int get_nprocs(void) {
  return PROCESSORS;
}

int get_nprocs_conf(void) {
  return PROCESSORS;
}

long sysconf(int name) {
  if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) return PROCESSORS;
  RT_STATE static long (*original)(int);
  if (original == NULL) original = (long (*)(int))rt_real("sysconf");
  return original(name);
}

int sched_getcpu(void) {
  return 0;
}

int getcpu(unsigned* processor, unsigned* node) {
  if (processor != NULL) *processor = 0;
  if (node != NULL) *node = 0;
  return 0;
}

static int all_processors(size_t size, cpu_set_t* set) {
  if (size < sizeof(unsigned long)) return EINVAL;
  memset(set, 0, size);
  for (int i = 0; i < PROCESSORS; ++i) CPU_SET_S(i, size, set);
  return 0;
}

int sched_getaffinity(pid_t id, size_t size, cpu_set_t* set) {
  if (id != 0 && !is_own(id)) {
    const long written = RT_SYS3(SYS_sched_getaffinity, id, size, set);
    return written < 0 ? (int)with_errno(written) : 0;
  }
  return (int)with_errno(-all_processors(size, set));
}

int sched_setaffinity(pid_t id, size_t size, const cpu_set_t* set) {
  if (id == 0 || is_own(id)) return 0;
  return (int)with_errno(RT_SYS3(SYS_sched_setaffinity, id, size, set));
}

int pthread_getaffinity_np(pthread_t handle, size_t size, cpu_set_t* set) {
  (void)handle;
  return all_processors(size, set);
}
