/* Fails always, with something of everything in its recording: paths, results of calls, blocks, locks. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned *list, used, sum;

static void *work(void *argument) {
  for (unsigned i = 0; i < 40; ++i) {
    pthread_mutex_lock(&lock);
    if (used % 8 == 0) list = realloc(list, (used + 8) * sizeof *list);
    if (!list) abort();
    list[used++] = i;
    pthread_mutex_unlock(&lock);
    if (rand() % 3 == 0) ++sum;
    else sum += i & 1;
  }
  return argument;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf("%u\n", sum);
  assert(used == 81);
  return 0;
}
