// Thread-specific data with a destructor that counts. BUG: the count is not atomic.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
#ifdef BUG
static volatile int gone;
static void end(void* p) {
  free(p);
  gone = gone + 1;
}
#else
static atomic_int gone;
static void end(void* p) {
  free(p);
  atomic_fetch_add(&gone, 1);
}
#endif
static void make(void) { pthread_key_create(&key, end); }
void* worker(void* p) {
  pthread_once(&once, make);
  int* mine = malloc(sizeof *mine);
  *mine = 1;
  pthread_setspecific(key, mine);
  assert(*(int*)pthread_getspecific(key) == 1);
  return p;
}
int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; ++i) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < 2; ++i) pthread_join(t[i], 0);
  assert(gone == 2);
}
