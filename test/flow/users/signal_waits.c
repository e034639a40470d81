// Signals that are waited for: sigwait, sigtimedwait, sigwaitinfo with values, signalfd, sigsuspend, timers of POSIX.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long total, order;
static volatile sig_atomic_t ticks, asked;
static void on_tick(int s, siginfo_t* i, void* c) {
  (void)s;
  (void)c;
  ticks += 1;
  if (i->si_code == SI_TIMER) ++asked;
}
static sigset_t set_of(int a, int b) {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, a);
  if (b) sigaddset(&s, b);
  return s;
}
static void* waiter(void* a) {  // values of real-time signals, in order
  sigset_t s = set_of(SIGRTMIN, SIGUSR2);
  for (int left = 50; left > 0;) {
    siginfo_t i;
    int n = sigwaitinfo(&s, &i);
    if (n < 0) continue;
    if (n == SIGUSR2) break;
    pthread_mutex_lock(&m);
    total += i.si_value.sival_int;
    order = order * 31 + i.si_value.sival_int;
    pthread_mutex_unlock(&m);
    --left;
  }
  return a;
}
static void* by_file(void* a) {
  sigset_t s = set_of(SIGUSR1, 0);
  int fd = signalfd(-1, &s, SFD_CLOEXEC);
  long n = 0;
  while (n < 3) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, 1000) <= 0) break;
    struct signalfd_siginfo i[4];
    ssize_t got = read(fd, i, sizeof i);
    for (size_t k = 0; k * sizeof i[0] < (size_t)got; ++k) n += i[k].ssi_signo == SIGUSR1;
  }
  close(fd);
  return (void*)n;
}
static void* timed(void* a) {
  sigset_t s = set_of(SIGHUP, 0);
  struct timespec t = {0, 3000000};
  long none = 0;
  for (int i = 0; i < 3; ++i)
    if (sigtimedwait(&s, NULL, &t) < 0 && errno == EAGAIN) ++none;
  return (void*)none;
}
int main(void) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
  sigfillset(&action.sa_mask);
  sigaction(SIGRTMIN + 3, &action, NULL);
  pthread_t w, f, t;
  pthread_create(&w, NULL, waiter, NULL);
  pthread_create(&f, NULL, by_file, NULL);
  pthread_create(&t, NULL, timed, NULL);
  for (int i = 0; i < 50; ++i) {
    union sigval v = {.sival_int = i};
    while (pthread_sigqueue(w, SIGRTMIN, v) != 0) usleep(100);
  }
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3};
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return 3;
  struct itimerspec when = {{0, 1000000}, {0, 1000000}}, left;
  timer_settime(timer, 0, &when, NULL);
  sigset_t wait_mask = all;
  sigdelset(&wait_mask, SIGRTMIN + 3);
  int suspended = 0;
  while (ticks < 10) {
    sigsuspend(&wait_mask);
    ++suspended;
  }
  timer_gettime(timer, &left);
  timer_delete(timer);
  void *n, *none;
  for (int i = 0; i < 3; ++i) {
    pthread_kill(f, SIGUSR1);
    usleep(2000);
  }
  pthread_join(w, NULL);
  pthread_join(f, &n);
  pthread_join(t, &none);
  sigset_t pending;
  sigpending(&pending);
  printf("total %ld order %ld suspended %d by file %d none %ld timer %d pending %d\n", total, order, suspended >= 1,
         n != NULL, (long)none, asked == ticks, sigismember(&pending, SIGUSR1));
  return total == 49 * 50 / 2 ? 0 : 1;
}
