// The flag is set before what it stands for.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int ready, data;
static void* produce(void* unused) {
#ifdef FIXED
  data = 42;
  ready = 1;
#else
  ready = 1;
  data = 42;
#endif
  return unused;
}
static void* consume(void* unused) {
  if (ready) assert(data == 42);
  return unused;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, produce, NULL);
  pthread_create(&b, NULL, consume, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
