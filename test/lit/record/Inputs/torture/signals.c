// Signal handlers: at known places (raise), at any place (timer, pthread_kill), handlers that are interrupted themselves, on an
// alternate stack, before main() and in a thread that has run nothing of the program yet; handlers that call back.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

volatile int shared, stop;

__attribute__((noinline)) static int work(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    if ((i ^ shared) & 1) sum += i;
    else sum ^= i;
  }
  return sum;
}
static void on_user1(int signal) {
  shared = shared + work(5);
  if (shared % 3 != 2) raise(SIGUSR2);
  if (signal == SIGUSR1) shared = shared + 1;
}
static void on_user2(int signal) {
  if (shared & 1) shared = shared + work(3);
  else if (signal) raise(SIGURG);
}
static void on_urgent(int signal, siginfo_t* info, void* context) {
  (void)context;
  if (info->si_pid == getpid() && signal == SIGURG) shared = shared + 1;
}
static void on_alarm(int signal) {
  for (int i = 0; i < signal; ++i) if ((shared + i) & 2) shared = shared + 1;
}
static int compare(const void* left, const void* right) {
  if (*(const int*)left == 7) raise(SIGUSR1);
  return *(const int*)left - *(const int*)right;
}
static void* run(void* argument) {
  int values[16];
  stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
  sigaltstack(&stack, NULL);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 16; ++i) values[i] = (i * 5 + round) % 16;
    qsort(values, 16, sizeof values[0], compare);
    if (round % 4 == 0) raise(SIGUSR2);
    shared = shared + work(2000);
  }
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, NULL);
  return argument;
}
static void* spin(void* unused) {
  (void)unused;
  while (!stop) shared = shared + work(10);
  return NULL;
}
static void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | flags;
  sigaction(signal, &action, NULL);
}
__attribute__((constructor)) static void before_main(void) {
  handle(SIGUSR1, on_user1, 0);
  handle(SIGUSR2, on_user2, SA_ONSTACK);
  handle(SIGALRM, on_alarm, 0);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_urgent;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGURG, &action, NULL);
  raise(SIGUSR1);
}

int main(void) {
  pthread_t threads[3], spinner;
  struct itimerval timer = {{0, 400}, {0, 400}};
  setitimer(ITIMER_REAL, &timer, NULL);
  pthread_create(&spinner, NULL, spin, NULL);
  for (int i = 0; i < 3; ++i) {
    pthread_create(&threads[i], NULL, run, NULL);
    pthread_kill(threads[i], SIGUSR1);
  }
  for (int i = 0; i < 200; ++i) {
    pthread_kill(spinner, i & 1 ? SIGUSR1 : SIGUSR2);
    if (i % 16 == 0) usleep(100);
  }
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  stop = 1;
  pthread_join(spinner, NULL);
  puts("done");
  return 0;
}
