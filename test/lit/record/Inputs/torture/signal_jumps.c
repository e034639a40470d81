// Handlers that do not come back: siglongjmp out of a handler that was raised, out of one for a fault, and out of two at once.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static _Thread_local sigjmp_buf back;
volatile int shared;

static void on_user(int signal) {
  if (shared % 3 == 1) shared = shared + signal;
  if (shared % 2) raise(SIGUSR2);
  siglongjmp(back, 1);
}
static void on_user2(int signal) {
  shared = shared + 1;
  if (shared % 4 == 2) siglongjmp(back, 2);
  if (signal == SIGUSR1) shared = 0;
}
static void on_fault(int signal) {
  (void)signal;
  siglongjmp(back, 3);
}
__attribute__((noinline)) static int touch(volatile char* page, int n) {
  for (int i = 0; i < n; ++i) {
    if (i & 1) shared = shared + 1;
  }
  return page[n];
}
static void* run(void* page) {
  volatile int sum = 0;
  for (volatile int i = 0; i < 12; i = i + 1) {
    const int came = sigsetjmp(back, 1);
    if (came == 0) {
      if (i % 3 == 0) raise(SIGUSR1);
      else if (i % 3 == 1) touch(page, i);
      sum = sum + 1;
    } else if (came == 3) {
      sum = sum + 10;
    } else {
      sum = sum ^ came;
    }
  }
  return NULL;
}

int main(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_user;
  sigaction(SIGUSR1, &action, NULL);
  action.sa_handler = on_user2;
  sigaction(SIGUSR2, &action, NULL);
  action.sa_handler = on_fault;
  sigaction(SIGSEGV, &action, NULL);
  void* page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, run, page);
  run(page);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}
