// Threads make keys of their own and delete them, all at the same time: which numbers they get is in memory afterwards.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

static unsigned seen[4][50];
static long destroyed;

static void destroy(void* value) {
  __atomic_add_fetch(&destroyed, (long)value, __ATOMIC_SEQ_CST);
}

static void* work(void* argument) {
  const long id = (long)argument;
  for (int i = 0; i < 50; ++i) {
    pthread_key_t key;
    tss_t other;
    if (pthread_key_create(&key, destroy) != 0 || tss_create(&other, destroy) != thrd_success) abort();
    seen[id][i] = key * 100 + other;
    pthread_setspecific(key, (void*)(id + 1));
    tss_set(other, (void*)(id + 1));
    if (i % 5 != 0) pthread_key_delete(key);
    tss_delete(other);
  }
  return argument;
}

int main(void) {
  pthread_t threads[4];
  for (long i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  unsigned sum = 0;
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 50; ++k) sum = sum * 31 + seen[i][k];
  printf("%u, %ld\n", sum, destroyed);
  return 0;
}
