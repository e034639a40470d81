// pthread_cleanup_push in C, which clang makes of sigsetjmp, and cancel while it is in force.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

volatile int shared;
static int start;
static void cleaned(void* value) { for (int i = 0; i < *(int*)value; ++i) if ((shared ^ i) & 1) shared = shared + 1; }
static int inner(int depth) {
  int here = depth;
  pthread_cleanup_push(cleaned, &here);
  if (depth > 0) here += inner(depth - 1);
  else for (int i = 0; i < 100000; ++i) { if (shared & 1) ++here; pthread_testcancel(); }
  pthread_cleanup_pop(depth & 1);
  return here;
}
static void* run(void* argument) {
  if (argument) pthread_exit(argument);
  return inner(4) ? &start : NULL;
}
int main(void) {
  for (int round = 0; round < 10; ++round) {
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, run, i == 2 ? &start : NULL);
    usleep(300);
    pthread_cancel(threads[0]);
    for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  }
  puts("done");
  return 0;
}
