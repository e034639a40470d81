// Handlers that interrupt, faults that a handler jumps out of, timers, signals to threads, sigwait.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t alarms, usr;
static sigjmp_buf jb;
static int* volatile bad;
static int shared;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void on_alarm(int s) {
  ++alarms;
}
static void on_usr(int s) {
  ++usr;
}
static void on_segv(int s) {
  siglongjmp(jb, 1);
}
static void* work(void* a) {
  for (int i = 0; i < 200000; ++i) {
    pthread_mutex_lock(&m);
    ++shared;
    pthread_mutex_unlock(&m);
  }
  return a;
}
static void* receiver(void* a) {
  while (usr < 3) usleep(1000);
  return a;
}
static void* sigwaiter(void* a) {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGUSR2);
  int n = 0;
  sigwait(&s, &n);
  return (void*)(long)n;
}
int main(void) {
  signal(SIGALRM, on_alarm);
  signal(SIGUSR1, on_usr);
  signal(SIGSEGV, on_segv);
  sigset_t b;
  sigemptyset(&b);
  sigaddset(&b, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &b, NULL);
  struct itimerval it = {{0, 2000}, {0, 2000}};
  setitimer(ITIMER_REAL, &it, NULL);
  pthread_t t, r, w;
  pthread_create(&t, NULL, work, NULL);
  pthread_create(&r, NULL, receiver, NULL);
  pthread_create(&w, NULL, sigwaiter, NULL);
  int caught = 0;
  for (int i = 0; i < 5; ++i) {
    if (sigsetjmp(jb, 1) == 0) {
      *bad = i;
    } else
      ++caught;
    pthread_mutex_lock(&m);
    ++shared;
    pthread_mutex_unlock(&m);
  }
  while (usr < 3) {
    pthread_kill(r, SIGUSR1);
    usleep(5000);
  }
  pthread_kill(w, SIGUSR2);
  void* n;
  pthread_join(w, &n);
  while (alarms < 5) pause();
  pthread_join(t, NULL);
  pthread_join(r, NULL);
  it.it_value.tv_usec = 0;
  it.it_interval.tv_usec = 0;
  setitimer(ITIMER_REAL, &it, NULL);
  raise(SIGUSR1);
  timer_t tm;
  struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  int tc = timer_create(CLOCK_MONOTONIC, &ev, &tm);
  printf("caught %d usr %d shared %d sigwait %ld timer %d\n", caught, usr >= 3, shared, (long)n, tc);
  return 0;
}
