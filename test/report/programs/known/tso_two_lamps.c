// Each of two guards lights a lamp and then looks at the other's: one of them must see light. Store buffers say no.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: tso
// HEDDLE-PATTERN: store-buffer
// HEDDLE-DECISIVE: B A a guard looks at the other lamp before its light has become visible
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

atomic_int lamps[2];
int saw[2];

static void* guard(void* arg) {
  const int me = *(int*)arg;
  atomic_store_explicit(&lamps[me], 1, memory_order_release);                // [A]
  saw[me] = atomic_load_explicit(&lamps[1 - me], memory_order_acquire);  // [B]
  return NULL;
}

int main(void) {
  int names[2] = {0, 1};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, guard, &names[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(saw[0] || saw[1]);
  return 0;
}
