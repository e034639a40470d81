// Two threads release one block: both find it there.
#include <pthread.h>
#include <stdlib.h>

static char *block;
static int released;

static void *release(void *argument) {
  if (block) {
    free(block);
    block = NULL;
    ++released;
  }
  return argument;
}

int main(void) {
  pthread_t threads[2];
  block = malloc(40);
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, release, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
