// Threads that are cancelled in loops of accesses (at pthread_testcancel), with cleanup handlers that touch
// shared memory.
#include <pthread.h>
#include <stdio.h>
static int table[64];
static volatile int racy, started;
static void cleanup(void* a) {
  for (int i = 0; i < 20; i++) table[i] += (int)(long)a;
  racy++;
}
static void* work(void* a) {
  pthread_cleanup_push(cleanup, a);
  __atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
  for (unsigned i = 0;; i++) {
    table[i & 63] += racy;
    table[(i * 5) & 63] ^= (int)i;
    if ((i & 127) == 0) pthread_testcancel();
  }
  pthread_cleanup_pop(1);
  return 0;
}
int main(void) {
  pthread_t t[4];
  for (int r = 0; r < 5; r++) {
    started = 0;
    for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, work, (void*)i);
    while (started < 4);
    for (int i = 0; i < 4; i++) {
      for (int k = 0; k < 2000; k++) table[k & 63] += k;
      pthread_cancel(t[i]);
    }
    for (int i = 0; i < 4; i++) {
      void* v;
      pthread_join(t[i], &v);
      if (v != PTHREAD_CANCELED) return 1;
    }
  }
  printf("%d\n", racy);
  return 0;
}
