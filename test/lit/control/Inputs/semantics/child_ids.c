// Ids of children: the same in every run, and good for all that takes one, in the parent and in the child.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static volatile sig_atomic_t asked;
static void on_request(int number) {
  (void)number;
  asked = 1;
}

static pid_t told_by(int file) {
  pid_t id = 0;
  assert(read(file, &id, sizeof id) == sizeof id);
  return id;
}

static void* forks(void* unused) {
  (void)unused;
  int ends[2], status;
  assert(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const pid_t me = getpid();
    if (write(ends[1], &me, sizeof me) != sizeof me) _exit(1);
    const pid_t grandchild = fork();
    if (grandchild == 0) _exit(3);
    if (waitpid(grandchild, &status, 0) != grandchild || WEXITSTATUS(status) != 3) _exit(1);
    for (;;) pause();
  }
  assert(child > 0 && told_by(ends[0]) == child);
  assert(getpgid(child) == getpgid(0));
  assert(waitpid(child, &status, WNOHANG) == 0);
  assert(kill(child, SIGKILL) == 0);
  assert(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  errno = 0;
  assert(waitpid(child, &status, 0) == -1 && errno == ECHILD);
  close(ends[0]);
  close(ends[1]);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) assert(pthread_create(&threads[i], NULL, forks, NULL) == 0);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);

  char* arguments[] = {"sh", "-c", "exit 5", NULL};
  pid_t shell = 0;
  assert(posix_spawn(&shell, "/bin/sh", NULL, NULL, arguments, environ) == 0);
  siginfo_t information = {0};
  assert(waitid(P_PID, (id_t)shell, &information, WEXITED) == 0);
  assert(information.si_pid == shell && information.si_status == 5);

  // A child that waits for a signal gets it.
  signal(SIGUSR1, on_request);
  sigset_t request, before;
  sigemptyset(&request);
  sigaddset(&request, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &request, &before);
  const pid_t waiting = fork();
  if (waiting == 0) {
    while (!asked) sigsuspend(&before);
    _exit(7);
  }
  assert(kill(waiting, SIGUSR1) == 0);
  int code;
  assert(waitpid(waiting, &code, 0) == waiting && WIFEXITED(code) && WEXITSTATUS(code) == 7);

  const pid_t last = fork();
  if (last == 0) {
    if (kill(getpid(), SIGTERM) != 0) _exit(1);
    _exit(2);
  }
  int status;
  assert(wait(&status) == last && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  return 0;
}
