// Two threads count to 2500 each in two steps: about 10,000 events, and almost any order loses some.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

enum { kRounds = 2500 };
volatile int count;

static void* work(void* arg) {
  (void)arg;
  for (int i = 0; i < kRounds; ++i) {
    const int before = count;
    count = before + 1;
  }
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(count == 2 * kRounds);
  return 0;
}
