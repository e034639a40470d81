// Spin locks of the library and one made of an atomic flag.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

pthread_spinlock_t spin;
atomic_flag flag = ATOMIC_FLAG_INIT;
int counter, other;

static void* adder(void* unused) {
  (void)unused;
  for (int i = 0; i < 3; ++i) {
    assert(pthread_spin_lock(&spin) == 0);
    ++counter;
    assert(pthread_spin_unlock(&spin) == 0);
    while (atomic_flag_test_and_set_explicit(&flag, memory_order_acquire)) {
    }
    ++other;
    atomic_flag_clear_explicit(&flag, memory_order_release);
    while (atomic_flag_test_and_set_explicit(&flag, memory_order_acquire)) sched_yield();
    ++other;
    atomic_flag_clear_explicit(&flag, memory_order_release);
  }
  return NULL;
}

static void* meets_it_locked(void* unused) {
  (void)unused;
  assert(pthread_spin_trylock(&spin) == EBUSY);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  assert(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0);
  assert(pthread_spin_trylock(&spin) == 0);
  assert(pthread_create(&threads[0], NULL, meets_it_locked, NULL) == 0);
  pthread_join(threads[0], NULL);
  assert(pthread_spin_unlock(&spin) == 0);
  for (int i = 0; i < 2; ++i) assert(pthread_create(&threads[i], NULL, adder, NULL) == 0);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(counter == 6 && other == 12);
  assert(pthread_spin_destroy(&spin) == 0);
  return 0;
}
