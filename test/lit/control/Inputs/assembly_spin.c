// Threads wait for each other in a loop around a load in assembly.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static unsigned arrived;
static int passed;

static unsigned load(const unsigned* from) {
  unsigned value;
  __asm__ __volatile__("movl %1, %0" : "=q"(value) : "m"(*from) : "memory");
  return value;
}

static void* meets(void* unused) {
  (void)unused;
  __asm__ __volatile__("lock incl %0" : "+m"(arrived) : : "memory", "cc");
  while (load(&arrived) < 3) __asm__ __volatile__("pause" ::: "memory");
  __atomic_fetch_add(&passed, 1, __ATOMIC_RELAXED);
  return NULL;
}

int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, meets, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  assert(passed == 3);
  return 0;
}
