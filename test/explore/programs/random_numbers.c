// rand() has one sequence for all threads: what they get depends on who comes first at the lock. -DBUG: one order is expected.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static int got[2];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void* w(void* p) { pthread_mutex_lock(&m); got[(long)p] = rand(); pthread_mutex_unlock(&m); return 0; }
int main(void) {
  srand(7);
  int first = rand(), second = rand();
  srand(7);
  pthread_t a, b;
  pthread_create(&a, 0, w, (void*)0); pthread_create(&b, 0, w, (void*)1);
  pthread_join(a, 0); pthread_join(b, 0);
#ifdef BUG
  assert(got[0] == first && got[1] == second);
#else
  assert((got[0] == first && got[1] == second) || (got[1] == first && got[0] == second));
#endif
}
