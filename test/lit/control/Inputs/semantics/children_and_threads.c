// Threads that fork: others run while one waits for its child, whose end may depend on them.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2];

static void* waits(void* unused) {
  (void)unused;
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    _exit(read(ends[0], &byte, 1) == 1 ? byte : 1);
  }
  int status;
  assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 9);
  errno = 0;
  assert(waitpid(child, &status, 0) == -1 && errno == ECHILD);
  return NULL;
}

int main(void) {
  assert(pipe(ends) == 0);
  pthread_t thread;
  assert(pthread_create(&thread, NULL, waits, NULL) == 0);
  assert(write(ends[1], "\t", 1) == 1);
  pthread_join(thread, NULL);
  int status;
  errno = 0;
  assert(wait(&status) == -1 && errno == ECHILD);

  // Any child: each is told once.
  pid_t all[3];
  for (int i = 0; i < 3; ++i)
    if ((all[i] = fork()) == 0) _exit(i);
  int seen = 0;
  for (int i = 0; i < 3; ++i) {
    const pid_t ended = waitpid(-1, &status, 0);
    assert(WIFEXITED(status) && ended == all[WEXITSTATUS(status)]);
    seen |= 1 << WEXITSTATUS(status);
  }
  assert(seen == 7);
  siginfo_t information;
  errno = 0;
  assert(waitid(P_ALL, 0, &information, WEXITED | WNOHANG) == -1 && errno == ECHILD);
  return 0;
}
