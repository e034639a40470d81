// Handlers that run inside system calls of libraries, on memory that another thread uses too, while the next signals come.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

static volatile unsigned shared[64];
static volatile unsigned handled, over;

static void on_signal(int number) {
  for (unsigned i = 0; i < 64; ++i) shared[i] += (unsigned)number;
  ++handled;
}

static void* race(void* nothing) {
  while (!over)
    for (unsigned i = 0; i < 64; ++i) shared[i] += i;
  return nothing;
}

int main(void) {
  signal(SIGALRM, on_signal);
  signal(SIGUSR1, on_signal);
  pthread_t thread;
  sigset_t both, before;
  sigemptyset(&both);
  sigaddset(&both, SIGALRM);
  sigaddset(&both, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &both, &before);
  pthread_create(&thread, NULL, race, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  for (int i = 0; i < 200; ++i) {
    kill(getpid(), SIGUSR1);
    usleep(100);
  }
  setitimer(ITIMER_REAL, &never, NULL);
  over = 1;
  pthread_join(thread, NULL);
  printf("%d\n", handled > 200);
  return 0;
}
