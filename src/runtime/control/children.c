/* Processes that the program starts, and programs in its place. A child made by fork() is on its own: it runs
 * without control, and a message says so when it creates threads. Programs that it executes know nothing of
 * heddle. */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/control/control.h"

static pid_t fork_by(const char* function) {
  pid_t (*real)(void) = (pid_t(*)(void))rt_real(function);
  if (rt.active) {
    heddle_control_blocking_done(); /* others may run before: the child gets what memory holds then, no buffers
                                     */
    rt_perform(rt_sync(HEDDLE_SYNC_attribute, NULL));
    rt_forget_channels(); /* the child has them too */
  }
  const pid_t name = rt.forked ? 0 : rt_next_child();
  uint64_t all = ~0ull, before = 0; /* no signal to the child until it knows that it is one */
  RT_SYS4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof all);
  const pid_t child = real();
  if (child == 0) {
    rt.active = false;
    rt.forked = true;
    rt_child_begins(name);
  }
  RT_SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
  return child > 0 && !rt.forked ? rt_name_child(child) : child;
}

pid_t fork(void) {
  return fork_by("fork");
}

pid_t _Fork(void) {
  return fork_by("_Fork");
}

pid_t vfork(void) {
  return fork();
}

static int spawn(const char* function, pid_t* id, const char* path, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  int (*real)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*,
              char* const*) = (int (*)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                                       const posix_spawnattr_t*, char* const*, char* const*))rt_real(function);
  pid_t child = 0;
  const int error = real(&child, path, actions, attributes, arguments, environment);
  if (error == 0 && !rt.forked) child = rt_name_child(child);
  if (error == 0 && id != NULL) *id = child;
  return error;
}

int posix_spawn(pid_t* id, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  return spawn("posix_spawn", id, path, actions, attributes, arguments, environment);
}

int posix_spawnp(pid_t* id, const char* file, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  return spawn("posix_spawnp", id, file, actions, attributes, arguments, environment);
}

/* The program stays in its process, where it is under control. */
int daemon(int keep_folder, int keep_files) {
  if (!keep_folder && chdir("/") != 0) return -1;
  const int nowhere = keep_files ? -1 : open("/dev/null", O_RDWR);
  for (int file = 0; nowhere >= 0 && file <= STDERR_FILENO; ++file) dup2(nowhere, file);
  if (nowhere > STDERR_FILENO) close(nowhere);
  return 0;
}

/* ---- another program in place of this one: the end of what heddle can control. A path that cannot be executed
 * is the program's own affair. */
static void refuse_to_leave(const char* function, const char* path) {
  if (rt.active && (path == NULL || access(path, X_OK) == 0))
    rt_unsupported("%s: the program replaces itself by another", function);
}

int execve(const char* path, char* const* arguments, char* const* environment) {
  refuse_to_leave("execve", path);
  int (*real)(const char*, char* const*, char* const*) =
      (int (*)(const char*, char* const*, char* const*))rt_real("execve");
  return real(path, arguments, environment);
}

int execv(const char* path, char* const* arguments) {
  return execve(path, arguments, environ);
}

int execvpe(const char* file, char* const* arguments, char* const* environment) {
  refuse_to_leave("execvp", NULL);
  int (*real)(const char*, char* const*, char* const*) =
      (int (*)(const char*, char* const*, char* const*))rt_real("execvpe");
  return real(file, arguments, environment);
}

int execvp(const char* file, char* const* arguments) {
  return execvpe(file, arguments, environ);
}

int fexecve(int file, char* const* arguments, char* const* environment) {
  refuse_to_leave("fexecve", NULL);
  int (*real)(int, char* const*, char* const*) = (int (*)(int, char* const*, char* const*))rt_real("fexecve");
  return real(file, arguments, environment);
}

/* The arguments of execl and the like as an array, up to the null pointer; `rest` goes on behind it. */
#define COLLECT(first)                         \
  size_t count = 1;                            \
  va_list rest;                                \
  va_start(rest, first);                       \
  while (va_arg(rest, char*) != NULL) ++count; \
  va_end(rest);                                \
  char* arguments[count + 1];                  \
  arguments[0] = (char*)(uintptr_t)first;      \
  va_start(rest, first);                       \
  for (size_t i = 1; i <= count; ++i) arguments[i] = va_arg(rest, char*)

int execl(const char* path, const char* first, ...) {
  COLLECT(first);
  va_end(rest);
  return execv(path, arguments);
}

int execlp(const char* file, const char* first, ...) {
  COLLECT(first);
  va_end(rest);
  return execvp(file, arguments);
}

int execle(const char* path, const char* first, ...) {
  COLLECT(first);
  char* const* environment = va_arg(rest, char* const*);
  va_end(rest);
  return execve(path, arguments, environment);
}
