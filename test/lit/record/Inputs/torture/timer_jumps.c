// Calculations that a timer ends by a jump out of its handler, wherever the thread is just then: in its own code or in the hooks of recording.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile unsigned total;
static unsigned table[64];

static void on_alarm(int number) {
  (void)number;
  siglongjmp(back, 1);
}

static unsigned collatz(unsigned n) {
  unsigned steps = 0;
  for (; n != 1; ++steps) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    if (n % 64 < 60) table[n % 64] += steps;
    if (n % 8 == 3) table[getppid() % 64] += rand() % 3 ? (unsigned)time(NULL) : 1;
  }
  return steps;
}

int main(void) {
  signal(SIGALRM, on_alarm);
  volatile int timeouts = 0, done = 0;
  for (volatile int round = 0; round < 40; ++round) {
    const struct itimerval time = {.it_value = {.tv_usec = 100 + 17 * round}}, none = {{0, 0}, {0, 0}};
    if (sigsetjmp(back, 1) == 0) {
      setitimer(ITIMER_REAL, &time, NULL);
      for (unsigned i = 1; i < 1000; ++i) total += collatz(i);
      setitimer(ITIMER_REAL, &none, NULL);
      ++done;
    } else {
      ++timeouts;
    }
  }
  printf("%d rounds\n", done + timeouts);
  return 0;
}
