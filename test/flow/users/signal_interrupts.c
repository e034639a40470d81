// Signals that interrupt what waits: a pipe to oneself with SA_RESTART, EINTR, alarm while joining, waiting for a condition, a semaphore,
// a mutex; a loop that only looks at a flag.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static int ends[2];
static volatile sig_atomic_t alarms, stop, hits;
static sem_t posted;
static int shared;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void into_pipe(int s) {
  char b = (char)s;
  if (write(ends[1], &b, 1) != 1) abort();
}
static void on_alarm(int s) {
  (void)s;
  ++alarms;
  stop = 1;
  sem_post(&posted);
}
static void on_hit(int s) {
  (void)s;
  ++hits;
}
static void start_timer(int microseconds) {
  struct itimerval t = {{0, 0}, {0, microseconds}};
  setitimer(ITIMER_REAL, &t, NULL);
}
static void* until_stop(void* a) {
  long n = 0;
  while (!stop) {
    ++n;
    pthread_mutex_lock(&m);
    ++shared;
    pthread_mutex_unlock(&m);
  }
  return (void*)(n > 0);
}
static void* hits_main(void* a) {
  pthread_t to = *(pthread_t*)a;
  while (hits < 5) {  // on a busy machine two may come as one
    usleep(2000);
    pthread_kill(to, SIGUSR1);
  }
  return NULL;
}
static void* never(void* a) {
  sem_t* go = a;
  while (sem_wait(go) != 0) {
  }
  pthread_mutex_lock(&m);
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
  return NULL;
}
int main(void) {
  struct sigaction restart = {.sa_handler = into_pipe, .sa_flags = SA_RESTART};
  struct sigaction alarm_action = {.sa_handler = on_alarm};
  struct sigaction hit = {.sa_handler = on_hit};
  sem_init(&posted, 0, 0);
  if (pipe(ends) != 0) return 3;
  sigaction(SIGALRM, &restart, NULL);
  start_timer(3000);
  char b = 0;
  ssize_t n = read(ends[0], &b, 1);  // restarted: the handler writes what it waits for
  printf("pipe %zd %d\n", n, b == SIGALRM);
  sigaction(SIGALRM, &alarm_action, NULL);
  start_timer(3000);
  n = read(ends[0], &b, 1);
  printf("read %zd %d alarms %d\n", n, errno == EINTR, alarms);
  while (sem_trywait(&posted) == 0) {
  }
  stop = 0;
  pthread_t t;
  pthread_create(&t, NULL, until_stop, NULL);
  start_timer(20000);
  void* value;
  pthread_join(t, &value);  // the handler in here lets it end
  printf("joined %d alarms %d\n", value != NULL, alarms);
  start_timer(3000);
  while (sem_wait(&posted) != 0) printf("sem_wait %d\n", errno == EINTR);
  stop = 0;
  start_timer(3000);
  while (!stop) {  // nothing but the handler ends this
  }
  printf("spun alarms %d\n", alarms);
  pthread_t me = pthread_self();
  sigaction(SIGUSR1, &hit, NULL);
  pthread_create(&t, NULL, hits_main, &me);
  int interrupted = 0;
  while (hits < 3) {
    struct timespec long_time = {1, 0}, rest;
    if (nanosleep(&long_time, &rest) != 0 && errno == EINTR) ++interrupted;
  }
  while (hits < 5) {
    struct timeval tv = {1, 0};
    select(0, NULL, NULL, NULL, &tv);
  }
  pthread_join(t, NULL);
  printf("interrupted %d hits %d\n", interrupted >= 1, hits >= 5);
  sem_t go;
  sem_init(&go, 0, 0);
  pthread_create(&t, NULL, never, &go);
  struct sigaction posts = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &posts, NULL);
  pthread_mutex_lock(&m);
  start_timer(2000);
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 10;
  stop = 0;
  while (!stop) pthread_cond_timedwait(&c, &m, &(struct timespec){.tv_sec = 0});
  sem_post(&go);
  int w = pthread_cond_timedwait(&c, &m, &until);
  pthread_mutex_unlock(&m);
  pthread_join(t, NULL);
  alarm(1);
  unsigned left = alarm(0);
  printf("condition %d alarm %u shared %d\n", w, left, shared > 0);
  return 0;
}
