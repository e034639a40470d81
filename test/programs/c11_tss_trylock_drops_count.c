// C11 threads count in thread-specific storage, created with call_once(). The destructor adds the count of a
// thread to the sum when the thread ends.
//
// The bug: the destructor uses mtx_trylock(), and drops the count when two threads end at the same time.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: order
// HEDDLE-DECISIVE: A B one thread tries the lock before the other one has unlocked
// HEDDLE-SMALL: yes
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <threads.h>

once_flag once = ONCE_FLAG_INIT;
tss_t counter;
mtx_t lock;
int sum;

static void add_up(void* count) {
#ifdef FIXED
  if (mtx_lock(&lock) == thrd_success) {
#else
  if (mtx_trylock(&lock) == thrd_success) {  // [A]
#endif
    sum += *(int*)count;
    mtx_unlock(&lock);  // [B]
  }
  free(count);
}

static void create(void) {
  mtx_init(&lock, mtx_plain | mtx_recursive);
  tss_create(&counter, add_up);
}

static int worker(void* amount) {
  call_once(&once, create);
  int* count = malloc(sizeof *count);
  *count = *(int*)amount;
  tss_set(counter, count);
  thrd_exit(0);
}

int main(void) {
  int amounts[2] = {3, 4};
  thrd_t threads[2];
  for (int i = 0; i < 2; ++i) thrd_create(&threads[i], worker, &amounts[i]);
  for (int i = 0; i < 2; ++i) thrd_join(threads[i], NULL);
  tss_delete(counter);
  mtx_destroy(&lock);
  assert(sum == 7);
  return 0;
}
