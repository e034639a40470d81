// What a handler may find: blocked signals, raise() that is handled when it returns, handlers inside handlers, actions that reset themselves.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>
static volatile long a_part, b_part;  // equal whenever SIGALRM is not blocked
static volatile sig_atomic_t ticks, torn, nested, deepest, depth, once;
static long shared;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void on_tick(int s) {
  (void)s;
  ++ticks;
  if (a_part != b_part) ++torn;
}
static void on_usr1(int s, siginfo_t* i, void* context) {
  (void)s;
  (void)i;
  if (context == NULL) abort();
  if (++depth > deepest) deepest = depth;
  if (nested < 4) {
    ++nested;
    raise(SIGUSR2);
    raise(SIGUSR1);  // blocked in here: comes when this returns
  }
  --depth;
}
static void on_usr2(int s) {
  (void)s;
  if (++depth > deepest) deepest = depth;
  char text[32];
  int n = snprintf(text, sizeof text, "usr2 in depth %d\n", (int)depth);
  fflush(stdout);
  if (write(1, text, n) != n) abort();
  --depth;
}
static void on_once(int s) {
  (void)s;
  ++once;
}
static void* work(void* x) {
  for (int i = 0; i < 3000; ++i) {
    pthread_mutex_lock(&m);
    ++shared;
    pthread_mutex_unlock(&m);
  }
  return x;
}
int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
  struct sigaction u1 = {.sa_sigaction = on_usr1, .sa_flags = SA_SIGINFO};
  struct sigaction u2 = {.sa_handler = on_usr2};
  sigfillset(&u2.sa_mask);
  struct sigaction o = {.sa_handler = on_once, .sa_flags = (int)SA_RESETHAND};
  sigaction(SIGALRM, &tick, NULL);
  sigaction(SIGUSR1, &u1, NULL);
  sigaction(SIGUSR2, &u2, NULL);
  struct itimerval it = {{0, 500}, {0, 500}};
  pthread_t t[2];
  sigset_t s, old;
  sigemptyset(&s);
  sigaddset(&s, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &s, &old);  // the others are not to get them
  for (int i = 0; i < 2; ++i) pthread_create(&t[i], NULL, work, NULL);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  setitimer(ITIMER_REAL, &it, NULL);
  for (int i = 0; i < 2000 || ticks < 5; ++i) {
    pthread_sigmask(SIG_BLOCK, &s, &old);
    ++a_part;
    pthread_mutex_lock(&m);
    shared += 2;
    pthread_mutex_unlock(&m);
    ++b_part;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
  }
  it.it_value.tv_usec = it.it_interval.tv_usec = 0;
  setitimer(ITIMER_REAL, &it, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(t[i], NULL);
  raise(SIGUSR1);
  printf("nested %d deepest %d torn %d ticks %d\n", nested, deepest, torn, ticks >= 5);
  sigaction(SIGWINCH, &o, NULL);
  raise(SIGWINCH);
  raise(SIGWINCH);  // ignored by default
  int got = once;
  kill(getpid(), SIGUSR2);
  printf("once %d\n", got);
  return torn != 0 || nested != 4 || got != 1;
}
