/* A thread tells main by a signal to the process that it is done, as lbzip2 does: main waits for it with all other
 * threads blocking it, then takes its handler away and no longer blocks it. Results of kill() come from outside. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t caught;
static int work;

static void on_signal(int number) { caught = number; }

static void* worker(void* unused) {
  for (int i = 0; i < 100; ++i) ++work;
  kill(getpid(), SIGUSR2);
  return unused;
}

int main(void) {
  sigset_t handled, saved;
  sigemptyset(&handled);
  sigaddset(&handled, SIGUSR2);
  sigaddset(&handled, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &handled, &saved);
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGUSR2, &action, NULL);
  sigaction(SIGUSR1, &action, NULL);

  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  while (caught != SIGUSR2) sigsuspend(&saved);
  raise(SIGUSR1);
  while (caught != SIGUSR1) sigsuspend(&saved);
  action.sa_handler = SIG_DFL;
  sigaction(SIGUSR2, &action, NULL);
  sigaction(SIGUSR1, &action, NULL);
  pthread_sigmask(SIG_SETMASK, &saved, NULL);
  pthread_join(thread, NULL);
  assert(work == 100);

  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
  const int result = kill(child, 0);
  printf("%d of a child that is gone: %d\n", result, result != 0 ? errno : 0);
  return 0;
}
