// Threads that are cancelled while they wait for another one to end; what they do on their way out is shared.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static long shared, left;
static void* slow(void* unused) {
  for (int i = 0; i < 60; ++i) {
    ++shared;
    usleep(1000);
  }
  return unused;
}
static void leave(void* unused) {
  (void)unused;
  for (int i = 0; i < 5000; ++i) ++shared;
  ++left;
}
static void* wait_for(void* given) {
  pthread_cleanup_push(leave, NULL);
  pthread_join(*(pthread_t*)given, NULL);
  pthread_cleanup_pop(1);
  return NULL;
}
int main(void) {
  for (int round = 0; round < 2; ++round) {
    pthread_t worker, waiter;
    void* end;
    if (pthread_create(&worker, NULL, slow, NULL) != 0) return 1;
    if (pthread_create(&waiter, NULL, wait_for, &worker) != 0) return 1;
    usleep(20000);
    pthread_cancel(waiter);
    pthread_join(waiter, &end);
    if (end == PTHREAD_CANCELED) pthread_join(worker, NULL);
  }
  printf("%ld %ld\n", shared, left);
  return 0;
}
