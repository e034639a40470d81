// Read before it was set.
#include <pthread.h>
#include <stdlib.h>
struct config { int size; };
struct config* config;
static struct config the_config = {64};
int size;
static void* configure(void* unused) {
  config = &the_config;
  return unused;
}
static void* work(void* unused) {
  size = config->size;
  return unused;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, configure, NULL);
#ifdef FIXED
  pthread_join(a, NULL);
#endif
  pthread_create(&b, NULL, work, NULL);
#ifndef FIXED
  pthread_join(a, NULL);
#endif
  pthread_join(b, NULL);
  return size != 64;
}
