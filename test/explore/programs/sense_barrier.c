// A barrier of one's own that turns its sense, three phases. -DBUG: no sense; the counter is reset by the last.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#define N 2
static atomic_int arrived, sense;
static int cells[N];
static void barrier(int* mine) {
#ifdef BUG
  (void)mine;
  if (atomic_fetch_add(&arrived, 1) + 1 == N) atomic_store(&arrived, 0);
  else while (atomic_load(&arrived) != 0) {}
#else
  *mine = !*mine;
  if (atomic_fetch_add(&arrived, 1) + 1 == N) { atomic_store(&arrived, 0); atomic_store(&sense, *mine); }
  else while (atomic_load(&sense) != *mine) {}
#endif
}
static void* work(void* arg) {
  int me = (int)(long)arg, mine = 0;
  for (int phase = 0; phase < 3; phase++) {
    cells[me]++;
    barrier(&mine);
    assert(cells[1 - me] == phase + 1);
    barrier(&mine);
  }
  return 0;
}
int main(void) {
  pthread_t t[N];
  for (long i = 0; i < N; i++) pthread_create(&t[i], 0, work, (void*)i);
  for (int i = 0; i < N; i++) pthread_join(t[i], 0);
}
