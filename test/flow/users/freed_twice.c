// Two threads free the same block, if the one sees it before the other takes it away: which of them does so second is the one that fails.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { kRounds = 3000 };
static void* shared;

static void* work(void* argument) {
  for (int i = 0; i < kRounds; ++i) {
    void* const block = __atomic_load_n(&shared, __ATOMIC_RELAXED);
    if (block == NULL) {
      __atomic_store_n(&shared, malloc(40), __ATOMIC_RELAXED); /* one may be lost */
    } else {
      __atomic_store_n(&shared, NULL, __ATOMIC_RELAXED);
      free(block);
      if (argument != NULL) free(malloc(40));
    }
  }
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, work, NULL);
  pthread_create(&b, NULL, work, &shared);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
