// Two threads with 20 shared accesses between them, for `bench executions`: no locks, never fails.
#include <pthread.h>
#include <stddef.h>

volatile int x, y;

static void* first(void* unused) {
  (void)unused;
  for (int i = 0; i < 5; ++i) {
    x = i;
    (void)y;
  }
  return NULL;
}

static void* second(void* unused) {
  (void)unused;
  for (int i = 0; i < 5; ++i) {
    y = i;
    (void)x;
  }
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
