/* An object with a count of its users; who gives the last one back frees it. BUG: the count is changed and looked at in two steps. */
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct image {
  atomic_int users;
  int width;
};

static void drop(struct image* image) {
#ifdef BUG
  atomic_fetch_sub(&image->users, 1);
  const int left = atomic_load(&image->users);
#else
  const int left = atomic_fetch_sub(&image->users, 1) - 1;
#endif
  if (left == 0) free(image);
}

static void* show(void* argument) {
  struct image* image = argument;
  assert(image->width == 640);
  drop(image);
  return NULL;
}

int main(void) {
  struct image* image = malloc(sizeof *image);
  atomic_init(&image->users, 2);
  image->width = 640;
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, show, image);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
