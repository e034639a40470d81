// A loop that looks as if it waited, but gives up by itself.
#include <pthread.h>
#include <stdatomic.h>
atomic_int go;
static void* f(void* p) {
  for (int i = 0; i < ROUNDS; ++i)
    if (atomic_load(&go)) return p;
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  pthread_join(t, 0);
  atomic_store(&go, 1);
  return 0;
}
