/* What is done once was done by a constructor already. BUG: it is done a second time, by hand. */
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int made;

static void make(void) {
  made++;
}

__attribute__((constructor)) static void early(void) {
  pthread_once(&once, make);
}

static void* use(void* p) {
  (void)p;
  pthread_once(&once, make);
#ifdef BUG
  make();
#endif
  assert(made == 1);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, use, NULL);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  return 0;
}
