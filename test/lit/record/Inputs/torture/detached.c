// Detached threads that still run when the process ends: one busy, one blocked, one that makes threads.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

volatile unsigned shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void* busy(void* unused) {
  for (unsigned i = 0;; ++i) {
    if ((i ^ shared) & 1) shared = shared + 1;
    else if (i % 5 == 0) shared = i;
  }
  return unused;
}
static void* blocked(void* unused) {
  pthread_mutex_lock(&lock);
  return unused;
}
static void* small(void* argument) { return argument; }
static void* maker(void* unused) {
  for (;;) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, small, &thread) == 0) pthread_join(thread, NULL);
  }
  return unused;
}
static void at_end(void) { for (int i = 0; i < 3; ++i) if (shared & 1) shared = shared + 1; }
int main(void) {
  void* (*const kinds[])(void*) = {busy, blocked, maker, busy};
  atexit(at_end);
  pthread_mutex_lock(&lock);
  for (int i = 0; i < 4; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, kinds[i], NULL);
    pthread_detach(thread);
  }
  usleep(30000);
  puts("done");
  return 0;
}
