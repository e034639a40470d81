/* Processes that the program starts. They are not recorded: what the program sees of them are results from
 * outside. So a replay starts none, and they do nothing a second time. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/flow/entry.h"
#include "runtime/flow/flow.h"

/* A result, or -errno. */
static int told(long result) {
  const long value = (long)heddle_flow_told((uint64_t)(result < 0 ? -errno : result));
  if (value >= 0) return (int)value;
  errno = (int)-value;
  return -1;
}

/* Handlers of the program for forks run in a replay too; so there is a child, which ends at once. */
void rt_fl_in_child(void) {
  if (rt_fl.mode == FL_REPLAY)
    for (;;) RT_SYS1(SYS_exit_group, 0);
  rt_fl_restore_descriptors();
  rt_fl.mode = FL_OFF;
  heddle_flow_self = &rt_fl_nobody;
}

pid_t fork(void) {
  static pid_t (*real)(void);
  if (real == NULL) real = (pid_t(*)(void))rt_real("fork");
  const pid_t child = real();
  return child == 0 ? 0 : told(child);
}

/* The child has memory of its own, which it is not to notice. */
pid_t vfork(void) {
  return fork();
}

/* What libc does to start the shell is its own business. */
RT_FL_ENTRY(system);
int rt_do_system(const char* command);
int rt_do_system(const char* command) {
  return told(rt_fl_replaying() ? 0 : RT_FL_APART(RT_FL_REAL(system, command)));
}

/* ---- a program at the other end of a stream: libc's own popen() would start it in a replay too */
#define STREAMS 64
static struct {
  FILE* stream;
  pid_t child;
} streams[STREAMS];
static bool streams_busy;

static pid_t exchange_stream(const FILE* key, FILE* stream, pid_t child) {
  pid_t found = -1;
  while (__atomic_exchange_n(&streams_busy, true, __ATOMIC_ACQUIRE)) RT_SYS0(SYS_sched_yield);
  for (size_t i = 0; i < STREAMS && found < 0; ++i) {
    if (streams[i].stream != key) continue;
    found = streams[i].child;
    streams[i].stream = stream;
    streams[i].child = child;
  }
  __atomic_store_n(&streams_busy, false, __ATOMIC_RELEASE);
  return found;
}

FILE* popen(const char* command, const char* mode) {
  const bool reads = strchr(mode, 'r') != NULL, keeps = strchr(mode, 'e') == NULL;
  int ends[2];
  if (strspn(mode, "rwe") != strlen(mode) || (strchr(mode, 'w') != NULL) == reads) {
    errno = EINVAL;
    return NULL;
  }
  if (pipe2(ends, O_CLOEXEC) != 0) return NULL;
  const int mine = ends[reads ? 0 : 1], its = ends[reads ? 1 : 0], standard = reads ? 1 : 0;
  const pid_t child = fork();
  if (child == 0) {
    if (its == standard)
      fcntl(its, F_SETFD, 0);
    else
      dup2(its, standard);
    execl("/bin/sh", "sh", "-c", command, (char*)NULL);
    _exit(127);
  }
  close(its);
  FILE* const stream = child > 0 ? fdopen(mine, reads ? "r" : "w") : NULL;
  if (stream == NULL || exchange_stream(NULL, stream, child) < 0) {
    close(mine);
    return NULL;
  }
  if (keeps) fcntl(mine, F_SETFD, 0);
  return stream;
}

int pclose(FILE* stream) {
  const pid_t child = exchange_stream(stream, NULL, 0);
  int status = 0;
  if (child < 0 || fclose(stream) != 0) return -1;
  pid_t done;
  do done = waitpid(child, &status, 0);
  while (done < 0 && errno == EINTR);
  return done < 0 ? -1 : status;
}

/* Libraries of programs that are started lie elsewhere than ours: those that lie here trap (system.c), and the
 * filter is inherited. */
void rt_fl_children_init(void) {
  pthread_atfork(NULL, NULL, rt_fl_in_child);
  const long now = RT_SYS1(SYS_personality, 0xffffffff);
  if (now > 0) RT_SYS1(SYS_personality, now & ~ADDR_NO_RANDOMIZE);
}
