// Two threads each raise a flag and go ahead only if the other flag is down.
//
// The bug: without a fence, the raised flag can still be in the store buffer while the other flag is read. Both
// go ahead. Impossible under sequential consistency. The litmus test SB.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: tso
// HEDDLE-PATTERN: store-buffer
// HEDDLE-DECISIVE: B A each thread reads the other flag before that flag has become visible
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

atomic_int flags[2];
int went_ahead[2];

static void* enter(void* arg) {
  const int me = *(const int*)arg;
  atomic_store_explicit(&flags[me], 1, memory_order_relaxed);  // [A]
#ifdef FIXED
  atomic_thread_fence(memory_order_seq_cst);
#endif
  if (!atomic_load_explicit(&flags[1 - me], memory_order_relaxed)) went_ahead[me] = 1;  // [B]
  return NULL;
}

int main(void) {
  int ids[2] = {0, 1};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, enter, &ids[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(!(went_ahead[0] && went_ahead[1]));
  return 0;
}
