// setjmp and longjmp inside threads, and back to another stack position while others run.
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stddef.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
atomic_int jumps;

static void deep(jmp_buf* back, int depth) {
  volatile char padding[200];
  padding[depth] = 1;
  if (depth == 3) {
    pthread_mutex_lock(&mutex);
    atomic_fetch_add(&jumps, 1);
    pthread_mutex_unlock(&mutex);
    longjmp(*back, 4);
  }
  deep(back, depth + 1);
}

static void* jumper(void* unused) {
  (void)unused;
  jmp_buf back;
  volatile int rounds = 0;
  const int code = setjmp(back);
  assert(code == 0 || code == 4);
  if (++rounds <= 2) deep(&back, 0);
  assert(rounds == 3);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) assert(pthread_create(&threads[i], NULL, jumper, NULL) == 0);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(atomic_load(&jumps) == 4);
  return 0;
}
