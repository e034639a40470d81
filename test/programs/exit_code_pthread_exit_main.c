// Main starts two workers and leaves with pthread_exit(). The worker that finishes last announces the result;
// an exit handler turns a result that was not announced into exit code 3.
//
// The bug: counting down the remaining workers is a load and a store, so that nobody may be the last.
//
// HEDDLE-FAILURE: exit:3
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B one worker loads before the other one stores (in both directions)
// HEDDLE-SMALL: yes
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

atomic_int remaining = 2;
atomic_int announced;

static void check(void) {
  if (!announced) _exit(3);
}

static int count_down(void) {
#ifdef FIXED
  return atomic_fetch_sub(&remaining, 1) - 1;
#else
  const int left = atomic_load(&remaining) - 1;  // [A]
  atomic_store(&remaining, left);                // [B]
  return left;
#endif
}

static void* worker(void* arg) {
  if (count_down() == 0) announced = 1;
  return arg;
}

int main(void) {
  atexit(check);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) {
    pthread_create(&threads[i], NULL, worker, NULL);
    pthread_detach(threads[i]);
  }
  pthread_exit(NULL);
}
