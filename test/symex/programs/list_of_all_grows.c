/* A block that one thread allocates, another fills and a third reallocates: what all have written moves with it. */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned *list, used, room, sum;

static void *work(void *argument) {
  for (unsigned i = 0; i < 12; ++i) {
    pthread_mutex_lock(&lock);
    if (used == room) {
      void *other = malloc(room * 5 + 8); /* so that the list moves */
      list = realloc(list, (room += 4) * sizeof *list);
      free(other);
      if (!list) abort();
    }
    list[used++] = i + 1;
    sum += list[used / 2] ^ list[0];
    pthread_mutex_unlock(&lock);
  }
  return argument;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, NULL);
  work(NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
