// Additions get lost while signals interrupt the threads that add, which leave a function by longjmp now and
// then.
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
static volatile sig_atomic_t signals;
static int total;
static volatile int busy;
static pthread_t workers[2];
static void handler(int number) {
  (void)number;
  ++signals;
}
static __thread jmp_buf out;
static void check(int value) {
  if (value % 3 == 2) longjmp(out, value);
}
static void* work(void* unused) {
  for (int i = 0; i < 4; ++i) {
    const int failed = setjmp(out);
    if (failed == 0) {
      check(i);
    }
    const int seen = total;
    for (int k = 0; k < 5; ++k) ++busy;
    total = seen + (failed != 0 ? 10 : 1);
  }
  return unused;
}
int main(void) {
  signal(SIGUSR1, handler);
  for (int i = 0; i < 2; ++i) pthread_create(&workers[i], NULL, work, NULL);
  for (int i = 0; i < 3; ++i) pthread_kill(workers[i % 2], SIGUSR1);
  for (int i = 0; i < 2; ++i) pthread_join(workers[i], NULL);
  assert(total == 26);
  return 0;
}
